#pragma once

// Fits the asymptotes, half length and ratios of this machine's fused attention.
//
//   the law of sim/cost/attention.hpp, fitted to log(time) of forward and backward together
//
// symbol         | meaning                                   | fitted when
// ---------------|-------------------------------------------|--------------------------------
// forward        | rate on long causal sequences             | there is a forward
// half_length    | s0, at which half of it is left           | always
// full_ratio     | s0 unmasked / causal                      | both were measured
// head_64, 256   | rate at head dimension 64 and 256 / 128   | there are points
// backward       | rate counted with 2.5 x forward FLOP      | there is a backward
// backward_ratio | s0 backward / forward                     | there is a backward
// (8 bit)        | rates alone, on top of the 16-bit ratios  | there is a 16-bit fit
//
// What is not fitted keeps the value of the base. Residual: each point by a fit without it. The
// points next to a case may correct the law as they do a line (line_fit.hpp).

#include <optional>
#include <vector>

#include "calibrate/profile/kernel_points.hpp"
#include "sim/hardware/calibration_profile.hpp"
#include "sim/hardware/gpu_profile.hpp"

namespace orrery::calibrate {

// Fits of all roles and precisions of attention in the evidence, with lines, trust and residuals.
// Sets `fitted` of the points that they hold. `gpu` supplies the memory, the SMs and the launch.
[[nodiscard]] std::vector<hardware::CalibrationFit> fit_attention(Evidence& evidence,
                                                                  const hardware::GpuProfile& gpu);

}  // namespace orrery::calibrate
