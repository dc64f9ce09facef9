#pragma once

// Resolves the keys of `training` into phases and rework. Internal to run/; see phase_plan.hpp.

#include "sim/run/findings.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

// Fills plan.phases from the specs and plan.step.phases (one for one); a single phase without them.
void plan_phases(const TrainingSpec& spec, RunPlan& plan, Findings& findings);

// Fills plan.rework; the phases must be planned.
void plan_rework(const TrainingSpec& spec, RunPlan& plan, Findings& findings);

}  // namespace orrery::run
