#pragma once

// How do the stages of a recovery get into the plan? Stated, else from the preset, else (load)
// computed, else none. Internal to run/.

#include <array>
#include <string_view>

#include "sim/run/findings.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

void check_stages(const RecoveryStages& stages, std::string_view key, Findings& findings);

// The job's stages, for causes that do not state their own.
[[nodiscard]] std::array<Duration, kRecoveryStageCount> job_recovery(const RecoverySpec& spec,
                                                                     Seconds load,
                                                                     Findings& findings);

}  // namespace orrery::run
