// `orrery compare A B`: two calibrations of a machine, or two scenarios, side by side; or a
// scenario and traces of what it predicts (compare_traces.hpp), or the log of its training
// (compare_log.hpp).

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <memory>

#include "sim/answer/evaluate/compare/compare_calibrations.hpp"
#include "sim/answer/trace/event_reader.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/compare/compare_log.hpp"
#include "sim/cli/compare/compare_scenarios.hpp"
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

Json json_of(const CompareOptions& options, const evaluate::CalibrationComparison& comparison) {
  Json out{{"schema", "orrery-comparison/1"},
           {"kind", "calibrations"},
           {"first", options.first},
           {"second", options.second}};
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

ExitCode compare_traces(const CompareOptions& options, const InterruptWatch& watch) {
  if (options.tolerance) {
    throw UsageError("compare: --tolerance is for calibration profiles and scenarios");
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
    return !is_saved_answer(file) && evaluate::is_calibration_file(file);
  };
  const bool first = is_calibration(options.first);
  const bool second = is_calibration(options.second);
  if (first != second) {
    throw UsageError(fmt::format("compare: {} is a calibration profile, {} is none",
                                 first ? options.first : options.second,
                                 first ? options.second : options.first));
  }
  return first ? compare_calibrations(options)
               : compare_scenarios({.first = options.first,
                                    .second = options.second,
                                    .evaluation = options.evaluation,
                                    .output = options.output,
                                    .tolerance = options.tolerance,
                                    .json = options.json},
                                   watch);
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
                   "Exit 1 when B is slower by more percent: of calibrations the median of a group "
                   "of kernels, of scenarios the step, where predictions tell it apart")
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
