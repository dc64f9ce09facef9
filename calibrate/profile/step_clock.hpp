#pragma once

// The clock of a whole step. Products alone hold a GPU at its power limit; in a step the
// memory-bound kernels between them draw less, and the clock rises until the mean power of the step
// is the limit again. Times of products and attention are stated at that clock.
//
//   find f:  sum_c t_c P_c (f / f_c)^2 + sum_m t_m P_m = limit (sum_c t_c f_c / f + sum_m t_m)
//
// symbol   | meaning                                                        | unit | origin
// ---------|----------------------------------------------------------------|------|--------------
// f        | clock of the step, at most the highest that was sustained      | MHz  | computed
// c, m     | kernels that follow the clock (products, attention); the rest  | -    | sim/hardware
// t        | time of a kernel's calls in the step, alone, at its own clock  | s    | base profile
// P_c, P_m | power while a kernel of the kind ran alone: median of samples  | W    | measured
// f_c      | clock while it ran alone: median of samples                    | MHz  | measured
// limit    | power limit of the board                                       | W    | NVML
//
// The power of a clocked kernel scales with f^3 (f V^2, with V linear in f), its time with 1 / f.
// The power that a memory-bound kernel draws is taken not to change with the clock. Which calls
// make a step, the caller says; the rates are those of the base profile: they only set shares. What
// this leaves out, the validation shows: it prints this clock beside that of each step. Source of f
// V^2: N. Weste, D. Harris, CMOS VLSI Design, 4th edition, section 5.2.

#include <optional>
#include <span>
#include <vector>

#include "calibrate/samples/sample.hpp"
#include "sim/hardware/gpu_profile.hpp"

namespace orrery::calibrate {

// One kind of kernel in a step.
struct MixedKernel {
  double time = 0.0;   // s
  double power = 0.0;  // W
  double clock = 0.0;  // MHz
  bool clocked = false;
};

// The root of the balance above, at most `highest`; nothing without a clocked kernel.
[[nodiscard]] std::optional<double> balanced_clock(std::span<const MixedKernel> mix,
                                                   double limit,
                                                   double highest);

// Nothing where the samples lack clock or power, or the power limit is not known. `calls`: every
// call of the step; kinds that were not measured are left out. `gpu`: the base.
[[nodiscard]] std::optional<double> step_clock(const std::vector<Sample>& samples,
                                               std::optional<double> power_limit,
                                               std::span<const kernels::KernelCase> calls,
                                               const hardware::GpuProfile& gpu);

}  // namespace orrery::calibrate
