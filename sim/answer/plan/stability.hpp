#pragma once

// Stability of the ranking: whether the winner still wins when the predictions are a little off.
//
// Two checks. The first asks of every other plan of the ranking whether it is behind by more than
// predictions of such differences err, as validated on measured pairs (layout_errors.hpp):
//
//   resolved = figure(other) / figure(winner) - 1 > error of the features in which they differ
//
// And of the coefficients of the stack (hardware::StackKnob), one at a time, each moved by its
// error up and down:
//
//   figure'(plan) = figure(plan) * step time with the moved coefficient / step time
//   another plan overtakes when figure'(winner) / figure'(other) - 1 > PlanSpec::tie
//
// Finalists of the winner's ranking and the best estimates of its cluster are
// compared. What failures do is taken to scale with the step: the perturbations are small.

#include <optional>
#include <stop_token>
#include <vector>

#include "sim/answer/plan/layout_errors.hpp"
#include "sim/answer/plan/pool.hpp"
#include "sim/answer/plan/result/plan.hpp"

namespace orrery::plan {

// How far one plan is behind another and how well that is predicted, each on the bench that it is
// a change of; its rank is left open. Nothing where they differ in the run alone, which is not
// predicted by the step, or where more GPUs are what it is behind by.
[[nodiscard]] std::optional<Rival> rival_of(const Finalist& other, const Workbench& of_other,
                                            const Finalist& winner, const Workbench& of_winner,
                                            const LayoutErrors& errors);

// Throws Error(interrupted).
[[nodiscard]] Stability check_stability(const std::vector<Finalist>& finalists,
                                        const std::vector<ClusterSearch>& clusters,
                                        const Workbench& bench, const PlanSpec& spec,
                                        const std::optional<LayoutErrors>& errors,
                                        const std::stop_token& stop);

}  // namespace orrery::plan
