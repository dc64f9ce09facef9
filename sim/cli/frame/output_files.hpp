#pragma once

// Checks of output paths, before the work and again before writing.
//
// A file that the command reads is never its output, by whatever name (links, `..`, the name of a
// profile): the answer would replace the question. Nor is a profile of this program. A folder that
// is not there is found before hours of simulation.

#include <optional>
#include <string>
#include <string_view>

#include "sim/scenario/scenario.hpp"

namespace CLI {
class App;
}

namespace orrery::cli {

// Looks at what was parsed: outputs (-o, --junit, --markdown, --write-baseline, --fragment,
// --failures, --journal) against each other and against every other word that names a file. Throws
// UsageError, led by the name of the command, or Error(io) where nothing can be written.
void check_outputs(const CLI::App& command, std::string_view name);

// The same for the files that a scenario names, and for all profiles beside it: it may name any.
void check_not_read(const std::optional<std::string>& output, const scenario::Scenario& scenario);

}  // namespace orrery::cli
