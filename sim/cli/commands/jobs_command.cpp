// `orrery jobs`: what several jobs on one network cost one another.

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <memory>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/jobs/jobs_report.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"

namespace orrery::cli {

namespace {

struct JobsOptions {
  std::string file;
  std::optional<std::string> output;
  std::string colour = "auto";
  bool json = false;
  bool place = false;
  std::vector<std::filesystem::path> profiles;
};

ExitCode run_jobs(const JobsOptions& options, const InterruptWatch& watch) {
  Diagnostics diagnostics;
  auto file = jobs::load_jobs_file(options.file, diagnostics);
  const auto search = options.profiles.empty()
                          ? std::nullopt
                          : std::optional(evaluate::profile_search(options.file, options.profiles));
  const auto cluster =
      file ? jobs::SharedCluster::load(*std::move(file), search, diagnostics) : std::nullopt;
  std::vector<jobs::TriedPlacement> tried;
  std::optional<jobs::ClusterAnswer> answer;
  if (cluster && options.place) {
    tried = jobs::find_places(*cluster, watch.token(), diagnostics);
    answer = tried.empty() ? std::nullopt : std::optional(tried.front().answer);
  } else if (cluster) {
    answer = cluster->place(cluster->file().jobs, diagnostics);
  }
  message_block(to_string(diagnostics));
  if (!answer) {
    return ExitCode::invalid;
  }
  deliver(options.json ? jobs::to_json(*answer, tried)
                       : jobs::to_text(*answer, page_style(options.colour, options.output), tried),
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
  command->add_flag(
      "--place", options->place,
      "Search the places (packed, spread) and start offsets that lose least GPU time");
  add_profiles_option(*command, options->profiles);
  add_output_option(*command, options->output);
  add_colour_option(*command, options->colour);
  command->footer(
      "Examples:\n"
      "  orrery jobs scenarios/jobs/two-ddp-in-phase.yaml\n"
      "  orrery jobs --place scenarios/jobs/two-ddp-in-phase.yaml\n"
      "  orrery jobs --json -o shared.json scenarios/jobs/two-ddp-in-phase.yaml");
  act_on(*command, action, options, run_jobs);
}

}  // namespace orrery::cli
