#pragma once

// Selects the samples of a calibration that are evidence for a fit, and computes the work of each.
//
// left out                        | why
// --------------------------------|-------------------------------------------------------------
// not supported                   | there is no time
// burst                           | training runs at the sustained clock
// under a condition               | not what a call takes by itself (sample.hpp)
// functional                      | shows that it works, not how fast
// error above 1                   | the result was wrong
// repeats of an anchor            | they monitor the clock; one shape must not count 40 times
// drifted                         | the clock moved around it, twice: the same command measures it
//                                 | again (SampleJournal::has)
// other implementations           | one fit is for one library; the vendor's goes before ours
//
// symbol | meaning                                                         | unit | origin
// -------|-----------------------------------------------------------------|------|----------------
// F      | of products effective_work of sim/step/cost/gemm.hpp, of attention   | FLOP | computed
//        | as the step counts them (sim/step/model)                             |      |
// B      | bytes that cross the memory interface: of products as in        | byte | computed
//        | sim/step/cost/gemm.hpp, of all others as in sim/step/kernels              |      |
// time   | median of the times; of products and attention at the clock of  | s    | measured
//        | a step (below; sim/step/hardware/calibration_profile.hpp)                      |      |

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/samples/sample.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/kernel_tables.hpp"

namespace orrery::calibrate {

struct KernelEvidence {
  hardware::KernelPoint point;  // fitted: not set
  Flop work;
  Bytes moved;
};

struct EvidenceKey {
  kernels::Operation operation = kernels::Operation::gemm;
  kernels::Precision precision = kernels::Precision::bf16;
  kernels::Role role = kernels::Role::none;

  friend auto operator<=>(const EvidenceKey& a, const EvidenceKey& b) = default;
};

struct EvidenceSeries {
  std::string implementation;
  std::vector<KernelEvidence> points;  // by case
};

using Evidence = std::map<EvidenceKey, EvidenceSeries>;

// FLOP and bytes as the fits count them. `gpu` supplies the tiles' SMs and the depth of their
// filling.
[[nodiscard]] Flop fit_work(const kernels::KernelCase& kernel, const hardware::GpuProfile& gpu);
[[nodiscard]] Bytes fit_bytes(const kernels::KernelCase& kernel);

// A right time of one point, in whatever regime and condition.
[[nodiscard]] bool is_sound(const Sample& sample);

// A sound sample of the table above: sustained, and measured alone. The one rule for fits, tables
// of collectives and summaries.
[[nodiscard]] bool is_evidence(const Sample& sample);

// The name of a sample in a profile: s and its place in the journal.
[[nodiscard]] std::string sample_id(std::size_t index);

// Without collectives, which make tables of their own. `step_clock` in MHz; absent: the times stand
// as they were measured.
[[nodiscard]] Evidence evidence_of(const std::vector<Sample>& samples,
                                   const hardware::GpuProfile& gpu,
                                   std::optional<double> step_clock = {});

// Figures of a machine that follow from several samples together: the `derived` part of a profile.
//
// figure                        | from
// ------------------------------|-----------------------------------------------------------------
// copy_gbps                     | fastest device copy, bytes read and written
// d2h_, h2d_pinned_gbps         | fastest copies between the device and pinned host memory
// burst_over_sustained          | median over the cases that were measured in both regimes
// graph_launch_us, graph_node_us| a and b of  T(n) = a + b n,  T the replay of a graph of n tiny
//                               | kernels: least squares over the measured n, weighed by 1 / T^2
// stream_launch_us              | the same tiny kernel, one by one without a graph
// step_clock_mhz                | clock of a whole step: below
// d2h_, copy_gemm_slowdown      | product beside a copy to the host, or on the device / alone
// gemm_slowdown_per_sm_removed  | s of  t(x) / t(0) = 1 + s x,  x SMs that a kernel spins on:
//                               | least squares
// gemm_slowdown_per_sm_streaming| the same, x SMs that a kernel copies memory on, as the channels
//                               | of a collective do
// gemm_slowdown_under_collective| product beside a collective between GPUs / alone; the largest
//                               | over the groups that were measured
//
// symbol | meaning                                                         | unit | origin
// -------|-----------------------------------------------------------------|------|---------
// T, t   | medians of the times under a condition (sample.hpp)          | us   | measured
// t(0)   | the same call alone, just before                                | us   | measured
//
// A figure that the samples do not hold, or that noise made meaningless (a gain where there can
// only be a loss), is left out. What the simulator does with each: docs/calibration.md.

using DerivedFigures = std::vector<std::pair<std::string_view, double>>;

// In the order of hardware::derived_names().
[[nodiscard]] DerivedFigures derived_figures(const std::vector<Sample>& samples);

// The clock of a whole step. Products alone hold a GPU at its power limit; in a step the
// memory-bound kernels between them draw less, and the clock rises until the mean power of the step
// is the limit again. Times of products and attention are stated at that clock.
//
//   find f:  sum_c t_c P_c (f / f_c)^2 + sum_m t_m P_m = limit (sum_c t_c f_c / f + sum_m t_m)
//
// symbol   | meaning                                                        | unit | origin
// ---------|----------------------------------------------------------------|------|--------------
// f        | clock of the step, at most the highest that was sustained      | MHz  | computed
// c, m     | kernels that follow the clock (products, attention); the rest  | -    | hardware
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

// One kind of kernel in a step.
struct MixedKernel {
  double time = 0.0;   // s
  double power = 0.0;  // W
  double clock = 0.0;  // MHz
  bool clocked = false;
};

// The root of the balance above, at most `highest`; nothing without a clocked kernel.
[[nodiscard]] std::optional<double> balanced_clock(std::span<const MixedKernel> mix, double limit,
                                                   double highest);

// Nothing where the samples lack clock or power, or the power limit is not known. `calls`: every
// call of the step; kinds that were not measured are left out. `gpu`: the base.
[[nodiscard]] std::optional<double> step_clock(const std::vector<Sample>& samples,
                                               std::optional<double> power_limit,
                                               std::span<const kernels::KernelCase> calls,
                                               const hardware::GpuProfile& gpu);

}  // namespace orrery::calibrate
