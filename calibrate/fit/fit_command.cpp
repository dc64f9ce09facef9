// `orrery fit`: fits the coefficients of a software profile to measured steps.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Error.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calibrate/fit/generalisation.hpp"
#include "calibrate/fit/stack_fit.hpp"
#include "sim/answer/evaluate/catalog.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/interrupt.hpp"
#include "sim/cli/frame/number_option.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/validate/output/write_validation.hpp"

namespace orrery::fit {

namespace {

// Output of a fit: a table of rows and coefficients, JSON `orrery-fit/1`, and the new values for
// the profile's file.

struct Selection {
  std::string profile;
  std::vector<std::string> stacks;
  Rows rows;  // all rows of the stacks
  Rows used;  // those that the fit saw
  std::vector<SkippedRow> skipped;
  bool own = false;  // every row is of a scenario or a log
};

struct FitReport {
  Selection chosen;
  StackFit fit;
  std::vector<double> before = {};  // s, in the order of chosen.rows
  std::vector<double> after = {};
  std::optional<CrossValidation> left_out = {};
};

constexpr std::size_t kWorstRows = 12;

std::string_view remark_of(const FittedCoefficient& coefficient) {
  if (coefficient.bound != Bound::none) {
    return coefficient.bound == Bound::lower ? "AT LOWER BOUND" : "AT UPPER BOUND";
  }
  return coefficient.identified ? "" : "not identified by these rows";
}

std::string error_text(const FittedCoefficient& coefficient) {
  if (coefficient.bound != Bound::none) {
    return "-";
  }
  return coefficient.key->scale == Scale::linear ? fmt::format("{:.2g}", coefficient.error)
                                                 : percent_cell(coefficient.error);
}

std::string coefficient_table(const StackFit& fit) {
  std::string text = fmt::format("\n{:<26}{:>10}{:>12}{:>10}{:>9}  \n", "coefficient", "start",
                                 "fitted", "+-", "effect");
  for (const FittedCoefficient& coefficient : fit.coefficients) {
    std::string line =
        fmt::format("{:<26}{:>10}{:>12}{:>10}{:>7.1f} %  {}", coefficient.key->key,
                    value_text(*coefficient.key, coefficient.start),
                    value_text(*coefficient.key, coefficient.fitted), error_text(coefficient),
                    kPercent * coefficient.effect, remark_of(coefficient));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text + "effect: how far one prior deviation of the coefficient moves the steps\n";
}

std::vector<std::size_t> worst_first(const FitReport& report) {
  std::vector<std::size_t> order(report.chosen.rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&report](std::size_t i) {
    return std::abs(scored(*report.chosen.rows[i], report.after[i]).relative_error());
  });
  return order;
}

std::string worst_table(const FitReport& report) {
  std::string text = "\nworst rows\n";
  const std::vector<std::size_t> order = worst_first(report);
  for (std::size_t i = 0; i < std::min(kWorstRows, order.size()); ++i) {
    const Observation& row = *report.chosen.rows[order[i]];
    text += fmt::format("{:<44}{:>+7.1f} %  (before {:+.1f} %){}\n", row.id.substr(0, 43),
                        kPercent * scored(row, report.after[order[i]]).relative_error(),
                        kPercent * scored(row, report.before[order[i]]).relative_error(),
                        row.suspicious.empty() ? "" : "  suspicious");
  }
  return text;
}

Json coefficient_json(const FittedCoefficient& coefficient) {
  const std::string_view bound = coefficient.bound == Bound::none    ? "none"
                                 : coefficient.bound == Bound::lower ? "lower"
                                                                     : "upper";
  return {{"key", coefficient.key->key},         {"start", coefficient.start},
          {"fitted", coefficient.fitted},        {"error", coefficient.error},
          {"effect", coefficient.effect},        {"bound", bound},
          {"identified", coefficient.identified}};
}

std::string citation_of(const FitReport& report, const FittedCoefficient& coefficient,
                        const std::string& explanation) {
  std::string text = fmt::format("fitted to the {} rows of {} (orrery fit, {}",
                                 report.chosen.used.size(), fmt::join(report.chosen.stacks, ", "),
                                 report.chosen.own ? "own runs" : "measured-runs data set");
  const std::string_view remark = remark_of(coefficient);
  if (remark.empty()) {
    text += fmt::format("; standard error {}", error_text(coefficient));
  } else {
    text += coefficient.bound != Bound::none ? "; at its bound" : "; not identified";
  }
  text += ")";
  return explanation.empty() ? text : fmt::format("{}: {}", text, explanation);
}

std::string to_text(const FitReport& report) {
  std::string text = fmt::format("profile {}, stacks {}\n\n", report.chosen.profile,
                                 fmt::join(report.chosen.stacks, ", "));
  text += validate::statistics_head("step time");
  text += validate::statistics_line("before", statistics(report.chosen.rows, report.before));
  text += validate::statistics_line("fitted", statistics(report.chosen.rows, report.after));
  if (report.left_out) {
    const CrossValidation& left_out = *report.left_out;
    text += validate::statistics_line(fmt::format("leaving one {} out", to_string(left_out.kind)),
                                      left_out.all);
    for (const FoldScore& fold : left_out.folds) {
      text += validate::statistics_line("  without " + fold.name, fold.score);
    }
  }
  text += coefficient_table(report.fit);
  text += worst_table(report);
  for (const SkippedRow& row : report.chosen.skipped) {
    text += fmt::format("skipped {}: {}\n", row.id, row.reason);
  }
  return text;
}

std::string to_json(const FitReport& report) {
  Json json = {{"schema", "orrery-fit/1"},
               {"profile", report.chosen.profile},
               {"stacks", report.chosen.stacks},
               {"before", json_of(statistics(report.chosen.rows, report.before))},
               {"fitted", json_of(statistics(report.chosen.rows, report.after))},
               {"coefficients", json_list(report.fit.coefficients, coefficient_json)},
               {"rows", Json::array()},
               {"skipped", json_list(report.chosen.skipped, [](const SkippedRow& row) {
                  return Json{{"id", row.id}, {"reason", row.reason}};
                })}};
  if (report.left_out) {
    json["leave_out"] = {{"kind", to_string(report.left_out->kind)},
                         {"all", json_of(report.left_out->all)},
                         {"folds", json_list(report.left_out->folds, [](const FoldScore& fold) {
                            return Json{{"name", fold.name}, {"score", json_of(fold.score)}};
                          })}};
  }
  for (std::size_t i = 0; i < report.chosen.rows.size(); ++i) {
    json["rows"].push_back({{"id", report.chosen.rows[i]->id},
                            {"measured_s", report.chosen.rows[i]->measured},
                            {"before_s", report.before[i]},
                            {"fitted_s", report.after[i]},
                            {"suspicious", !report.chosen.rows[i]->suspicious.empty()}});
  }
  return json_text(json);
}

// Values that moved, with where they come from. `file` is the profile as it is now.
std::vector<NewValue> new_values(const FitReport& report, std::string_view file) {
  const double residual = statistics(report.chosen.used, report.fit.predicted).mape;
  std::vector<NewValue> values;
  for (const FittedCoefficient& coefficient : report.fit.coefficients) {
    const FitKey& key = *coefficient.key;
    const std::string text = value_text(key, coefficient.fitted);
    if (text == value_text(key, coefficient.start)) {
      continue;
    }
    values.push_back({.key = std::string(key.key),
                      .value = text,
                      .source = !coefficient.identified ? "assumed"
                                : report.chosen.own     ? "measured"
                                                        : "published",
                      .citation = citation_of(report, coefficient, explanation_in(file, key.key)),
                      .residual = residual});
  }
  return values;
}

namespace fs = std::filesystem;

struct CommandOptions {
  std::vector<fs::path> files;
  std::vector<std::string> stacks;
  std::string profile;
  std::string gpu;
  std::vector<std::string> free;
  std::vector<std::string> fixed;
  std::string leave_out = "none";
  std::string centre;
  std::vector<fs::path> profiles;
  std::optional<std::string> output;
  double prior = 1.0;
  int threads = 0;
  bool exclude_suspicious = false;
  bool json = false;
  bool report = false;
  bool shared_defaults = false;
};

constexpr std::array kLeaveOuts = {LeaveOut::none, LeaveOut::model, LeaveOut::gpu, LeaveOut::source,
                                   LeaveOut::count};

LeaveOut leave_out_of(const std::string& name) {
  return *std::ranges::find_if(kLeaveOuts,
                               [&name](LeaveOut kind) { return to_string(kind) == name; });
}

void add_options(CLI::App& app, CommandOptions& options) {
  app.add_option("FILE", options.files,
                 "Data sets of measured runs, scenarios with `measured: {step_time: ...}`, logs of "
                 "training")
      ->required();
  app.add_option(
         "--stack", options.stacks,
         "Training stacks that share the profile; one: also the stack of scenarios and logs")
      ->type_name("NAME");
  app.add_option("--profile", options.profile, "Software profile, else that of the stacks")
      ->type_name("SOFTWARE");
  app.add_option("--gpu", options.gpu, "GPU of the logs of training")->type_name("PROFILE");
  app.add_option("--free", options.free, "Coefficients to fit, else all that the profile uses")
      ->delimiter(',')
      ->type_name("KEY");
  app.add_option("--fix", options.fixed, "Coefficients to keep as they are")
      ->delimiter(',')
      ->type_name("KEY");
  std::vector<std::string> kinds;
  for (const LeaveOut kind : kLeaveOuts) {
    kinds.emplace_back(to_string(kind));
  }
  app.add_option("--leave-out", options.leave_out, "Also fit without each, and score on it")
      ->check(CLI::IsMember(kinds))
      ->type_name("KIND");
  app.add_option(
         "--centre", options.centre,
         "Profile that the prior pulls to, else the start; where rows are left out, else the\n"
         "medians of the other profiles")
      ->type_name("NAME");
  app.add_option("--prior", options.prior, "Strength of the pull towards the centre")
      ->check(cli::number_between(0.0, 1.0e2));
  app.add_flag("--exclude-suspicious", options.exclude_suspicious, "Score them, but do not fit");
  cli::add_profiles_option(app, options.profiles);
  app.add_option("--threads", options.threads, "Threads, 0 for all cores")
      ->check(cli::count_between(0, 4096));
  app.add_flag("--json", options.json, "orrery-fit/1, with --report orrery-generalisation/1");
  auto* report = app.add_flag("--report", options.report,
                              "All stacks: left out by model, by GPU and as a whole");
  app.add_flag("--shared-defaults", options.shared_defaults,
               "Give --profile the medians of all other profiles of the data, in place of a fit")
      ->excludes(report);
  app.add_option("-o,--output", options.output, "Write the profile with the new values to FILE")
      ->type_name("FILE");
}

const FitKey* key_named(const std::string& name) {
  const FitKey* key = find_fit_key(name);
  if (key == nullptr) {
    std::vector<std::string_view> names;
    for (const FitKey& known : fit_keys()) {
      names.push_back(known.key);
    }
    throw cli::UsageError(
        fmt::format("fit: unknown coefficient `{}` ({})", name, fmt::join(names, ", ")));
  }
  return key;
}

std::vector<const FitKey*> chosen_keys(const CommandOptions& options,
                                       const hardware::SoftwareProfile& profile) {
  std::vector<const FitKey*> keys;
  if (options.free.empty()) {
    keys = usable_keys(profile);
  }
  for (const std::string& name : options.free) {
    keys.push_back(key_named(name));
  }
  for (const std::string& name : options.fixed) {
    const FitKey* fixed = key_named(name);
    std::erase(keys, fixed);
  }
  if (keys.empty()) {
    throw cli::UsageError("fit: no coefficient is left to fit");
  }
  return keys;
}

// The rows of the stacks, or all rows of the profile when no stack is named.
Selection chosen_rows(const CommandOptions& options, const Observations& observations) {
  Selection chosen;
  std::set<std::string> profiles;
  for (const Observation& row : observations.rows) {
    if (options.stacks.empty() ? row.software == options.profile
                               : named(options.stacks, row.stack)) {
      chosen.rows.push_back(&row);
      profiles.insert(row.software);
      if (!named(chosen.stacks, row.stack)) {
        chosen.stacks.push_back(row.stack);
      }
    }
  }
  for (const SkippedRow& row : observations.skipped) {
    if (named(options.stacks.empty() ? chosen.stacks : options.stacks, row.stack)) {
      chosen.skipped.push_back(row);
    }
  }
  if (chosen.rows.empty()) {
    std::set<std::string> known;
    for (const Observation& row : observations.rows) {
      known.insert(row.stack);
    }
    throw cli::UsageError(
        fmt::format("fit: no rows; the files have the stacks {}", fmt::join(known, ", ")));
  }
  chosen.profile = options.profile.empty() ? *profiles.begin() : options.profile;
  chosen.own = std::ranges::all_of(chosen.rows, [](const Observation* row) { return row->own; });
  if (options.profile.empty() && profiles.size() > 1) {
    throw cli::UsageError(fmt::format("fit: the stacks have several profiles ({}): say --profile",
                                      fmt::join(profiles, ", ")));
  }
  std::copy_if(chosen.rows.begin(), chosen.rows.end(), std::back_inserter(chosen.used),
               [&options](const Observation* row) {
                 return !options.exclude_suspicious || row->suspicious.empty();
               });
  if (chosen.used.empty()) {
    throw cli::UsageError("fit: every row is suspicious");
  }
  return chosen;
}

// Medians of the profiles of the data without that of `start`.
hardware::SoftwareProfile medians_beside(const hardware::SoftwareProfile& start,
                                         const Observations& observations) {
  std::vector<hardware::SoftwareProfile> others = profiles_of(observations);
  std::erase_if(others,
                [&start](const hardware::SoftwareProfile& p) { return p.name == start.name; });
  return shared_defaults(start, others);
}

// What the fits start from and are pulled to.
struct Centres {
  hardware::SoftwareProfile start;
  hardware::SoftwareProfile centre;    // of the fit to all rows
  hardware::SoftwareProfile left_out;  // of fits without some rows
};

FitReport fit_rows(const CommandOptions& options, Selection chosen, const Centres& centres) {
  const hardware::SoftwareProfile& start = centres.start;
  const FitSettings settings{
      .keys = chosen_keys(options, start), .prior = options.prior, .threads = options.threads};
  StackFit fit = fit_stack(chosen.used, start, centres.centre, settings);
  FitReport report{.chosen = std::move(chosen), .fit = std::move(fit)};
  const Rows& rows = report.chosen.rows;
  report.before = predict(rows, start, options.threads);
  report.after = predict(rows, report.fit.profile, options.threads);
  const LeaveOut kind = leave_out_of(options.leave_out);
  if (kind != LeaveOut::none) {
    Rows suspicious;
    if (options.exclude_suspicious) {
      std::copy_if(rows.begin(), rows.end(), std::back_inserter(suspicious),
                   [](const Observation* row) { return !row->suspicious.empty(); });
    }
    report.left_out = cross_validate(rows, suspicious, kind, start, centres.left_out, settings);
  }
  return report;
}

void write_profile(const FitReport& report, const std::string& source, const fs::path& target) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
  const std::string file = read_file(source, kMaxBytes);
  std::string text = with_new_values(file, new_values(report, file));
  if (report.chosen.own && report.chosen.stacks.size() == 1) {
    text = with_name(text, report.chosen.stacks.front());
  }
  write_file_atomically(target, text);
}

// A profile by name; nothing after its problems were printed.
std::optional<hardware::SoftwareProfile> load_profile(const CommandOptions& options,
                                                      const std::string& name,
                                                      std::string_view option) {
  const hardware::ProfileSearch search =
      evaluate::profile_search(options.files.front(), options.profiles);
  Diagnostics problems;
  auto profile = hardware::load_software_profile(name, search, {}, option, problems);
  cli::message_block(to_string(problems));
  return profile;
}

cli::ExitCode fit_one(const CommandOptions& options, const Observations& observations,
                      const cli::InterruptWatch& watch) {
  Selection chosen = chosen_rows(options, observations);
  const auto start = load_profile(options, chosen.profile, "--profile");
  const auto centre =
      options.centre.empty() ? start : load_profile(options, options.centre, "--centre");
  if (!start || !centre) {
    return cli::ExitCode::device;
  }
  const Centres centres{*start, *centre,
                        options.centre.empty() ? medians_beside(*start, observations) : *centre};
  const FitReport report = fit_rows(options, std::move(chosen), centres);
  watch.check();
  cli::deliver(options.json ? to_json(report) : to_text(report), std::nullopt);
  if (options.output) {
    write_profile(report, start->file, *options.output);
  }
  return cli::ExitCode::ok;
}

cli::ExitCode report_all(const CommandOptions& options, const Observations& observations,
                         const cli::InterruptWatch& watch) {
  const Generalisation result = generalisation(
      observations, {.keys = {}, .prior = options.prior, .threads = options.threads});
  watch.check();
  cli::deliver(options.json ? to_json(result) : to_markdown(result), options.output);
  return cli::ExitCode::ok;
}

cli::ExitCode write_shared_defaults(const CommandOptions& options,
                                    const Observations& observations) {
  const auto start = load_profile(options, options.profile, "--profile");
  if (!start) {
    return cli::ExitCode::device;
  }
  const hardware::SoftwareProfile shared = medians_beside(*start, observations);
  std::vector<NewValue> values;
  for (const FitKey* key : usable_keys(*start)) {
    values.push_back({.key = std::string(key->key),
                      .value = value_text(*key, key->get(shared)),
                      .source = "assumed",
                      .citation = "median of the fitted stacks (orrery fit --shared-defaults)"});
  }
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
  cli::deliver(with_new_values(read_file(start->file, kMaxBytes), values), options.output);
  return cli::ExitCode::ok;
}

cli::ExitCode fit_files(const CommandOptions& options, const cli::InterruptWatch& watch) {
  if (!options.report && options.stacks.empty() && options.profile.empty()) {
    throw cli::UsageError("fit: say which --stack or which --profile, or ask for a --report");
  }
  Diagnostics diagnostics;
  const Observations observations =
      load_observations(options.files, options.profiles, diagnostics,
                        {.name = options.stacks.size() == 1 ? options.stacks.front() : "",
                         .gpu = options.gpu,
                         .software = options.profile});
  cli::message_block(to_string(diagnostics));
  if (diagnostics.has_errors()) {
    return cli::ExitCode::invalid;
  }
  if (options.report) {
    return report_all(options, observations, watch);
  }
  return options.shared_defaults ? write_shared_defaults(options, observations)
                                 : fit_one(options, observations, watch);
}

cli::ExitCode fit_command(int argc, const char* const* argv) {
  CLI::App app("Fits the coefficients of a software profile to measured steps, all rows together.",
               "orrery fit");
  CommandOptions options;
  add_options(app, options);
  return cli::run_program(app, argc, argv, "fit", [&](const cli::InterruptWatch& watch) {
    return fit_files(options, watch);
  });
}

}  // namespace

}  // namespace orrery::fit

int main(int argc, char** argv) {
  return orrery::cli::run_guarded([argc, argv] { return orrery::fit::fit_command(argc, argv); });
}
