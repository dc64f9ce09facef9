#pragma once

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
// step_clock_mhz                | clock of a whole step: step_clock.hpp
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
// T, t   | medians of the times under a condition (condition.hpp)          | us   | measured
// t(0)   | the same call alone, just before                                | us   | measured
//
// A figure that the samples do not hold, or that noise made meaningless (a gain where there can
// only be a loss), is left out. What the simulator does with each: docs/calibration.md.

#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/samples/sample.hpp"

namespace orrery::calibrate {

using DerivedFigures = std::vector<std::pair<std::string_view, double>>;

// In the order of hardware::derived_names().
[[nodiscard]] DerivedFigures derived_figures(const std::vector<Sample>& samples);

}  // namespace orrery::calibrate
