#pragma once

// How do size, times, copies and intervals of the saves get into the plan? Internal to run/.
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

// The distance of two saves of each tier; `plan.mtbf` and the tiers are known.
void plan_interval(const CheckpointSpec& spec, RunPlan& plan, Findings& findings);

}  // namespace orrery::run
