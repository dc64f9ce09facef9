#pragma once

// The mean number of nodes in repair, and the spares that would do.
//
//   rate = sum over causes of share / mtbf * nodes taken, of nodes that are not on spot
//   load = nodes_in_repair(rate, mean repair)    (theory.hpp)
//
// symbol | meaning                                              | unit | origin
// -------|------------------------------------------------------|------|-------
// share  | of a cause among the failures of the job             | 1    | plan
// mtbf   | mean time between failures of the job                | s    | plan
// repair | its stages, without waiting for a crew               | s    | plan
//
// A job with fewer spares than the mean waits for repairs for most of its time, unless it is
// elastic. Spot nodes that fail are handed back instead of being repaired.

#include "sim/run/run_plan.hpp"
#include "sim/run/theory/theory.hpp"

namespace orrery::run {

[[nodiscard]] RepairLoad repair_load(const RunPlan& plan);

// From taking a node out until it can be used again, on average.
[[nodiscard]] Seconds mean_repair(const RunPlan& plan);

}  // namespace orrery::run
