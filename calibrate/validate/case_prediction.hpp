#pragma once

// Predicted time of one call: by the profile, and by three rules of thumb that a profile has to
// beat.
//
// rule     | time
// ---------|--------------------------------------------------------------------------------------
// profile  | sim/cost/measured_kernels.hpp: exact hit, interpolation, flagged extrapolation
// roofline | max(F / peak, B / bandwidth) of the datasheet
// mfu      | F / (0.45 peak) of the type that the linear layers multiply in; the rest takes no time
// burst    | F / burst rate; calls without FLOP: B / (bandwidth x share that streams get)
//
// symbol | meaning                                                        | unit | origin
// -------|----------------------------------------------------------------|------|----------------
// F, B   | of the call, sim/kernels                                       |      | computed
// burst  | rate before power limits the clock; where the profile has none | FLOP/s | profile
//        | the sustained one                                              |      |

#include <optional>

#include "sim/cost/measured_kernels.hpp"
#include "sim/hardware/gpu_profile.hpp"
#include "sim/kernels/kernel_case.hpp"

namespace orrery::calibrate {

inline constexpr double kFixedMfu = 0.45;

// Nothing where the profile has no kernels of the kind.
[[nodiscard]] std::optional<cost::KernelPrediction> predict_case(const kernels::KernelCase& kernel,
                                                                 const hardware::GpuProfile& gpu);

[[nodiscard]] Seconds roofline_time(const kernels::KernelCase& kernel,
                                    const hardware::GpuProfile& gpu);
[[nodiscard]] Seconds burst_time(const kernels::KernelCase& kernel,
                                 const hardware::GpuProfile& gpu);
[[nodiscard]] Seconds fixed_mfu_time(Flop work,
                                     kernels::Precision precision,
                                     const hardware::GpuProfile& gpu);

}  // namespace orrery::calibrate
