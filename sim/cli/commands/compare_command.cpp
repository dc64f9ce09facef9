// `orrery compare A B`: two calibrations of a machine, or two scenarios, side by side; or a
// scenario and traces of what it predicts (compare_traces.hpp), or the log of its training
// (compare_log.hpp).

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <fstream>
#include <memory>

#include "sim/answer/evaluate/compare/compare_calibrations.hpp"
#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/files/saved_evaluation.hpp"
#include "sim/answer/report/metrics.hpp"
#include "sim/answer/report/text/text_page.hpp"
#include "sim/answer/trace/event_reader.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/compare/compare_log.hpp"
#include "sim/cli/compare/compare_traces.hpp"
#include "sim/cli/frame/number_option.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"

namespace orrery::cli {

namespace {

struct CompareOptions {
  std::string first;
  std::string second;
  std::vector<std::string> others;  // second and what follows it
  TraceOptions reading;
  std::vector<std::string> project;
  EvaluationOptions evaluation;
  std::optional<std::string> output;
  std::optional<double> tolerance;  // percent
  bool json = false;
};

Json head(const CompareOptions& options, std::string_view kind) {
  return {{"schema", "orrery-comparison/1"},
          {"kind", kind},
          {"first", options.first},
          {"second", options.second}};
}

Json json_of(const CompareOptions& options, const evaluate::CalibrationComparison& comparison) {
  Json out = head(options, "calibrations");
  out["changed"] = json_list(comparison.changed, [](const hardware::FieldChange& change) {
    return Json{{"key", change.key}, {"first", change.from}, {"second", change.to}};
  });
  out["groups"] = json_list(comparison.groups, [](const evaluate::GroupRatio& group) {
    return Json{{"group", group.name},
                {"cases", group.cases},
                {"median_ratio", group.median},
                {"worst_ratio", group.worst},
                {"worst_case", group.worst_case}};
  });
  out["cases"] = json_list(comparison.cases, [](const evaluate::CaseRatio& one) {
    return Json{{"case", one.name},
                {"group", one.group},
                {"first_s", one.first},
                {"second_s", one.second},
                {"ratio", one.ratio}};
  });
  out["derived"] = json_list(comparison.derived, [](const evaluate::DerivedChange& change) {
    return Json{{"name", change.name}, {"first", change.first}, {"second", change.second}};
  });
  out["no_longer_supported"] = comparison.no_longer_supported;
  out["newly_supported"] = comparison.newly_supported;
  out["only_first"] = comparison.only_first;
  out["only_second"] = comparison.only_second;
  return out;
}

ExitCode compare_calibrations(const CompareOptions& options) {
  Diagnostics diagnostics;
  const auto first = hardware::load_calibration(options.first, diagnostics);
  const auto second = hardware::load_calibration(options.second, diagnostics);
  message_block(to_string(diagnostics));
  if (!first || !second) {
    return ExitCode::invalid;
  }
  const evaluate::CalibrationComparison comparison = evaluate::compare(*first, *second);
  deliver(options.json ? json_text(json_of(options, comparison))
                       : evaluate::comparison_text(comparison, options.first, options.second),
          options.output);
  const double most = 1.0 + options.tolerance.value_or(0.0) / kPercent;
  const bool slower =
      options.tolerance && !comparison.groups.empty() && comparison.groups.front().median > most;
  return slower ? ExitCode::expectation_failed : ExitCode::ok;
}

// One figure of both answers.
struct Line {
  std::string name;
  std::string json_key;
  report::Dimension dimension = report::Dimension::count;
  std::optional<double> first;
  std::optional<double> second;
};

std::string change_of(const std::optional<double>& first, const std::optional<double>& second) {
  constexpr double kMost = 10.0;  // beyond that, and across zero, a percentage says nothing
  const double ratio = first && second && *first != 0.0 ? *second / *first : 0.0;
  return ratio > 0.0 && ratio < kMost ? signed_percent_cell(ratio - 1.0) : "";
}

std::vector<Line> metric_lines(const report::Figures& a, const report::Figures& b) {
  std::vector<Line> lines;
  for (const report::MetricInfo& metric : report::metric_registry()) {
    const auto first = a.value(metric.id);
    const auto second = b.value(metric.id);
    if (first || second) {
      lines.push_back({std::string(metric.name), std::string(metric.json_key), metric.dimension,
                       first, second});
    }
  }
  return lines;
}

// Categories of a ledger in which either spent time; `figure` of an answer, by category.
template <std::size_t N, typename Figure>
std::vector<Line> ledger_lines(const std::array<std::string_view, N>& categories,
                               std::string_view unit, report::Dimension dimension,
                               const Figure& figure) {
  std::vector<Line> lines;
  for (std::size_t c = 0; c < N; ++c) {
    const auto [first, second] = figure(c);
    if (first > 0.0 || second > 0.0) {
      const std::string name(categories[c]);
      lines.push_back({name, fmt::format("{}_{}", name, unit), dimension, first, second});
    }
  }
  return lines;
}

std::vector<Line> step_lines(const report::Figures& a, const report::Figures& b) {
  const auto time = [](const report::Figures& one, std::size_t c) {
    return c < one.step_ledger.size()
               ? one.value(report::MetricId::step_time).value_or(0.0) * one.step_ledger[c].share
               : 0.0;
  };
  return ledger_lines(step::kStepCategoryNames, "s", report::Dimension::time,
                      [&](std::size_t c) { return std::pair(time(a, c), time(b, c)); });
}

std::vector<Line> run_lines(const report::Figures& a, const report::Figures& b) {
  const auto hours = [](const report::Figures& one, std::size_t c) {
    return c < one.run_ledger.size() ? in_hours(one.run_ledger[c].gpu_time) : 0.0;
  };
  return ledger_lines(run::kRunCategoryNames, "gpu_h", report::Dimension::count,
                      [&](std::size_t c) { return std::pair(hours(a, c), hours(b, c)); });
}

std::string block(std::string_view title, const std::vector<Line>& lines) {
  std::string text = lines.empty() ? std::string() : fmt::format("{}\n", title);
  for (const Line& line : lines) {
    const auto shown = [&line](const std::optional<double>& value) {
      return value ? report::format_value(line.dimension, *value) : std::string("-");
    };
    text += fmt::format("  {:<32} {:>18} {:>18} {:>10}\n", line.name, shown(line.first),
                        shown(line.second), change_of(line.first, line.second));
  }
  return text;
}

Json json_of(const std::vector<Line>& lines) {
  return json_list(lines, [](const Line& line) {
    return Json{{"key", line.json_key}, {"first", line.first}, {"second", line.second}};
  });
}

std::string scenarios_text(const CompareOptions& options,
                           const std::vector<evaluate::KeyChange>& keys, bool files,
                           const report::Figures& a, const report::Figures& b) {
  if (options.json) {
    Json out = head(options, "scenarios");
    out["keys"] = json_list(keys, [](const evaluate::KeyChange& change) {
      return Json{{"key", change.key}, {"first", change.first}, {"second", change.second}};
    });
    out["metrics"] = json_of(metric_lines(a, b));
    out["step_ledger"] = json_of(step_lines(a, b));
    out["run_ledger"] = json_of(run_lines(a, b));
    return json_text(out);
  }
  std::string text = fmt::format("A {}\nB {}\n", options.first, options.second);
  text += !files         ? "A saved answer does not hold its scenario\n"
          : keys.empty() ? "The files state the same\n"
                         : "Keys\n";
  for (const evaluate::KeyChange& change : keys) {
    text +=
        report::printable(fmt::format("  {:<32} {} -> {}", change.key, change.first.value_or("-"),
                                      change.second.value_or("-"))) +
        "\n";
  }
  const std::string why = report::step_change_words(a, b);
  text += why.empty() ? "" : why + "\n";
  text += block("Metrics", metric_lines(a, b));
  text += block("Step ledger, time of one GPU", step_lines(a, b));
  return text + block("Run ledger, GPU-hours", run_lines(a, b));
}

// How the file begins; empty for standard input and for what cannot be read, which loading reports.
std::string head_of(const std::string& name) {
  constexpr std::size_t kLooked = 4096;
  std::string text(kLooked, '\0');
  std::ifstream file(name, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

bool is_saved(const std::string& name) {
  return name != "-" && report::is_saved_evaluation(head_of(name));
}

// Of a scenario, evaluated now, or of a saved answer; nothing after a message and with its code.
std::optional<report::Figures> answer_of(const std::string& name, const CompareOptions& options,
                                         const InterruptWatch& watch, ExitCode& code) {
  if (!is_saved(name)) {
    InputFile file = std::move(load_files({name}, options.evaluation).front());
    if (file.scenario) {
      check_not_read(options.output, *file.scenario);
    }
    evaluate_file(file, options.evaluation, {.levers = false}, watch);
    code = worse(code, file.code);
    return file.evaluation ? std::optional(report::figures_of(*file.evaluation)) : std::nullopt;
  }
  constexpr std::size_t kMost = std::size_t{64} << 20U;
  const report::SavedReading reading = report::read_saved_evaluations(read_file(name, kMost));
  if (reading.problem.empty() && reading.evaluations.size() == 1) {
    return reading.evaluations.front();
  }
  message(fmt::format(
      "{}: {}", name,
      reading.problem.empty() ? "it holds several answers: save each by itself" : reading.problem));
  code = worse(code, ExitCode::invalid);
  return std::nullopt;
}

ExitCode compare_scenarios(const CompareOptions& options, const InterruptWatch& watch) {
  ExitCode code = ExitCode::ok;
  const auto first = answer_of(options.first, options, watch, code);
  const auto second = answer_of(options.second, options, watch, code);
  if (!first || !second) {
    return code;
  }
  // A saved answer does not hold its scenario.
  std::vector<evaluate::KeyChange> keys;
  const bool files = !is_saved(options.first) && !is_saved(options.second);
  if (files) {
    Diagnostics diagnostics;
    auto changed = evaluate::changed_keys(options.first, options.second, diagnostics);
    message_block(to_string(diagnostics));
    if (!changed) {
      return ExitCode::invalid;
    }
    keys = *std::move(changed);
  }
  watch.check();
  deliver(scenarios_text(options, keys, files, *first, *second), options.output);
  return ExitCode::ok;
}

ExitCode compare_traces(const CompareOptions& options, const InterruptWatch& watch) {
  if (options.tolerance) {
    throw UsageError("compare: --tolerance is for calibration profiles");
  }
  if (options.first != "-" && trace::is_trace_file(options.first)) {
    throw UsageError("compare: the scenario comes first, then its traces");
  }
  return compare_with_traces({.scenario = options.first,
                              .traces = options.others,
                              .reading = options.reading,
                              .project = options.project,
                              .evaluation = options.evaluation,
                              .output = options.output,
                              .json = options.json},
                             watch);
}

ExitCode compare_files(CompareOptions& options, const InterruptWatch& watch) {
  options.first = scenario_file(options.first, options.evaluation.quiet);
  for (std::string& other : options.others) {
    other = scenario_file(other, options.evaluation.quiet);
  }
  options.second = options.others.front();
  const auto traces = std::ranges::count_if(options.others, [](const std::string& file) {
    return file != "-" && trace::is_trace_file(file);
  });
  if (traces > 0) {
    if (static_cast<std::size_t>(traces) < options.others.size()) {
      throw UsageError("compare: beside the scenario all files must be traces");
    }
    return compare_traces(options, watch);
  }
  if (options.others.size() == 1 && is_training_log(options.second)) {
    if (options.reading.any() || options.tolerance || !options.project.empty()) {
      throw UsageError("compare: a log has neither traces nor kernels");
    }
    return compare_with_log({.scenario = options.first,
                             .log = options.second,
                             .evaluation = options.evaluation,
                             .output = options.output,
                             .json = options.json},
                            watch);
  }
  if (options.others.size() > 1) {
    throw UsageError(
        "compare: takes two scenarios, two calibration profiles, or a scenario and "
        "its traces or its log");
  }
  if (options.reading.any() || !options.project.empty()) {
    throw UsageError(
        "compare: --marker, --whole-trace, --group, --step and --project are for traces");
  }
  const auto is_calibration = [](const std::string& file) {
    return !is_saved(file) && evaluate::is_calibration_file(file);
  };
  const bool first = is_calibration(options.first);
  const bool second = is_calibration(options.second);
  if (first != second) {
    throw UsageError(fmt::format("compare: {} is a calibration profile, {} is none",
                                 first ? options.first : options.second,
                                 first ? options.second : options.first));
  }
  if (options.tolerance && !first) {
    throw UsageError("compare: --tolerance is for calibration profiles");
  }
  return first ? compare_calibrations(options) : compare_scenarios(options, watch);
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("compare",
                                         "Two calibration profiles, two scenarios or saved "
                                         "answers, or a scenario and measured traces or a log");
  const auto options = std::make_shared<CompareOptions>();
  command
      ->add_option("A", options->first, "Calibration profile, scenario, or what run --json wrote")
      ->type_name("SCENARIO")
      ->required();
  command
      ->add_option("B", options->others,
                   "The other one; beside a scenario also Kineto or Chrome traces of its ranks, "
                   ".json or .json.gz, or the log of its training")
      ->type_name("SCENARIO")
      ->required();
  command->add_flag("--json", options->json, "orrery-comparison/1");
  command
      ->add_option("--tolerance", options->tolerance,
                   "Exit 1 when the median of a group of kernels is slower by more percent in B")
      ->check(number_between(0.0))
      ->type_name("PERCENT");
  add_trace_options(*command, options->reading);
  command
      ->add_option("--project", options->project,
                   "Traces: the step of the job with this key changed, with the measured errors of "
                   "each category; repeatable: cluster.nodes=64 batch.global=512")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_output_option(*command, options->output);
  add_evaluation_options(*command, options->evaluation);
  command->footer(
      "Examples:\n"
      "  orrery compare --tolerance 3 before.yaml after.yaml\n"
      "  orrery compare scenario.yaml rank0.json.gz rank1.json.gz\n"
      "  orrery compare node.yaml rank0.json.gz --project cluster.nodes=64 --project "
      "batch.global=512\n"
      "  orrery compare run.yaml train.log");
  act_on(*command, action, options, compare_files);
}

}  // namespace orrery::cli
