#pragma once

// Operations that one GPU of a pipeline device runs in a step, and how often.
//
//   passes of its layers, embedding and head, recomputation included; a pass of a layer runs once
//   per micro-batch (with two directions once per half of them)
//
// The order within a pass is that of the rank; passes are not in the order of the schedule. The
// optimizer is no pass and not among them. Used by `explain` (operation_account) and calibration,
// which measures exactly these shapes.

#include <cstdint>
#include <vector>

#include "sim/step/model/op.hpp"
#include "sim/step/simulate/step_input.hpp"

namespace orrery::step {

struct CountedPass {
  model::Pass pass;
  double count = 0.0;  // per step
};

// `device`: 0-based pipeline device of input.layout.
[[nodiscard]] std::vector<CountedPass> device_passes(const StepInput& input,
                                                     const cost::CostModel& costs,
                                                     std::int64_t device);

}  // namespace orrery::step
