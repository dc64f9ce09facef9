#include "sim/run/plan_recovery.hpp"

#include <fmt/core.h>

#include <string>

namespace orrery::run {

void check_stages(const RecoveryStages& stages, std::string_view key, Findings& findings) {
  for (std::size_t i = 0; i < kRecoveryStageCount; ++i) {
    if (stages[i]) {
      const std::optional<std::string> problem = problem_of(*stages[i]);
      findings.require(
          !problem, fmt::format("{}.{}", key, kRecoveryStageNames[i]), problem.value_or(""));
    }
  }
}

// The job's stages: stated, else from the preset, else (load) computed, else none.
std::array<Duration, kRecoveryStageCount> job_recovery(const RecoverySpec& spec,
                                                       Seconds load,
                                                       Findings& findings) {
  const RecoveryPreset* preset = nullptr;
  if (!spec.preset.empty()) {
    preset = find_recovery_preset(spec.preset);
    findings.require(preset != nullptr,
                     "recovery.preset",
                     fmt::format("no preset named {}", spec.preset),
                     names_of(recovery_presets()));
  }
  check_stages(spec.stages, "recovery", findings);
  std::array<Duration, kRecoveryStageCount> stages;
  stages[index_of(RecoveryStage::load)] = fixed(load);
  for (std::size_t i = 0; i < kRecoveryStageCount; ++i) {
    if (spec.stages[i]) {
      stages[i] = *spec.stages[i];
    } else if (preset != nullptr && preset->stages[i]) {
      stages[i] = *preset->stages[i];
    }
  }
  return stages;
}

}  // namespace orrery::run
