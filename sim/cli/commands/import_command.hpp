#pragma once

// `orrery import`: turns the configuration files of another stack into a scenario. One of the
// commands of commands.hpp.

#include "sim/cli/commands/commands.hpp"

namespace orrery::cli {

void add_import_command(CLI::App& app, Action& action);

}  // namespace orrery::cli
