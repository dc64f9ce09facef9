#pragma once

// Options that several commands share, so that they have one name and one meaning everywhere.

#include <CLI/App.hpp>
#include <filesystem>
#include <optional>
#include <string>

#include "sim/cli/frame/evaluating.hpp"
#include "sim/cli/frame/output.hpp"

namespace orrery::cli {

// --trials, --seed, --threads, --profiles, --allow-foreign-profile, -q
void add_evaluation_options(CLI::App& command, EvaluationOptions& options);

// -o FILE
void add_output_option(CLI::App& command, std::optional<std::string>& file);

// --color auto|always|never; read it with colour_choice.
void add_colour_option(CLI::App& command, std::string& choice);

[[nodiscard]] ColourChoice colour_choice(const std::string& choice);

}  // namespace orrery::cli
