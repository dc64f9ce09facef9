#pragma once

// Would the winner still win if the model's coefficients were a little off?
//
//   figure'(plan) = figure(plan) * step time with the moved coefficient / step time
//   another plan overtakes when figure'(winner) / figure'(other) - 1 > PlanSpec::tie
//
// coefficient                 | moved by its error, up and down
// ----------------------------|--------------------------------------------------------------------
// rate of matrix products     | gemm_efficiency of the stack, 16 and 8 bit
// rate of attention           | attention_efficiency
// memory-bound kernels        | memory_efficiency
// NVLink, network             | nvlink_efficiency, network_efficiency
// latency of communication    | collective_overhead, transfer_overhead
// cost of overlap             | communication_slowdown
// host time                   | kernel_gap, host_layer_time
//
// The error is the residual of the coefficient's fit where it has one, else kAssumedError.
// Finalists of the winner's ranking and the best estimates of its cluster are compared. What
// failures do is taken to scale with the step: the perturbations are small.

#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/plan/pool.hpp"

namespace orrery::plan {

inline constexpr double kAssumedError = 0.05;

[[nodiscard]] Stability check_stability(const std::vector<Finalist>& finalists,
                                        const std::vector<ClusterSearch>& clusters,
                                        const Workbench& bench,
                                        const PlanSpec& spec);

}  // namespace orrery::plan
