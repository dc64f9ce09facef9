#pragma once

// The length of each stage of a recovery, for any cause and any size of the job.
//
//   stage of cause c on g GPUs: a draw of stages[c][s], times curve(g) / curve(GPUs of the plan)
//   curve(g): log-log interpolation between measured points, constant outside them
//
// symbol         | meaning                                                 | unit | origin
// ---------------|---------------------------------------------------------|------|---------
// stages         | law of a stage at the full size of the job              | s    | computed
// curve          | measured times of a stage by GPUs                       | s    | preset
// restart_fails  | a restart fails when its communicators are built        | 1    | scenario
// failed_restart | from there until it is given up and rescheduled         | ns   | scenario
// max_restarts   | restarts after which the run is given up, growth apart  | 1    | scenario

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/run/recovery/recovery_spec.hpp"
#include "sim/run/theory/duration.hpp"

namespace orrery::run {

struct RecoveryPlan {
  std::vector<std::array<Duration, kRecoveryStageCount>> stages;  // by cause; load: last tier
  std::vector<std::array<GpuCurve, kRecoveryStageCount>> curves;  // by cause; empty: any size
  std::int64_t gpus = 1;                                          // to which `stages` belong
  double restart_fails = 0.0;
  SimTime failed_restart;
  std::optional<std::int64_t> max_restarts;

  // Factor on a stage of `cause` when the job has `now` GPUs instead of all.
  [[nodiscard]] double scale(std::size_t cause, RecoveryStage stage, std::int64_t now) const {
    const GpuCurve& curve = curves[cause][index_of(stage)];
    if (curve.empty() || now == gpus) {
      return 1.0;
    }
    return value_at(curve, static_cast<double>(now)) / value_at(curve, static_cast<double>(gpus));
  }
};

}  // namespace orrery::run
