#pragma once

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

#include <functional>
#include <stop_token>

#include "calibrate/validate/step_bench.hpp"
#include "calibrate/validate/validation_record.hpp"

namespace orrery::calibrate {

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
