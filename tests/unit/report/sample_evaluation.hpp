#pragma once

// An evaluation built by hand, without any stage: 8 GPUs, two pipeline stages, four trials. Round
// numbers, so that every printed figure can be checked by eye.

#include "sim/answer/report/evaluation.hpp"

namespace orrery::report::testing {

// The step part alone: what a scenario without `training:` gives.
[[nodiscard]] Evaluation sample_step_evaluation();

// With run, price, levers, expectations of all three verdicts and a warning.
[[nodiscard]] Evaluation sample_evaluation();

}  // namespace orrery::report::testing
