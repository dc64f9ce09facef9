// `orrery jobs`: what several jobs on one network cost one another.

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <memory>

#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/jobs/jobs_report.hpp"

namespace orrery::cli {

namespace {

struct JobsOptions {
  std::string file;
  std::optional<std::string> output;
  std::string colour = "auto";
  bool json = false;
};

ExitCode run_jobs(const JobsOptions& options) {
  Diagnostics diagnostics;
  const auto file = jobs::load_jobs_file(options.file, diagnostics);
  const auto answer = file ? jobs::share_cluster(*file, {}, diagnostics) : std::nullopt;
  message_block(to_string(diagnostics));
  if (!answer) {
    return ExitCode::invalid;
  }
  deliver(options.json
              ? jobs::to_json(*answer)
              : jobs::to_text(
                    *answer, text_style(colour_choice(options.colour), options.output.has_value())),
          options.output);
  return answer->meets_expectations() ? ExitCode::ok : ExitCode::expectation_failed;
}

}  // namespace

void add_jobs_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("jobs", "What jobs on one network cost one another");
  const auto options = std::make_shared<JobsOptions>();
  command->add_option("JOBS", options->file, "Jobs and their places: a file in orrery-jobs/1")
      ->required();
  command->add_flag("--json", options->json, "orrery-shared/1");
  add_output_option(*command, options->output);
  add_colour_option(*command, options->colour);
  command->footer(
      "Examples:\n"
      "  orrery jobs scenarios/jobs/two-ddp-in-phase.yaml\n"
      "  orrery jobs --json -o shared.json scenarios/jobs/two-ddp-in-phase.yaml");
  command->callback([options, &action] {
    action = [options](InterruptWatch& /*watch*/) { return run_jobs(*options); };
  });
}

}  // namespace orrery::cli
