#include "sim/cli/commands/shared_options.hpp"

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <string>

#include "sim/cli/frame/number_option.hpp"

namespace orrery::cli {

void add_evaluation_options(CLI::App& command, EvaluationOptions& options) {
  constexpr std::int64_t kMostTrials = 10'000'000;
  constexpr int kMostThreads = 1024;
  command.add_option("--trials", options.trials, "Trials of the run, in place of the scenario's")
      ->check(count_between(1, kMostTrials))
      ->type_name("N");
  command
      .add_option("--seed", options.seed, "Seed of all random draws, in place of the scenario's")
      ->check(count_between(0))
      ->type_name("N");
  command
      .add_option("-j,--threads", options.threads, "Threads (0: all cores); the result is the same")
      ->check(count_between(0, kMostThreads))
      ->type_name("N");
  command
      .add_option("--set", options.settings,
                  "Any key of the scenario, in place of what the file says; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--keep", options.kept,
                  "layout.data: stays as it is stated, even where another degree that is changed "
                  "makes it wrong")
      ->type_name("KEY")
      ->allow_extra_args(false);
  add_profiles_option(command, options.profiles);
  command.add_flag("--allow-foreign-profile", options.allow_foreign,
                   "Accept calibration profiles that were measured on another GPU");
  command.add_flag("-q,--quiet", options.quiet, "No progress and no messages but errors");
}

void add_output_option(CLI::App& command, std::optional<std::string>& file) {
  command.add_option("-o,--output", file, "Write to FILE, atomically, in place of stdout")
      ->type_name("FILE");
}

void add_profiles_option(CLI::App& command, std::vector<std::filesystem::path>& folders) {
  command
      .add_option("--profiles", folders,
                  "Directory with profiles and presets (gpu/, failures/, ...), searched first")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR")
      ->allow_extra_args(false);
}

void add_colour_option(CLI::App& command, std::string& choice) {
  command.add_option("--color", choice, "auto (a terminal without NO_COLOR), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
}

report::TextStyle page_style(const std::string& colour, const std::optional<std::string>& output) {
  return text_style(colour == "auto" ? std::nullopt : std::optional(colour == "always"),
                    output.has_value());
}

}  // namespace orrery::cli
