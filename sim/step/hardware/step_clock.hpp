#pragma once

// The time of a kernel at the clock of a whole step, which is not that of the kernel alone.
//
//   time = median * clock / step_clock     products and attention
//   time = median                          all other kernels, whose memory has a clock of its own
//
// symbol     | meaning                                                        | unit | origin
// -----------|----------------------------------------------------------------|------|---------
// median     | of the sustained samples of a case, measured alone             | s    | measured
// clock      | of the multiprocessors while those were taken                  | MHz  | measured
// step_clock | of a step, whose other kernels draw less power than products   | MHz  | profile
//            | (calibrate/profile/kernel_points.hpp says how it is found)     |      |

#include <optional>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::hardware {

inline constexpr std::string_view kStepClock = "step_clock_mhz";  // among the derived figures

// Whether a kernel's time follows the clock of the multiprocessors, not that of the memory.
[[nodiscard]] bool follows_clock(kernels::Operation operation);

// `median` as it is where one of the two clocks is not known.
[[nodiscard]] Seconds at_step_clock(kernels::Operation operation, Seconds median,
                                    std::optional<double> clock, std::optional<double> step_clock);

}  // namespace orrery::hardware
