#pragma once

// Resolves the stages of a recovery into the plan: stated by the cause, else by the job, else from
// the preset, else (load) computed, else none. Internal to run/.
//
// A crash is noticed by `detect`. A hang is noticed when the watchdog runs out, or by the next
// inspection when their period is not longer than that; an inspection finds crashes too, unless
// `detect` is stated.

#include <array>
#include <string_view>

#include "sim/run/findings.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

void check_stages(const RecoveryStages& stages, std::string_view key, Findings& findings);

// The job's stages, for causes that do not state their own. `load`: from the storage.
[[nodiscard]] std::array<Duration, kRecoveryStageCount> job_recovery(const RecoverySpec& spec,
                                                                     const StepInput& step,
                                                                     Seconds load,
                                                                     Findings& findings);

// Fills `plan.recovery` for all of `plan.causes`; `job`: see job_recovery.
void plan_recovery(const RecoverySpec& recovery,
                   const CheckpointSpec& checkpoint,
                   const std::array<Duration, kRecoveryStageCount>& job,
                   RunPlan& plan,
                   Findings& findings);

}  // namespace orrery::run
