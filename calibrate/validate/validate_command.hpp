#pragma once

// `orrery validate --hardware PROFILE.yaml`: checks a profile against training steps on this GPU.
//
//   orrery validate --hardware my-cluster.yaml             measures, compares, keeps the record
//   orrery validate --hardware my-cluster.yaml --quick     one shape, under a minute
//   orrery validate --hardware my-cluster.yaml --record my-cluster.validation.yaml
//                                                          compares again, without a GPU
//   ... --torch steps.json                                 beside calibrate/torch_step.py
//   ... --again second.yaml                                beside a second sweep
//
// What was measured goes to `my-cluster.validation.yaml`. Exit code 1 when a gate fails, 5 without
// a GPU. `orrery validate` starts it as `orrery-calibrate --validate PROFILE.yaml ...`.

#include <functional>
#include <memory>

#include "calibrate/validate/step_bench.hpp"
#include "sim/cli/frame/exit_code.hpp"

namespace orrery::calibrate {

using StepBenchFactory = std::function<std::unique_ptr<StepBench>(int device)>;

// True where the command line asks for it.
[[nodiscard]] bool asks_to_validate(int argc, const char* const* argv);

// Throws UsageError and Error as sim/cli/frame/program.hpp says.
[[nodiscard]] cli::ExitCode validate_command(int argc,
                                             const char* const* argv,
                                             const StepBenchFactory& make_bench);

}  // namespace orrery::calibrate
