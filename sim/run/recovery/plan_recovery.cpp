#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/run/checkpoints/checkpoint_rates.hpp"
#include "sim/run/planning.hpp"

namespace orrery::run {

namespace {

using Stages = std::array<Duration, kRecoveryStageCount>;
using Curves = std::array<GpuCurve, kRecoveryStageCount>;

constexpr std::size_t kDetect = index_of(RecoveryStage::detect);
constexpr std::size_t kCommunicatorInit = index_of(RecoveryStage::communicator_init);
constexpr std::size_t kLoad = index_of(RecoveryStage::load);
constexpr std::size_t kWarmUp = index_of(RecoveryStage::warm_up);

void check_curve(const GpuCurve& curve, Findings& findings) {
  constexpr std::string_view kKey = "recovery.communicators.points";
  for (std::size_t i = 0; i < curve.size(); ++i) {
    findings.require(
        is_positive(curve[i].gpus) && in_range(curve[i].time) && curve[i].time > Seconds{}, kKey,
        "GPUs and times must be positive");
    findings.require(i == 0 || curve[i].gpus > curve[i - 1].gpus, kKey,
                     fmt::format("{} GPUs after {}: the GPUs must rise", curve[i].gpus,
                                 i == 0 ? 0.0 : curve[i - 1].gpus));
  }
}

// Measured times by GPUs of the job's stages: own points, the named communicators, the preset's.
Curves curves_of(const RecoverySpec& spec, Findings& findings) {
  Curves curves;
  if (spec.preset != nullptr) {
    curves = spec.preset->curves;
  }
  if (spec.communicators != nullptr) {
    curves[kCommunicatorInit] = spec.communicators->curve;
  }
  if (!spec.communicator_points.empty()) {
    check_curve(spec.communicator_points, findings);
    curves[kCommunicatorInit] = spec.communicator_points;
  }
  for (std::size_t i = 0; i < kRecoveryStageCount; ++i) {
    if (spec.stages[i] || (i == kWarmUp && spec.slow_steps)) {
      curves[i].clear();
    }
  }
  return curves;
}

void check_recovery(const RecoverySpec& spec, Findings& findings) {
  check_stages(spec.stages, "recovery", findings);
  findings.require_time(spec.watchdog.value_or(Seconds{}), "recovery.watchdog");
  findings.require_time(spec.inspection.value_or(Seconds{}), "recovery.inspection");
  findings.require_time(spec.failed_restart, "recovery.failed_restart");
  findings.require(spec.restart_fails >= 0.0 && spec.restart_fails < 1.0, "recovery.restart_fails",
                   "must be at least 0 and below 1");
  findings.require(!spec.max_restarts || *spec.max_restarts >= 0, "recovery.max_restarts",
                   "must not be negative");
  if (spec.slow_steps) {
    findings.require(spec.slow_steps->steps >= 1 && spec.slow_steps->factor >= 1.0 &&
                         std::isfinite(spec.slow_steps->factor),
                     "recovery.slow_steps", "needs at least 1 step and a factor of at least 1");
    findings.require(!spec.stages[kWarmUp], "recovery.slow_steps",
                     "is a second warm-up beside recovery.warm_up", "one of the two");
  }
}

// How a failure with this symptom is noticed when its cause does not say.
Duration detection_of(const RecoverySpec& spec, Symptom symptom, const Duration& detect) {
  const bool is_hang = symptom == Symptom::hang;
  const Seconds period = spec.inspection.value_or(Seconds{});
  if (is_hang && spec.watchdog && (!spec.inspection || *spec.watchdog < period)) {
    return fixed(*spec.watchdog);
  }
  if (spec.inspection && (is_hang || !spec.stages[kDetect])) {
    return UniformLaw{Seconds{}, period};
  }
  return detect;
}

// One of many jobs that read at the same time.
bool restarts_many(const PlannedCause& cause) {
  return cause.scope == FailureScope::power_domain || cause.scope == FailureScope::storage;
}

bool load_is_computed(const RecoverySpec& spec, const PlannedCause& cause) {
  const RecoveryPreset* preset = spec.preset.get();
  return !cause.stated[kLoad] && !spec.stages[kLoad] &&
         (preset == nullptr || (!preset->stages[kLoad] && preset->curves[kLoad].empty()));
}

}  // namespace

Seconds value_at(const GpuCurve& curve, double gpus) {
  ORRERY_CHECK(!curve.empty(), "a curve without points has no value at {} GPUs", gpus);
  const auto above =
      std::ranges::find_if(curve, [&](const GpuPoint& point) { return point.gpus >= gpus; });
  if (above == curve.begin()) {
    return curve.front().time;
  }
  if (above == curve.end()) {
    return curve.back().time;
  }
  const GpuPoint& low = *(above - 1);
  const double share = std::log(gpus / low.gpus) / std::log(above->gpus / low.gpus);
  return low.time * std::pow(above->time / low.time, share);
}

void check_stages(const RecoveryStages& stages, std::string_view key, Findings& findings) {
  for (std::size_t i = 0; i < kRecoveryStageCount; ++i) {
    if (stages[i]) {
      findings.require_law(*stages[i], fmt::format("{}.{}", key, kRecoveryStageNames[i]));
    }
  }
}

std::array<Duration, kRecoveryStageCount> job_recovery(const RecoverySpec& spec,
                                                       const StepInput& step, Seconds load,
                                                       Findings& findings) {
  check_recovery(spec, findings);
  const RecoveryPreset* preset = spec.preset.get();
  const Curves curves = curves_of(spec, findings);
  Stages stages;
  stages[kLoad] = fixed(load);
  for (std::size_t i = 0; i < kRecoveryStageCount; ++i) {
    if (spec.stages[i]) {
      stages[i] = *spec.stages[i];
    } else if (!curves[i].empty() && findings.sound()) {
      stages[i] = fixed(value_at(curves[i], static_cast<double>(step.gpus)));
    } else if (preset != nullptr && preset->stages[i]) {
      stages[i] = *preset->stages[i];
    }
  }
  if (spec.slow_steps) {
    stages[kWarmUp] = fixed(static_cast<double>(spec.slow_steps->steps) *
                            ((spec.slow_steps->factor - 1.0) * to_seconds(step.step_time)));
  }
  return stages;
}

void plan_recovery(const RecoverySpec& spec, const CheckpointSpec& checkpoint,
                   const std::array<Duration, kRecoveryStageCount>& job, RunPlan& plan,
                   Findings& findings) {
  if (!findings.sound()) {
    return;
  }
  const Curves curves = curves_of(spec, findings);
  RecoveryPlan& recovery = plan.recovery;
  for (const PlannedCause& cause : plan.causes) {
    Stages stages = job;
    Curves by_gpus = curves;
    stages[kDetect] = detection_of(spec, cause.symptom, job[kDetect]);
    if (restarts_many(cause) && load_is_computed(spec, cause)) {
      stages[kLoad] =
          fixed(load_time(checkpoint, plan.step, checkpoint.storage.mass_restart_share));
    }
    for (std::size_t i = 0; i < kRecoveryStageCount; ++i) {
      if (cause.stated[i]) {
        stages[i] = *cause.stated[i];
        by_gpus[i].clear();
      }
    }
    recovery.stages.push_back(std::move(stages));
    recovery.curves.push_back(std::move(by_gpus));
  }
  recovery.gpus = plan.step.gpus;
  recovery.restart_fails = spec.restart_fails;
  recovery.failed_restart = bounded_time(spec.failed_restart);
  recovery.max_restarts = spec.max_restarts;
}

}  // namespace orrery::run
