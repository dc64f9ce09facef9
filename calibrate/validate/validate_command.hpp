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
#include <stop_token>

#include "calibrate/validate/validation_record.hpp"
#include "sim/cli/frame/exit_code.hpp"

namespace orrery::calibrate {

using StepBenchFactory = std::function<std::unique_ptr<StepBench>(int device)>;

// True where the command line asks for it.
[[nodiscard]] bool asks_to_validate(int argc, const char* const* argv);

// Throws UsageError and Error as sim/cli/frame/program.hpp says.
[[nodiscard]] cli::ExitCode validate_command(int argc, const char* const* argv,
                                             const StepBenchFactory& make_bench);

// Measures a validation: small steps against double precision, then every held-out step as a whole
// and each of its kernels alone, in the sustained regime.
//
//   check the small steps; soak; time a copy to the host; then for every shape its step, and those
//   of its kernels that no earlier shape has
//
// The record is kept after each of these shapes: a validation that is cut has the shapes before.
// Where the gradients of a small step are wrong, steps of its kind (precision, dense or mixture)
// are not timed: times of wrong results mean nothing. What the library does not offer and what
// fails is recorded with its status; a GPU that stops answering ends the validation. A step and its
// kernels follow each other without a pause, so that both run at the clock that the GPU sustains.

struct ValidationOptions {
  std::vector<StepShape> shapes;
  StepTimingRules timing;
  Seconds soak = seconds(10.0);
  std::stop_token stop = {};
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
  std::function<void(const ValidationRecord& so_far)> keep = {};  // after every shape
};

// After a stop request: what there is.
[[nodiscard]] ValidationRecord run_validation(StepBench& bench, const ValidationOptions& options);

// The held-out shapes, or of those in a hurry the first dense ones of two layers.
[[nodiscard]] ValidationOptions validation_options(bool quick);

}  // namespace orrery::calibrate
