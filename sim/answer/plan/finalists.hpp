#pragma once

// Finalists of a plan: the best ones, each evaluated as `orrery run` does, beside the winner.
//
// A difference is a tie when its 95 % interval, trial by trial, holds zero, or when it is below
// PlanSpec::tie of the winner's figure: the step model does not resolve smaller differences.

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/answer/plan/make_plan.hpp"
#include "sim/answer/plan/simulate.hpp"
#include "sim/answer/plan/space/workbench.hpp"
#include "sim/answer/sweep/point_evaluator.hpp"

namespace orrery::plan {

// What the sentences about a scenario need.
[[nodiscard]] Facts facts_of(const scenario::Scenario& scenario,
                             const report::Evaluation& evaluation);

// The plans `chosen` of the pool, best first. Evaluations are by `evaluator`; after a stop request
// (PlanQuestion::stop) only the step is evaluated, and the figures are those of the pool.
[[nodiscard]] std::vector<Finalist> make_finalists(const std::vector<std::size_t>& chosen,
                                                   const SimulatedPool& simulated,
                                                   const PlanQuestion& question,
                                                   sweep::PointEvaluator& evaluator);

// One plan outside the ranking beside the winner; nothing when it cannot be evaluated.
[[nodiscard]] std::optional<Finalist> compare_with(const Finalist& winner, std::size_t point,
                                                   const SimulatedPool& simulated,
                                                   const PlanQuestion& question,
                                                   sweep::PointEvaluator& evaluator);

}  // namespace orrery::plan
