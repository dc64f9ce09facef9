#pragma once

// Pareto fronts: plans that no other beats in two figures at once.
//
//   a point is on the front when no other is at most as large in both and smaller in one
//
// front                  | from                                             | when
// -----------------------|--------------------------------------------------|---------------------
// cost, finish_time      | the simulated pool                               | prices and a target
// gpus, step_time        | the simulated pool                               | several cluster sizes
// peak_memory, step_time | the best estimates of the winner's cluster       | always
//
// Any two of the figures can be asked for.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/plan/pool.hpp"
#include "sim/answer/plan/result/plan.hpp"
#include "sim/answer/plan/simulate.hpp"

namespace orrery::plan {

// Figures that may be an axis of a front.
inline constexpr std::array<std::string_view, 7> kFrontFigures = {
    "step_time", "finish_time", "cost", "cost_per_token", "energy", "gpus", "peak_memory"};

// Marks the points of the front, which are then sorted by x.
void mark_front(std::vector<FrontPoint>& points);

// Those that the question has an answer for; `asked`: names of kFrontFigures, "cost,finish_time".
[[nodiscard]] std::vector<Front> make_fronts(const SimulatedPool& simulated,
                                             const std::vector<ClusterSearch>& clusters,
                                             const Workbench& bench, const Proposal& winner,
                                             const std::vector<std::string>& asked);

// Those of the plan in which both figures vary by a thousandth; where there are none, peak memory
// against the step of what is ranked; the scenario as it stands among the points.
[[nodiscard]] std::vector<Front> fronts_of(const Plan& plan);

}  // namespace orrery::plan
