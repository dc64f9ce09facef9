#pragma once

// Commands that are programs of their own, because they need a library that the simulator does not.
//
// command   | program          | library
// ----------|------------------|---------------------------
// calibrate | orrery-calibrate | Eigen 3; CUDA where there is a toolkit
// fit       | orrery-fit       | Eigen 3
// gui       | orrery-gui       | Qt 6, QCustomPlot
// import    | orrery-import    | none beyond the simulator's own; logs only (start_log_import)
// report    | orrery-gui       | the same; becomes `orrery-gui --report ...`
//
// As git does: `orrery fit ...` becomes `orrery-fit ...`, found beside this program, and
// `orrery validate --hardware PROFILE ...` becomes `orrery-calibrate --validate PROFILE ...`.

#include <span>
#include <string>
#include <string_view>

namespace orrery::cli {

struct ExternalCommand {
  std::string_view name;
  std::string_view summary;
  std::string_view needs;
  std::string_view program = {};  // where it is not orrery-<name>
};

[[nodiscard]] std::span<const ExternalCommand> external_commands();

// "orrery-fit"
[[nodiscard]] std::string program_name(const ExternalCommand& command);

// When the first word is an external command, becomes its program and does not return. Throws
// Error(io) when it is not there or cannot be started.
void start_external_command(int argc, const char* const* argv);

// `orrery import` of logs becomes orrery-import: with --format nccl-tests or nvbandwidth, or when
// no file is a configuration of a training stack, which the simulator reads itself.
void start_log_import(int argc, const char* const* argv);

// Under mpirun with several processes, `orrery sweep` and `orrery plan` become `orrery-mpi`, the
// only program that needs libmpi, and does not return. Throws Error(io) as above.
void start_mpi_program(int argc, const char* const* argv);

}  // namespace orrery::cli
