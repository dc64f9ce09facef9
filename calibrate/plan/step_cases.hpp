#pragma once

// Kernels and shapes of a scenario's training step: the cases that a calibration for this scenario
// measures first, since an exact hit needs no fit.
//
//   share of a case = FLOP of its calls / FLOP of all cases, over the GPUs of all pipeline devices
//
// symbol    | meaning                                                 | unit | origin
// ----------|---------------------------------------------------------|------|----------------
// calls     | launches per step, summed over the pipeline devices     | 1    | step operations
// share     | of the FLOP of all products and attention               | 1    | computed
//
// Matrix products, grouped products and fused attention become cases. Not among them: memory-bound
// operations (their time follows from bytes, a fit serves them), the batched products of unfused
// attention, attention inside a window, and products in which ranks hold different rows.

#include <string>
#include <vector>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/kernels/kernel_case.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::calibrate {

struct StepCase {
  kernels::KernelCase kernel;
  double calls = 0.0;
  double share = 0.0;
};

// The largest share first.
[[nodiscard]] std::vector<StepCase> step_cases(const step::StepInput& input,
                                               const cost::CostModel& costs);

}  // namespace orrery::calibrate
