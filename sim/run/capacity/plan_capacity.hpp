#pragma once

// Resolves the stated capacity into whole nodes, and checks that it makes sense for this job.
// Internal to run/.
//
// symbol | meaning                                            | unit | origin
// -------|----------------------------------------------------|------|---------
// spec   | capacity as the scenario states it                 | -    | scenario
// plan   | step, phases and failures are in it already        | -    | resolve_run

#include "sim/run/findings.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

// Fills plan.capacity. Adds the cause "spot preemption" when nodes are on spot. `failures`: those
// of the spec with what their preset says, such as the length of repairs.
void plan_capacity(const RunSpec& spec,
                   const FailureSpec& failures,
                   RunPlan& plan,
                   Findings& findings);

// How many nodes the first and the largest phase have; after plan_phases.
void fit_capacity_to_phases(RunPlan& plan);

}  // namespace orrery::run
