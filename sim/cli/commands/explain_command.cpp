// `orrery explain`: how did one metric come about?

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <memory>

#include "sim/answer/report/metrics.hpp"
#include "sim/answer/report/picture/roofline.hpp"
#include "sim/answer/report/text/text_page.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"

namespace orrery::cli {

namespace {

struct ExplainOptions {
  std::string metric;
  std::string file;
  EvaluationOptions evaluation;
  std::optional<std::string> output;
  bool json = false;
};

const report::MetricInfo& metric_of(const std::string& name) {
  if (const report::MetricInfo* found = report::find_metric(name)) {
    return *found;
  }
  std::vector<std::string_view> names;
  for (const report::MetricInfo& metric : report::metric_registry()) {
    names.push_back(metric.name);
  }
  const std::string_view near = nearest_name(name, names);
  throw UsageError(fmt::format(
      "explain: unknown metric `{}` ({})", name,
      near.empty() ? "orrery list metrics shows all" : fmt::format("did you mean `{}`?", near)));
}

std::string to_json(const report::MetricInfo& metric, const report::Evaluation& evaluation,
                    const std::string& text) {
  const report::MetricValue* value = evaluation.metrics.find(metric.id);
  Json out = {{"schema", "orrery-explanation/1"},
              {"metric", metric.name},
              {"key", metric.json_key},
              {"value", nullptr},
              {"text", text}};
  if (value != nullptr) {
    out["value"] = value->value;
  }
  return json_text(out);
}

ExitCode explain_file(const ExplainOptions& options, const InterruptWatch& watch) {
  const bool roofline = options.metric == "roofline";
  const report::MetricInfo* metric = roofline ? nullptr : &metric_of(options.metric);
  std::vector<InputFile> files = load_files({options.file}, options.evaluation);
  InputFile& file = files.front();
  if (file.scenario) {
    check_not_read(options.output, *file.scenario);
  }
  evaluate_file(
      file, options.evaluation,
      {.timelines = roofline, .operations = true, .operation_timeline = roofline, .levers = false},
      watch);
  if (!file.evaluation) {
    return file.code;
  }
  if (roofline && file.evaluation->step.given) {
    message(fmt::format("{}: states the time of its step: no operations", options.file));
    return ExitCode::invalid;
  }
  if (roofline) {
    const std::string text = report::roofline_text(*file.evaluation);
    const Json out = {
        {"schema", "orrery-explanation/1"}, {"metric", options.metric}, {"text", text}};
    deliver(options.json ? json_text(out) : text, options.output);
    return ExitCode::ok;
  }
  Diagnostics problems;
  const std::optional<std::string> text =
      evaluate::explain(*file.scenario, *file.evaluation, metric->name, problems,
                        search_for(file.scenario->file, options.evaluation));
  message_block(to_string(problems));
  if (!text) {
    return ExitCode::invalid;
  }
  watch.check();
  deliver(options.json ? to_json(*metric, *file.evaluation, *text) : report::wrap_lines(*text),
          options.output);
  return ExitCode::ok;
}

}  // namespace

void add_explain_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("explain", "Formula, inputs and sources behind one metric");
  const auto options = std::make_shared<ExplainOptions>();
  command
      ->add_option("METRIC", options->metric,
                   "One of `orrery list metrics`, or roofline: what limits each operation")
      ->required();
  command
      ->add_option("SCENARIO", options->file, "Scenario: a file or a shipped name; - reads stdin")
      ->required();
  command->add_flag("--json", options->json, "orrery-explanation/1");
  add_output_option(*command, options->output);
  add_evaluation_options(*command, options->evaluation);
  command->footer(
      "Example:\n"
      "  orrery explain mfu llama3-405b-16k\n"
      "  orrery explain roofline llama3-70b-64h100");
  act_on(*command, action, options, explain_file);
}

}  // namespace orrery::cli
