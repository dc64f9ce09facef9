#include "sim/run/plan_phases.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery::run {

namespace {

// Steps after which `progress` is reached, counted over the planned phases.
double steps_at(const std::vector<PlannedPhase>& phases, const Progress& progress) {
  if (const auto* steps = std::get_if<std::int64_t>(&progress)) {
    return static_cast<double>(*steps);
  }
  if (const auto* tokens = std::get_if<Tokens>(&progress)) {
    return steps_for_tokens(phases, *tokens);
  }
  return steps_for_time(phases, std::get<Seconds>(progress));
}

PlannedPhase planned(const PhaseSpec& spec, const PhaseStep& step) {
  PlannedPhase phase;
  phase.step_time = step.step_time;
  phase.tokens_per_step = step.tokens_per_step;
  phase.nodes = step.nodes;
  phase.change = bounded_time(spec.change);
  phase.name = spec.name;
  return phase;
}

bool check_phase(const PhaseSpec& spec, const PhaseStep& step, bool last, Findings& findings) {
  const std::string key = "training.phases";
  bool sound = findings.require(step.step_time > SimTime{} && step.step_time <= kLongestTime,
                                key,
                                "a step of every phase must take between 1 ns and 73 years");
  sound &= findings.require(in_range(spec.change), key, "restart must be between 0 s and 73 years");
  sound &= findings.require(last || spec.until.has_value(),
                            key,
                            fmt::format("phase {} has no end", spec.name),
                            "`until` in every phase but the last");
  sound &= findings.require(!last || !spec.until.has_value(),
                            key,
                            fmt::format("phase {} is the last and has an end", spec.name),
                            "no `until` in the last phase, which lasts to the end of the run");
  return sound && findings.require(step.nodes >= 1, key, "a phase needs at least one node");
}

}  // namespace

std::vector<PhaseSpec> phases_of(const TrainingSpec& spec,
                                 std::int64_t global_batch,
                                 std::int64_t sequence_length) {
  if (!spec.batch_ramp) {
    return spec.phases;
  }
  const BatchRampSpec& ramp = *spec.batch_ramp;
  std::vector<PhaseSpec> phases;
  const std::int64_t rises =
      (global_batch - ramp.start) / std::max<std::int64_t>(ramp.increment, 1);
  for (std::int64_t i = 0; i < rises; ++i) {
    const double share = static_cast<double>(i + 1) / static_cast<double>(rises);
    const double samples = static_cast<double>(ramp.samples) * share;
    PhaseSpec phase;
    phase.global_batch = ramp.start + i * ramp.increment;
    phase.name = fmt::format("batch {}", *phase.global_batch);
    phase.until = tokens(samples * static_cast<double>(sequence_length));
    phases.push_back(std::move(phase));
  }
  PhaseSpec rest;
  rest.name = fmt::format("batch {}", global_batch);
  phases.push_back(std::move(rest));
  return phases;
}

void plan_phases(const TrainingSpec& spec, RunPlan& plan, Findings& findings) {
  if (spec.phases.empty()) {
    PlannedPhase only;
    only.step_time = plan.step.step_time;
    only.tokens_per_step = plan.step.tokens_per_step;
    only.nodes = plan.step.nodes;
    plan.phases = {only};
    return;
  }
  ORRERY_CHECK(spec.phases.size() == plan.step.phases.size(),
               "{} phases, but {} of them have a step time",
               spec.phases.size(),
               plan.step.phases.size());
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < spec.phases.size(); ++i) {
    const PhaseSpec& wanted = spec.phases[i];
    if (!check_phase(wanted, plan.step.phases[i], i + 1 == spec.phases.size(), findings)) {
      return;
    }
    plan.phases.push_back(planned(wanted, plan.step.phases[i]));
    if (!wanted.until) {
      return;
    }
    const double until = steps_at(plan.phases, *wanted.until);
    if (!findings.require(until <= static_cast<double>(kMostSteps),
                          "training.phases",
                          fmt::format("phase {} has more than 2^53 steps", wanted.name))) {
      return;
    }
    plan.phases.back().until_step = static_cast<std::int64_t>(until);
    if (plan.phases.back().until_step > begin) {
      begin = plan.phases.back().until_step;
    } else if (spec.batch_ramp) {  // a rise smaller than one step: the next one is taken at once
      plan.phases.pop_back();
    } else {
      findings.require(
          false,
          "training.phases",
          fmt::format("phase {} ends before it begins, at step {}", wanted.name, begin),
          "ends in ascending order");
      return;
    }
  }
}

void plan_rework(const TrainingSpec& spec, RunPlan& plan, Findings& findings) {
  std::int64_t before = 0;
  for (const ReworkSpec& event : spec.rework) {
    const double at = steps_at(plan.phases, event.at);
    double discard = at;
    if (const auto* part = std::get_if<Progress>(&event.discard)) {
      if (const auto* steps = std::get_if<std::int64_t>(part)) {
        discard = static_cast<double>(*steps);
      } else {
        const std::int64_t reached =
            static_cast<std::int64_t>(std::min(at, static_cast<double>(kMostSteps)));
        const auto* some = std::get_if<Tokens>(part);
        const double kept =
            some != nullptr
                ? steps_for_tokens(plan.phases, tokens_of_steps(plan.phases, reached) - *some)
                : steps_for_time(plan.phases,
                                 time_of_steps(plan.phases, reached) - std::get<Seconds>(*part));
        discard = at - std::max(kept, 0.0);
      }
    }
    const bool sound =
        findings.require(
            at >= 1.0 && at <= static_cast<double>(kMostSteps) && at > static_cast<double>(before),
            "training.rework",
            fmt::format("rework `{}` does not come after the one before", event.name),
            "events in order of their steps, the first at step 1 or later") &&
        findings.require(
            discard >= 1.0 && discard <= at,
            "training.rework",
            fmt::format(
                "rework `{}` at step {:.0f} throws away {:.0f} steps", event.name, at, discard),
            "between one step and all that were done") &&
        findings.require(
            in_range(event.stall), "training.rework", "the stall must be between 0 s and 73 years");
    if (!sound) {
      return;
    }
    before = static_cast<std::int64_t>(at);
    plan.rework.push_back(
        {before, static_cast<std::int64_t>(discard), event.name, bounded_time(event.stall)});
  }
}

}  // namespace orrery::run
