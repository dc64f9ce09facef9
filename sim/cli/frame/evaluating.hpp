#pragma once

// From file names to evaluations, for all commands: loading, profiles, Ctrl-C, exit codes.
//
// Problems go to stderr as they are found; one broken file does not keep the others from being
// evaluated. "-" reads the scenario from standard input.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/report/evaluation.hpp"
#include "sim/cli/frame/exit_code.hpp"
#include "sim/cli/frame/interrupt.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::cli {

// Options that every command has which evaluates.
struct EvaluationOptions {
  std::optional<std::int64_t> trials;
  std::optional<std::uint64_t> seed;
  int threads = 0;
  std::vector<std::filesystem::path> profiles;  // directories, searched first
  std::vector<std::string> settings;            // KEY=VALUE, in place of what the scenarios say
  std::vector<std::string> kept;                // keys that do not follow what is set
  bool allow_foreign = false;                   // calibration profiles of other GPUs
  bool quiet = false;
};

// Where the profiles and presets of a scenario file are looked for.
[[nodiscard]] hardware::ProfileSearch search_for(const std::string& file,
                                                 const EvaluationOptions& options);

// The network preset of --network, one of those in the standard directories or `profiles`. Throws a
// UsageError of the command that lists the names when there is none.
[[nodiscard]] hardware::NetworkSpec network_named(
    const std::string& name, std::string_view command,
    const std::vector<std::filesystem::path>& profiles);

// One file of the command line on its way.
struct InputFile {
  std::string name;
  std::optional<scenario::Scenario> scenario;
  std::optional<report::Evaluation> evaluation;
  Diagnostics diagnostics;
  std::string problem;  // one line, when there is no evaluation
  ExitCode code = ExitCode::ok;
};

// All of standard input, up to what a file may hold. Throws Error(io).
[[nodiscard]] std::string read_standard_input();

// The file that a word of the command line means. A shipped scenario that is found by its name is
// named on stderr, unless `quiet`. Throws Error(io) where there is neither.
[[nodiscard]] std::string scenario_file(const std::string& word, bool quiet);

[[nodiscard]] std::vector<InputFile> load_files(const std::vector<std::string>& names,
                                                const EvaluationOptions& options);

// What --set says; throws UsageError for a text that is no KEY=VALUE.
[[nodiscard]] std::vector<scenario::KeyValue> settings_of(const std::vector<std::string>& texts);

// Whether --keep holds layout.data; throws UsageError for keys that follow no other.
[[nodiscard]] bool keeps_data(const EvaluationOptions& options);

// The first error in one line, for reports that have no room for all; empty without one.
[[nodiscard]] std::string first_error(const Diagnostics& diagnostics);

// The text of a scenario with --set; nothing after errors in `diagnostics`.
[[nodiscard]] std::optional<std::string> with_settings(std::string text, const std::string& name,
                                                       const EvaluationOptions& options,
                                                       Diagnostics& diagnostics);

// Fills `evaluation`, or `problem` and `code`. `needs`: what the command wants; the options of the
// user are added. Throws Error(interrupted) after Ctrl-C.
void evaluate_file(InputFile& file, const EvaluationOptions& options,
                   evaluate::EvaluateOptions needs, const InterruptWatch& watch);

}  // namespace orrery::cli
