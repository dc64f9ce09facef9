#pragma once

// `orrery fit`: fits the coefficients of a software profile to measured steps.

#include "sim/cli/frame/exit_code.hpp"

namespace orrery::fit {

// Throws cli::UsageError for arguments that make no sense, Error for files.
[[nodiscard]] cli::ExitCode fit_command(int argc, const char* const* argv);

}  // namespace orrery::fit
