#pragma once

// Where the published layout of a model stands beside the plan that was found.
//
//   rank = 1 + valid plans of the pool whose figure is lower
//
// It is compared with its own switches. Whether it wins is for the search to say, which has it
// among its candidates; here is why it does not, or that it does.

#include <optional>
#include <vector>

#include "sim/plan/layout_errors.hpp"
#include "sim/plan/make_plan.hpp"
#include "sim/plan/search/pool.hpp"
#include "sim/plan/simulate.hpp"
#include "sim/sweep/point_evaluator.hpp"

namespace orrery::plan {

// What there is to compare with.
struct Ranking {
  const PlanQuestion& question;
  const Workbench& stated;  // without switches
  const Pool& pool;
  const SimulatedPool& simulated;
  const std::vector<std::size_t>& order;  // points of the pool that may win, best first
};

// Nothing where no layout is published, or where a stop left it out.
[[nodiscard]] std::optional<Published> place_published(const Ranking& ranking,
                                                       const Finalist& winner,
                                                       sweep::PointEvaluator& evaluator);

// Of the predicted difference between it and the winner.
[[nodiscard]] double error_between(const Finalist& winner,
                                   const Published& published,
                                   const Workbench& stated,
                                   const LayoutErrors& errors);

}  // namespace orrery::plan
