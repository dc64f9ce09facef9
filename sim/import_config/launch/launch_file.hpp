#pragma once

// A scenario as the command line of Megatron-LM: the way back from import_config.hpp.
//
// The text is imported again, and every key that the scenario states or its recipes set must come
// back with its value: what Megatron-LM has no argument for is an error at that key, so that no
// setting is lost on the way.

#include <optional>
#include <string>

#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::import_config {

// A launch script for torchrun, with the data and the checkpoints left to variables of the shell.
// Nothing after errors.
[[nodiscard]] std::optional<std::string> megatron_arguments(const scenario::Scenario& scenario,
                                                            Diagnostics& diagnostics);

}  // namespace orrery::import_config
