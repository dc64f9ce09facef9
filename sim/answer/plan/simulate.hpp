#pragma once

// Full simulation of every plan of the pool, over all trials and on all processes that help.
//
// A plan is a point of a sweep: threads and processes share the points, a journal keeps those that
// are done, and all of them draw the same random numbers. A plan is valid when it fits with the
// headroom that is asked for and keeps deadline and budget in 9 of 10 cases, the error of the step
// and the luck of the run together (report/metric_band.hpp).
//
//   p(finish_time <= deadline) >= 0.9,  p(cost <= budget) >= 0.9,  headroom >= memory_headroom

#include <memory>
#include <optional>
#include <vector>

#include "sim/answer/plan/make_plan.hpp"
#include "sim/answer/plan/pool.hpp"
#include "sim/answer/sweep/point_evaluator.hpp"
#include "sim/answer/sweep/run_sweep.hpp"
#include "sim/answer/sweep/sweep.hpp"

namespace orrery::plan {

inline constexpr double kKeptShare = 0.9;

// The points and the figures of each.
[[nodiscard]] sweep::Sweep sweep_of(const Pool& pool, const PlanQuestion& question);

struct SimulatedPool {
  std::vector<PoolPoint> points;  // of the pool, in its order; those not done have a problem
  std::vector<bool> done;
  std::int64_t count = 0;  // done
  bool complete = true;
};

// By the team, which calls together. The objective step_time is that of the scenario's batch: where
// batches are searched, step time x batch of the scenario / batch.
[[nodiscard]] SimulatedPool simulate(const Pool& pool, const sweep::Sweep& points,
                                     const PlanQuestion& question, const Workbench& bench,
                                     sweep::Team& team);

// Where the published layout of the pool stands: itself, with its own switches, or the same layout
// as the search found it where that is no worse.
[[nodiscard]] std::size_t stands_for_published(const SimulatedPool& simulated, const Pool& pool);

// Points that may win, best first: by objective, then step time, then their place in the pool. Of a
// search that was cut short the scenario as it stands may be the best; a whole search has found it.
[[nodiscard]] std::vector<std::size_t> ranking(const SimulatedPool& simulated, const Pool& pool,
                                               Objective objective, bool cut_short);

}  // namespace orrery::plan
