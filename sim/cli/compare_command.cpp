// `orrery compare A B`: two calibrations of a machine, or two scenarios, side by side.

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/base/format.hpp"
#include "sim/cli/cli.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/shared_options.hpp"
#include "sim/evaluate/compare_calibrations.hpp"
#include "sim/report/metrics.hpp"
#include "sim/report/text_page.hpp"

namespace orrery::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kPercent = 100.0;

struct CompareOptions {
  std::string first;
  std::string second;
  EvaluationOptions evaluation;
  std::optional<std::string> output;
  std::optional<double> tolerance;  // percent
  bool json = false;
};

std::string dumped(const Json& json) {
  constexpr int kIndent = 2;
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json head(const CompareOptions& options, std::string_view kind) {
  return {{"schema", "orrery-comparison/1"},
          {"kind", kind},
          {"first", options.first},
          {"second", options.second}};
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const CompareOptions& options, const evaluate::CalibrationComparison& comparison) {
  Json out = head(options, "calibrations");
  out["changed"] = Json::array();
  for (const auto& change : comparison.changed) {
    out["changed"].push_back({{"key", change.key}, {"first", change.from}, {"second", change.to}});
  }
  out["groups"] = Json::array();
  for (const evaluate::GroupRatio& group : comparison.groups) {
    out["groups"].push_back({{"group", group.name},
                             {"cases", group.cases},
                             {"median_ratio", group.median},
                             {"worst_ratio", group.worst},
                             {"worst_case", group.worst_case}});
  }
  out["cases"] = Json::array();
  for (const evaluate::CaseRatio& one : comparison.cases) {
    out["cases"].push_back({{"case", one.name},
                            {"group", one.group},
                            {"first_s", in_seconds(one.first)},
                            {"second_s", in_seconds(one.second)},
                            {"ratio", one.ratio}});
  }
  out["derived"] = Json::array();
  for (const evaluate::DerivedChange& change : comparison.derived) {
    out["derived"].push_back({{"name", change.name},
                              {"first", or_null(change.first)},
                              {"second", or_null(change.second)}});
  }
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
  deliver(options.json ? dumped(json_of(options, comparison))
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
  std::optional<double> first;
  std::optional<double> second;
  std::string text;  // of both, for people
};

std::string change_of(const std::optional<double>& first, const std::optional<double>& second) {
  if (!first || !second || *first == 0.0) {
    return {};
  }
  return fmt::format("{:+.1f} %", kPercent * (*second / *first - 1.0));
}

std::vector<Line> metric_lines(const report::Evaluation& a, const report::Evaluation& b) {
  std::vector<Line> lines;
  for (const report::MetricInfo& metric : report::metric_registry()) {
    const report::MetricValue* first = a.metrics.find(metric.id);
    const report::MetricValue* second = b.metrics.find(metric.id);
    if (first == nullptr && second == nullptr) {
      continue;
    }
    const auto value = [](const report::MetricValue* v) {
      return v == nullptr ? std::nullopt : std::optional(v->value);
    };
    const auto text = [&metric](const report::MetricValue* v) {
      return v == nullptr ? std::string("-") : report::format_value(metric.dimension, v->value);
    };
    lines.push_back({std::string(metric.name),
                     std::string(metric.json_key),
                     value(first),
                     value(second),
                     fmt::format("{:>18} {:>18}", text(first), text(second))});
  }
  return lines;
}

std::vector<Line> ledger_lines(const report::Evaluation& a, const report::Evaluation& b) {
  std::vector<Line> lines;
  for (std::size_t c = 0; c < step::kStepCategories; ++c) {
    const auto category = static_cast<step::StepCategory>(c);
    const auto time = [category](const report::Evaluation& one) {
      return to_seconds(one.step.step_time) * one.step.ledger.share(category);
    };
    const Seconds first = time(a);
    const Seconds second = time(b);
    if (first > Seconds{} || second > Seconds{}) {
      lines.push_back({std::string(step::to_string(category)),
                       std::string(step::to_string(category)) + "_s",
                       in_seconds(first),
                       in_seconds(second),
                       fmt::format("{:>18} {:>18}", format_time(first), format_time(second))});
    }
  }
  return lines;
}

std::vector<Line> run_lines(const report::Evaluation& a, const report::Evaluation& b) {
  std::vector<Line> lines;
  for (std::size_t c = 0; c < static_cast<std::size_t>(run::RunCategory::count_); ++c) {
    const auto category = static_cast<run::RunCategory>(c);
    const auto hours = [category](const report::Evaluation& one) {
      return one.run ? in_hours(one.run->mean_gpu_time(category)) : 0.0;
    };
    const double first = hours(a);
    const double second = hours(b);
    if (first > 0.0 || second > 0.0) {
      lines.push_back({std::string(run::to_string(category)),
                       std::string(run::to_string(category)) + "_gpu_h",
                       first,
                       second,
                       fmt::format("{:>18} {:>18}", format_count(first), format_count(second))});
    }
  }
  return lines;
}

std::string block(std::string_view title, const std::vector<Line>& lines) {
  std::string text = lines.empty() ? std::string() : fmt::format("{}\n", title);
  for (const Line& line : lines) {
    text += fmt::format(
        "  {:<32} {} {:>10}\n", line.name, line.text, change_of(line.first, line.second));
  }
  return text;
}

Json json_of(const std::vector<Line>& lines) {
  Json out = Json::array();
  for (const Line& line : lines) {
    out.push_back(
        {{"key", line.json_key}, {"first", or_null(line.first)}, {"second", or_null(line.second)}});
  }
  return out;
}

std::string scenarios_text(const CompareOptions& options,
                           const std::vector<evaluate::KeyChange>& keys,
                           const report::Evaluation& a,
                           const report::Evaluation& b) {
  if (options.json) {
    Json out = head(options, "scenarios");
    out["keys"] = Json::array();
    for (const evaluate::KeyChange& change : keys) {
      out["keys"].push_back({{"key", change.key},
                             {"first", or_null(change.first)},
                             {"second", or_null(change.second)}});
    }
    out["metrics"] = json_of(metric_lines(a, b));
    out["step_ledger"] = json_of(ledger_lines(a, b));
    out["run_ledger"] = json_of(run_lines(a, b));
    return dumped(out);
  }
  std::string text = fmt::format("A {}\nB {}\n", options.first, options.second);
  text += keys.empty() ? "The files state the same\n" : "Keys\n";
  for (const evaluate::KeyChange& change : keys) {
    text += report::printable(fmt::format("  {:<32} {} -> {}",
                                          change.key,
                                          change.first.value_or("-"),
                                          change.second.value_or("-"))) +
            "\n";
  }
  text += block("Metrics", metric_lines(a, b));
  text += block("Step ledger, time of one GPU", ledger_lines(a, b));
  return text + block("Run ledger, GPU-hours", run_lines(a, b));
}

ExitCode compare_scenarios(const CompareOptions& options) {
  std::vector<InputFile> files = load_files({options.first, options.second});
  const InterruptWatch watch;
  ExitCode code = ExitCode::ok;
  for (InputFile& file : files) {
    evaluate_file(file, options.evaluation, {}, watch);
    code = worse(code, file.code);
  }
  if (!files[0].evaluation || !files[1].evaluation) {
    return code;
  }
  Diagnostics diagnostics;
  const auto keys = evaluate::changed_keys(options.first, options.second, diagnostics);
  message_block(to_string(diagnostics));
  if (!keys) {
    return ExitCode::invalid;
  }
  deliver(scenarios_text(options, *keys, *files[0].evaluation, *files[1].evaluation),
          options.output);
  return ExitCode::ok;
}

ExitCode compare_files(const CompareOptions& options) {
  const bool first = evaluate::is_calibration_file(options.first);
  const bool second = evaluate::is_calibration_file(options.second);
  if (first != second) {
    throw UsageError(fmt::format("compare: {} is a calibration profile, {} is none",
                                 first ? options.first : options.second,
                                 first ? options.second : options.first));
  }
  if (options.tolerance && !first) {
    throw UsageError("compare: --tolerance is for calibration profiles");
  }
  return first ? compare_calibrations(options) : compare_scenarios(options);
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("compare", "Two calibration profiles, or two scenarios, side by side");
  const auto options = std::make_shared<CompareOptions>();
  command->add_option("A", options->first, "Calibration profile or scenario")->required();
  command->add_option("B", options->second, "The other one")->required();
  command->add_flag("--json", options->json, "orrery-comparison/1");
  command
      ->add_option("--tolerance",
                   options->tolerance,
                   "Exit 1 when the median of a group of kernels is slower by more percent in B")
      ->check(CLI::NonNegativeNumber)
      ->type_name("PERCENT");
  add_output_option(*command, options->output);
  add_evaluation_options(*command, options->evaluation);
  command->footer(
      "Example:\n"
      "  orrery compare --tolerance 3 before.yaml after.yaml");
  command->callback([options, &action] { action = [options] { return compare_files(*options); }; });
}

}  // namespace orrery::cli
