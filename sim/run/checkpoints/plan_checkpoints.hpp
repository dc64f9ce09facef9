#pragma once

// Resolves size, times, copies and intervals of the saves into the plan. Internal to run/.
//
// Survival of a copy in memory or on a disk of the nodes, by cause: a strike that hits nodes
// without taking them (a reboot) empties their memory but not their disks; one that takes nodes
// takes both. With `replicas` = m the copies are lost when a whole group of m nodes is. The storage
// keeps its copies whatever happens.

#include "sim/run/findings.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

// The size of a checkpoint, the stall and the durable time of a save to the storage. Before the
// failures are planned: the load of the storage follows from it.
void plan_saves(const CheckpointSpec& spec, RunPlan& plan, Findings& findings);

// Tiers, copies, survival and loads by cause, retention; `plan.causes` and the recovery are known.
void plan_tiers(const CheckpointSpec& spec, RunPlan& plan, Findings& findings);

// The distance of two saves of each tier, and how many the storage keeps; `plan.mtbf`, the tiers,
// the phases and the prices are known.
//
//   a save that is kept for good lies on the storage for half of the run on average and costs
//   p S W / 2; in time of the job that is p S W / (2 P), which `auto` adds to the stall of the
//   saves to the storage: C' = C + lasting * p S W / (2 P)
//
// symbol  | meaning                                                       | unit     | origin
// --------|---------------------------------------------------------------|----------|---------
// p       | price of storage                                              | $/(GB s) | prices
// S       | size of a checkpoint                                          | GB       | computed
// W       | training time of the run without losses                      | s        | computed
// P       | price of the job                                              | $/s      | prices
// lasting | share of the saves kept for good: 1 with `keep: all`,         | 1        | scenario
//         | 1 / n with `keep_every: n`, else 0                            |          |
//
// Without prices of storage and of the job nothing is added. The newest checkpoints are as many
// whatever their distance, so they do not enter.
void plan_interval(const CheckpointSpec& spec,
                   const TrainingSpec& training,
                   RunPlan& plan,
                   Findings& findings);

}  // namespace orrery::run
