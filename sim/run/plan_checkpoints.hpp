#pragma once

// How do size, stall, durable time and interval of the saves get into the plan? Internal to run/.

#include "sim/run/findings.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

// The size of a checkpoint, the stall and the durable time of a save.
void plan_saves(const CheckpointSpec& spec, RunPlan& plan, Findings& findings);

// The distance of two saves; `plan.mtbf` and the times of a save are known.
void plan_interval(const CheckpointSpec& spec, RunPlan& plan, Findings& findings);

}  // namespace orrery::run
