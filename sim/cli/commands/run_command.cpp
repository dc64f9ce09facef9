// `orrery run`: one screen with the answer and the reason, or the whole evaluation as JSON.

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <memory>

#include "sim/answer/report/files/json_report.hpp"
#include "sim/answer/report/text/text_report.hpp"
#include "sim/answer/report/text/verdict.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/output.hpp"

namespace orrery::cli {

namespace {

struct RunOptions {
  std::vector<std::string> files;
  EvaluationOptions evaluation;
  std::optional<std::string> output;
  std::string colour = "auto";
  bool json = false;
  bool full = false;
};

std::string text_of(const std::vector<report::Evaluation>& evaluations, report::TextStyle style,
                    report::Detail detail) {
  std::string text;
  for (const report::Evaluation& evaluation : evaluations) {
    text += text.empty() ? "" : "\n";
    text += report::to_text(evaluation, style, detail);
  }
  return text;
}

ExitCode run_files(const RunOptions& options, const InterruptWatch& watch) {
  std::vector<InputFile> files = load_files(options.files, options.evaluation);
  std::vector<report::Evaluation> evaluations;
  ExitCode code = ExitCode::ok;
  for (InputFile& file : files) {
    if (file.scenario) {
      check_not_read(options.output, *file.scenario);
    }
    evaluate_file(file, options.evaluation, {}, watch);
    code = worse(code, file.code);
    if (file.evaluation) {
      if (report::mostly_gave_up(*file.evaluation)) {
        code = worse(code, ExitCode::does_not_fit);
      }
      evaluations.push_back(std::move(*file.evaluation));
    }
  }
  watch.check();
  if (evaluations.empty()) {
    return code;
  }
  std::string data;
  if (options.json) {
    data = files.size() == 1 ? report::to_json(evaluations.front()) : report::to_json(evaluations);
  } else {
    data = text_of(evaluations, page_style(options.colour, options.output),
                   options.full ? report::Detail::full : report::Detail::brief);
  }
  deliver(data, options.output);
  return code;
}

}  // namespace

void add_run_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("run", "Time, cost, losses and the reasons, on one screen");
  const auto options = std::make_shared<RunOptions>();
  command
      ->add_option("SCENARIO", options->files, "Scenarios: files or shipped names; - reads stdin")
      ->required();
  command->add_flag("--json", options->json, "orrery-evaluation/1; an array for several files");
  command->add_flag("--full", options->full, "Everything, not only what fits on one screen");
  add_output_option(*command, options->output);
  add_evaluation_options(*command, options->evaluation);
  add_colour_option(*command, options->colour);
  command->footer(
      "Examples:\n"
      "  orrery run llama3-405b-16k\n"
      "  orrery run --full llama3-405b-16k\n"
      "  orrery run --json -o result.json llama3-70b-64h100\n"
      "Exit code 4: most trials gave up before the run was done. What does not fit in memory is "
      "an\n"
      "answer with code 0; `orrery check` fails on it.");
  act_on(*command, action, options, run_files);
}

}  // namespace orrery::cli
