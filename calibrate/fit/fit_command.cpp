#include "calibrate/fit/fit_command.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Error.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <set>

#include "calibrate/fit/generalisation.hpp"
#include "calibrate/fit/write_fit.hpp"
#include "sim/base/files/file.hpp"
#include "sim/cli/frame/interrupt.hpp"
#include "sim/cli/frame/number_option.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/evaluate/catalog.hpp"

namespace orrery::fit {

namespace {

namespace fs = std::filesystem;

struct CommandOptions {
  std::vector<std::string> files;
  std::vector<std::string> stacks;
  std::string profile;
  std::string gpu;
  std::vector<std::string> free;
  std::vector<std::string> fixed;
  std::string leave_out = "none";
  std::string centre;
  std::vector<std::string> profiles;
  std::optional<std::string> output;
  double prior = 1.0;
  int threads = 0;
  bool exclude_suspicious = false;
  bool json = false;
  bool report = false;
  bool shared_defaults = false;
};

constexpr std::array kLeaveOuts = {
    LeaveOut::none, LeaveOut::model, LeaveOut::gpu, LeaveOut::source, LeaveOut::count};

LeaveOut leave_out_of(const std::string& name) {
  return *std::find_if(kLeaveOuts.begin(), kLeaveOuts.end(), [&name](LeaveOut kind) {
    return to_string(kind) == name;
  });
}

void add_options(CLI::App& app, CommandOptions& options) {
  app.add_option("FILE",
                 options.files,
                 "Data sets of measured runs, scenarios with `measured: {step_time: ...}`, logs of "
                 "training")
      ->required();
  app.add_option(
         "--stack",
         options.stacks,
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
         "--centre",
         options.centre,
         "Profile that the prior pulls to, else the start; where rows are left out, else the\n"
         "medians of the other profiles")
      ->type_name("NAME");
  app.add_option("--prior", options.prior, "Strength of the pull towards the centre")
      ->check(cli::number_between(0.0, 1.0e2));
  app.add_flag("--exclude-suspicious", options.exclude_suspicious, "Score them, but do not fit");
  app.add_option("--profiles", options.profiles, "Folders of profiles, searched first")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  app.add_option("--threads", options.threads, "Threads, 0 for all cores")
      ->check(cli::count_between(0, 4096));
  app.add_flag("--json", options.json, "orrery-fit/1, with --report orrery-generalisation/1");
  auto* report = app.add_flag(
      "--report", options.report, "All stacks: left out by model, by GPU and as a whole");
  app.add_flag("--shared-defaults",
               options.shared_defaults,
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
  chosen.own = std::all_of(
      chosen.rows.begin(), chosen.rows.end(), [](const Observation* row) { return row->own; });
  if (options.profile.empty() && profiles.size() > 1) {
    throw cli::UsageError(fmt::format("fit: the stacks have several profiles ({}): say --profile",
                                      fmt::join(profiles, ", ")));
  }
  std::copy_if(chosen.rows.begin(),
               chosen.rows.end(),
               std::back_inserter(chosen.used),
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
      std::copy_if(
          rows.begin(), rows.end(), std::back_inserter(suspicious), [](const Observation* row) {
            return !row->suspicious.empty();
          });
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
  const hardware::ProfileSearch search = evaluate::profile_search(
      options.files.front(), {options.profiles.begin(), options.profiles.end()});
  Diagnostics problems;
  auto profile = hardware::load_software_profile(name, search, {}, option, problems);
  cli::message_block(to_string(problems));
  return profile;
}

cli::ExitCode fit_one(const CommandOptions& options,
                      const Observations& observations,
                      const cli::InterruptWatch& watch) {
  Selection chosen = chosen_rows(options, observations);
  const auto start = load_profile(options, chosen.profile, "--profile");
  const auto centre =
      options.centre.empty() ? start : load_profile(options, options.centre, "--centre");
  if (!start || !centre) {
    return cli::ExitCode::device;
  }
  const Centres centres{
      *start, *centre, options.centre.empty() ? medians_beside(*start, observations) : *centre};
  const FitReport report = fit_rows(options, std::move(chosen), centres);
  watch.check();
  cli::deliver(options.json ? to_json(report) : to_text(report), std::nullopt);
  if (options.output) {
    write_profile(report, start->file, *options.output);
  }
  return cli::ExitCode::ok;
}

cli::ExitCode report_all(const CommandOptions& options,
                         const Observations& observations,
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
      load_observations({options.files.begin(), options.files.end()},
                        {options.profiles.begin(), options.profiles.end()},
                        diagnostics,
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

}  // namespace

cli::ExitCode fit_command(int argc, const char* const* argv) {
  CLI::App app("Fits the coefficients of a software profile to measured steps, all rows together.",
               "orrery fit");
  CommandOptions options;
  add_options(app, options);
  return cli::run_program(app, argc, argv, "fit", [&](const cli::InterruptWatch& watch) {
    return fit_files(options, watch);
  });
}

}  // namespace orrery::fit
