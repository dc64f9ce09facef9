// `orrery export`: the evaluation for other programs, as traces, pictures, tables or JSON.

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <array>
#include <memory>

#include "sim/cli/cli.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/shared_options.hpp"
#include "sim/report/chrome_trace.hpp"
#include "sim/report/csv_report.hpp"
#include "sim/report/json_report.hpp"
#include "sim/report/step_picture.hpp"

namespace orrery::cli {

namespace {

using Writer = std::string (*)(const report::Evaluation&);

// What can be written in which format; the first row of a format is its default.
struct Export {
  std::string_view format;
  std::string_view what;
  Writer write;
};

std::string whole_json(const report::Evaluation& evaluation) {
  return report::to_json(evaluation);
}

constexpr std::array<Export, 8> kExports = {{
    {"chrome-trace", "step", report::step_chrome_trace},
    {"chrome-trace", "run", report::run_chrome_trace},
    {"csv", "metrics", report::metrics_csv},
    {"csv", "ledger", report::ledger_csv},
    {"csv", "memory", report::memory_csv},
    {"json", "all", whole_json},
    {"svg", "step", report::step_svg},
    {"svg", "schedule", report::schedule_svg},
}};

struct ExportOptions {
  std::string file;
  std::string format;
  std::string what;
  std::uint32_t trial = 0;
  EvaluationOptions evaluation;
  std::optional<std::string> output;
};

const Export& find_export(const ExportOptions& options) {
  std::string known;
  for (const Export& candidate : kExports) {
    if (candidate.format != options.format) {
      continue;
    }
    if (options.what.empty() || candidate.what == options.what) {
      return candidate;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", candidate.what);
  }
  throw UsageError(fmt::format(
      "export: --format {} has no --what {} (it has {})", options.format, options.what, known));
}

// Why the wanted part is not in this evaluation; empty when it is.
std::string_view missing_part(const Export& wanted, const report::Evaluation& evaluation) {
  if (wanted.what == "run" && !evaluation.run) {
    return "there is no run to export: the scenario has no `training:`";
  }
  const bool shows_step = wanted.what == "step" || wanted.what == "schedule";
  if (shows_step && evaluation.step.given) {
    return "there is no step to export: the scenario states its time";
  }
  return {};
}

ExitCode export_file(const ExportOptions& options) {
  const Export& wanted = find_export(options);
  std::vector<InputFile> files = load_files({options.file});
  const InterruptWatch watch;
  InputFile& file = files.front();
  const bool timeline = wanted.format == "chrome-trace" || wanted.format == "svg";
  evaluate_file(file,
                options.evaluation,
                {.levers = wanted.format == "json",
                 .timelines = timeline,
                 .ticks = wanted.what == "schedule",
                 .timeline_trial = options.trial},
                watch);
  if (!file.evaluation) {
    return file.code;
  }
  if (!options.evaluation.quiet) {
    message_block(to_string(file.diagnostics));
  }
  const std::string_view missing = missing_part(wanted, *file.evaluation);
  if (!missing.empty()) {
    message(fmt::format("{}: {}", file.name, missing));
    return ExitCode::invalid;
  }
  watch.check();
  deliver(wanted.write(*file.evaluation), options.output);
  return ExitCode::ok;
}

}  // namespace

void add_export_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("export", "Traces, pictures, tables and JSON for other programs");
  const auto options = std::make_shared<ExportOptions>();
  command->add_option("FILE", options->file, "Scenario; - reads it from stdin")->required();
  command
      ->add_option(
          "--format", options->format, "chrome-trace (for ui.perfetto.dev), svg, csv or json")
      ->required()
      ->check(CLI::IsMember({"chrome-trace", "svg", "csv", "json"}))
      ->type_name("FORMAT");
  command
      ->add_option("--what",
                   options->what,
                   "chrome-trace: step (default), run; svg: step (default), schedule (its order in "
                   "ticks of a layer, without hardware); csv: metrics (default), ledger, memory")
      ->type_name("PART");
  command->add_option("--trial", options->trial, "Trial of the run to trace (default 0)")
      ->type_name("N");
  add_output_option(*command, options->output);
  add_evaluation_options(*command, options->evaluation);
  command->footer(
      "Examples:\n"
      "  orrery export --format chrome-trace -o step.json scenarios/gpt3-175b-1024.yaml\n"
      "  orrery export --format svg --what schedule -o picture.svg scenarios/schedule-zb-v.yaml\n"
      "  orrery export --format csv --what ledger scenarios/gpt3-175b-1024.yaml");
  command->callback([options, &action] { action = [options] { return export_file(*options); }; });
}

}  // namespace orrery::cli
