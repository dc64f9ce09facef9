#pragma once

// Resolves what goes wrong without a crash: slowdowns, corruption and spikes. Internal to run/.

#include "sim/run/failures/cause_planner.hpp"

namespace orrery::run {

// Evictions of sound hosts are failures; they join the other causes before rates are summed up.
void plan_false_alarms(const FailureSpec& spec, CausePlanner& planner);

// Fills `slowdowns`, `silent`, `spikes` and `step_factor`, each with a cause of its own.
void plan_silent(const FailureSpec& spec, CausePlanner& planner, RunPlan& plan, Findings& findings);

}  // namespace orrery::run
