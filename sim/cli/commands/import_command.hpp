#pragma once

// `orrery import`: what do the configuration files of another stack say, as a scenario? One of the
// commands of commands.hpp.

#include "sim/cli/commands/commands.hpp"

namespace orrery::cli {

void add_import_command(CLI::App& app, Action& action);

}  // namespace orrery::cli
