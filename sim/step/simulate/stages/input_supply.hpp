#pragma once

// Time of the input supply, and how long the step stalls for it:
//
//   supply = max(T b / read_bandwidth, T / tokens_per_second)
//   stall  = prefetch: max(0, supply - step); else supply
//
// symbol | meaning                                              | unit   | origin
// -------|------------------------------------------------------|--------|---------
// T      | tokens of one step / nodes: every node reads its own | tokens | layout
// b      | bytes_per_token                                      | byte   | scenario
// step   | the step without the stall                           | s      | computed
//
// The stall is a wait for the next batch at the end of the step, on all GPUs at once.

#include "sim/step/simulate/step_input.hpp"

namespace orrery::step {

[[nodiscard]] Seconds supply_time(const StepInput& input);

[[nodiscard]] Seconds data_stall(const StepInput& input, Seconds step);

}  // namespace orrery::step
