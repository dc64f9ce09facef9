#include "sim/run/failures/plan_silent.hpp"

#include <fmt/core.h>

#include <cmath>
#include <string>

#include "sim/run/theory/duration.hpp"

namespace orrery::run {

namespace {

void check_law(const Duration& law, std::string_view key, Findings& findings) {
  const std::optional<std::string> problem = problem_of(law);
  findings.require(!problem, key, problem.value_or(""));
}

bool is_factor(double value) {
  return std::isfinite(value) && value >= 1.0;
}

// Gives the cause just added its effect.
void set_effect(RunPlan& plan, StrikeEffect effect, std::size_t index) {
  plan.causes.back().effect = effect;
  plan.causes.back().effect_index = static_cast<std::int32_t>(index);
  plan.causes.back().cumulative = 1.0;
}

void plan_slowdown(const SlowdownSpec& spec,
                   bool takes_node,
                   std::string_view key,
                   CausePlanner& planner,
                   RunPlan& plan,
                   Findings& findings) {
  check_law(spec.duration, fmt::format("{}.duration", key), findings);
  findings.require(is_factor(spec.slowdown.median) && std::isfinite(spec.slowdown.sigma) &&
                       spec.slowdown.sigma >= 0.0,
                   fmt::format("{}.slowdown", key),
                   "a slowdown must be at least 1, its sigma not negative");
  findings.require(!spec.evict_after || in_range(*spec.evict_after),
                   fmt::format("{}.evict_after", key),
                   "must be between 0 s and 73 years");
  PlannedSlowdown planned;
  planned.factor = spec.slowdown;
  planned.duration = spec.duration;
  if (spec.evict_after) {
    planned.evict_after = bounded_time(*spec.evict_after);
  }
  planned.cause = planner.add_process(spec.name, spec.node_rate, spec.job_rate, spec.recovery, key);
  plan.causes.back().takes_nodes = takes_node ? 1 : 0;
  set_effect(plan, StrikeEffect::slowdown, plan.failures.slowdowns.size());
  plan.failures.slowdowns.push_back(planned);
}

void plan_corruption(const SilentSpec& spec,
                     CausePlanner& planner,
                     RunPlan& plan,
                     Findings& findings) {
  constexpr std::string_view kKey = "failures.sdc";
  check_law(spec.detection, "failures.sdc.detection", findings);
  check_law(spec.repeat_after, "failures.sdc.repeat_after", findings);
  findings.require(spec.repeats >= 0.0 && spec.repeats < 1.0,
                   "failures.sdc.repeats",
                   "must be at least 0 and below 1: at 1 no host would ever be found");
  findings.require(is_factor(spec.checks), "failures.sdc.checks", "must be at least 1");
  plan.failures.step_factor = spec.checks;
  if (!spec.node_rate && !spec.job_rate) {
    return;  // only checks, or only false alarms
  }
  PlannedSilent planned;
  planned.detection = spec.detection;
  planned.repeats = spec.repeats;
  planned.repeat_after = spec.repeat_after;
  planned.cause = planner.add_process(
      "silent data corruption", spec.node_rate, spec.job_rate, spec.recovery, kKey);
  set_effect(plan, StrikeEffect::silent, plan.failures.silent.size());
  plan.failures.silent.push_back(planned);
}

void plan_spikes(const SpikeSpec& spec, CausePlanner& planner, RunPlan& plan, Findings& findings) {
  constexpr std::string_view kKey = "failures.loss_spikes";
  findings.require(spec.rate.has_value() != spec.every_steps.has_value(),
                   kKey,
                   "needs exactly one of rate and every_steps");
  findings.require(spec.rewind_steps.has_value() != spec.skip_steps.has_value(),
                   kKey,
                   "needs exactly one of rewind_steps and skip_steps");
  findings.require(spec.every_steps.value_or(1) >= 1 && spec.rewind_steps.value_or(0) >= 0 &&
                       spec.skip_steps.value_or(0) >= 0,
                   kKey,
                   "numbers of steps must not be negative, the mean distance at least 1");
  if (!findings.sound()) {
    return;
  }
  const PerSecond rate =
      spec.rate ? *spec.rate
                : 1.0 / (static_cast<double>(*spec.every_steps) * to_seconds(plan.step.step_time));
  PlannedSpike planned;
  planned.rewind_steps = spec.rewind_steps;
  planned.skip_steps = spec.skip_steps;
  planned.cause = planner.add_process("loss spike", std::nullopt, rate, spec.recovery, kKey);
  plan.causes.back().takes_nodes = 0;
  set_effect(plan, StrikeEffect::spike, plan.failures.spikes.size());
  plan.failures.spikes.push_back(planned);
}

}  // namespace

void plan_false_alarms(const FailureSpec& spec, CausePlanner& planner) {
  if (spec.silent && (spec.silent->false_alarm_node_rate || spec.silent->false_alarm_job_rate)) {
    planner.add_process("false alarm",
                        spec.silent->false_alarm_node_rate,
                        spec.silent->false_alarm_job_rate,
                        spec.silent->recovery,
                        "failures.sdc");
  }
}

void plan_silent(const FailureSpec& spec,
                 CausePlanner& planner,
                 RunPlan& plan,
                 Findings& findings) {
  for (const SlowdownSpec& slowdown : spec.stragglers) {
    plan_slowdown(slowdown, true, "failures.stragglers", planner, plan, findings);
  }
  for (const SlowdownSpec& slowdown : spec.network) {
    plan_slowdown(slowdown, false, "failures.network", planner, plan, findings);
  }
  if (spec.silent) {
    plan_corruption(*spec.silent, planner, plan, findings);
  }
  if (spec.spikes) {
    plan_spikes(*spec.spikes, planner, plan, findings);
  }
}

}  // namespace orrery::run
