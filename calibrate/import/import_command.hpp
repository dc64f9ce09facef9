#pragma once

// `orrery import`: converts the benchmark logs of a cluster into a form that a scenario can use.

#include "sim/cli/frame/exit_code.hpp"

namespace orrery::calibration_import {

// Throws cli::UsageError for arguments that make no sense, Error for files.
[[nodiscard]] cli::ExitCode import_command(int argc, const char* const* argv);

}  // namespace orrery::calibration_import
