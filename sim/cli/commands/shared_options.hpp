#pragma once

// Options that several commands share, so that they have one name and one meaning everywhere.

#include <CLI/App.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/frame/evaluating.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"

namespace orrery::cli {

// --trials, --seed, --threads, --profiles, --allow-foreign-profile, -q
void add_evaluation_options(CLI::App& command, EvaluationOptions& options);

// -o FILE
void add_output_option(CLI::App& command, std::optional<std::string>& file);

// --profiles DIR, repeatable
void add_profiles_option(CLI::App& command, std::vector<std::filesystem::path>& folders);

// --color auto|always|never; read it with page_style.
void add_colour_option(CLI::App& command, std::string& choice);

// Of a page for stdout, or for the file of -o.
[[nodiscard]] report::TextStyle page_style(const std::string& colour,
                                           const std::optional<std::string>& output);

// What the command does with its options when it was chosen.
template <typename Options, typename Run>
void act_on(CLI::App& command, Action& action, const std::shared_ptr<Options>& options, Run run) {
  command.callback([options, run, &action] {
    action = [options, run](InterruptWatch& watch) { return run(*options, watch); };
  });
}

}  // namespace orrery::cli
