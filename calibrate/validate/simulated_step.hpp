#pragma once

// Time of a validation step by the whole simulator, as `orrery run` would predict it:
//
//   the same model on one GPU of the profile, with a stack that adds nothing (neutral_stack.hpp)
//
// Beside the sum of predicted kernels it shows what the simulator's own list of operations changes:
// it has a router, loss and optimizer by their bytes, and no cases of its own choosing.
//
// symbol      | meaning                                                        | unit | origin
// ------------|----------------------------------------------------------------|------|---------
// load_spread | standard deviation of the rows of an expert / their mean       | 1    | shape

#include <optional>

#include "calibrate/validate/step_shape.hpp"
#include "sim/base/units.hpp"
#include "sim/hardware/gpu_profile.hpp"

namespace orrery::calibrate {

// Nothing when the simulator refuses the shape: the GPU has no rate for its precision.
[[nodiscard]] std::optional<Seconds> simulated_time(const StepShape& shape,
                                                    const hardware::GpuProfile& gpu);

}  // namespace orrery::calibrate
