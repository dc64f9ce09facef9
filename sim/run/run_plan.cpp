#include "sim/run/run_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/run/findings.hpp"
#include "sim/run/plan_checkpoints.hpp"
#include "sim/run/plan_phases.hpp"
#include "sim/run/plan_recovery.hpp"

namespace orrery::run {

namespace {

void check_step(const StepInput& step, Findings& findings) {
  findings.require(step.step_time > SimTime{} && step.step_time <= kLongestTime,
                   "step.time",
                   "a step must take between 1 ns and 73 years");
  findings.require(
      step.nodes >= 1 && step.gpus == step.nodes * step.gpus_per_node,
      "cluster.nodes",
      fmt::format(
          "{} nodes of {} GPUs are not {} GPUs", step.nodes, step.gpus_per_node, step.gpus));
}

FailureSpec with_preset(const FailureSpec& spec, Findings& findings) {
  FailureSpec result = spec;
  if (spec.preset.empty()) {
    return result;
  }
  const FailurePreset* preset = find_failure_preset(spec.preset);
  if (!findings.require(preset != nullptr,
                        "failures.preset",
                        fmt::format("no preset named {}", spec.preset),
                        names_of(failure_presets()))) {
    return result;
  }
  const FailureSpec& base = preset->spec;
  result.node_rate = spec.node_rate ? spec.node_rate : base.node_rate;
  result.job_rate = spec.job_rate ? spec.job_rate : base.job_rate;
  result.causes = spec.causes.empty() ? base.causes : spec.causes;
  result.maintenance = spec.maintenance ? spec.maintenance : base.maintenance;
  result.unitemised_per_day =
      spec.unitemised_per_day ? spec.unitemised_per_day : base.unitemised_per_day;
  return result;
}

PlannedCause plan_cause(const FailureCause& cause,
                        const std::array<Duration, kRecoveryStageCount>& recovery) {
  PlannedCause planned;
  planned.name = cause.name;
  planned.category = cause.category;
  planned.takes_node = cause.takes_node.value_or(takes_node_by_default(cause.category));
  planned.recovery = recovery;
  for (std::size_t i = 0; i < kRecoveryStageCount; ++i) {
    if (cause.recovery[i]) {
      planned.recovery[i] = *cause.recovery[i];
    }
  }
  return planned;
}

void plan_failures(const FailureSpec& spec,
                   const std::array<Duration, kRecoveryStageCount>& recovery,
                   RunPlan& plan,
                   Findings& findings) {
  const PerSecond node_rate = spec.node_rate.value_or(PerSecond{});
  const PerSecond job_rate = spec.job_rate.value_or(PerSecond{});
  findings.require(is_rate(node_rate), "failures.node_rate", "the rate must not be negative");
  findings.require(is_rate(job_rate), "failures.job_rate", "the rate must not be negative");
  std::vector<FailureCause> causes = spec.causes;
  if (causes.empty()) {
    causes.push_back({"node failure", FailureCategory::host, 1.0, std::nullopt, {}});
  }
  double weights = 0.0;
  for (const FailureCause& cause : causes) {
    findings.require(std::isfinite(cause.weight) && cause.weight >= 0.0,
                     "failures.causes",
                     fmt::format("the weight of {} must not be negative", cause.name));
    check_stages(cause.recovery, "failures.causes", findings);
    weights += cause.weight;
  }
  findings.require(is_positive(weights), "failures.causes", "no cause has a positive weight");
  const PerSecond node_process = static_cast<double>(plan.step.nodes) * node_rate;
  const PerSecond total = node_process + job_rate;
  if (!findings.sound()) {
    return;
  }
  if (total > PerSecond{}) {
    plan.mtbf = 1.0 / total;
  }
  const double node_share = total > PerSecond{} ? node_process / total : 1.0;
  double cumulative = 0.0;
  for (const FailureCause& cause : causes) {
    cumulative += node_share * (cause.weight / weights);
    plan.causes.push_back(plan_cause(cause, recovery));
    plan.causes.back().cumulative = cumulative;
  }
  plan.causes.push_back(
      plan_cause({"job-level software", FailureCategory::software, 1.0, false, {}}, recovery));
  plan.causes.back().cumulative = 1.0;
}

void plan_evaluation(const std::optional<EvaluationSpec>& spec, RunPlan& plan, Findings& findings) {
  if (!spec) {
    return;
  }
  findings.require(spec->every_steps >= 1 && spec->every_steps <= kMostSteps,
                   "evaluation.every",
                   "must be between 1 step and 2^53 steps");
  findings.require(
      in_range(spec->duration), "evaluation.duration", "must be between 0 s and 73 years");
  plan.evaluation_steps = spec->every_steps;
  plan.evaluation_time = bounded_time(spec->duration);
}

void plan_stops(const FailureSpec& spec, RunPlan& plan, Findings& findings) {
  if (spec.maintenance && spec.maintenance->rate > PerSecond{}) {
    plan.maintenance = {bounded_time(1.0 / spec.maintenance->rate),
                        bounded_time(spec.maintenance->stall)};
    findings.require(
        in_range(spec.maintenance->stall) && plan.maintenance.stall < plan.maintenance.period,
        "failures.maintenance",
        "a planned stop must be shorter than the time between two of them");
  } else if (spec.maintenance) {
    findings.require(
        is_rate(spec.maintenance->rate), "failures.maintenance", "the rate must not be negative");
  }
  if (spec.unitemised_per_day && *spec.unitemised_per_day != Seconds{}) {
    plan.unitemised = {bounded_time(days(1.0)), bounded_time(*spec.unitemised_per_day)};
    findings.require(
        in_range(*spec.unitemised_per_day) && plan.unitemised.stall < plan.unitemised.period,
        "failures.unitemised",
        "must be less than a day per day");
  }
}

// Without failures: periodic saves before the last step, one waited for at the end, evaluations,
// and the share of time that planned and unitemised stops take.
Seconds fault_free_wall(const RunPlan& plan, double steps) {
  const auto times = [](double done, std::optional<std::int64_t> every) {
    return every ? std::floor(done / static_cast<double>(*every)) : 0.0;
  };
  Seconds busy = time_of_steps(plan.phases, static_cast<std::int64_t>(steps)) +
                 times(steps - 1.0, plan.checkpoint_steps) * to_seconds(plan.stall) +
                 times(steps, plan.evaluation_steps) * to_seconds(plan.evaluation_time);
  if (plan.final_save) {
    busy += to_seconds(plan.durable);
  }
  double stopped = 0.0;
  for (const PeriodicStop& stop : {plan.maintenance, plan.unitemised}) {
    stopped += stop.period == kForever ? 0.0 : to_seconds(stop.stall) / to_seconds(stop.period);
  }
  return busy / std::max(1.0 - stopped, kMilli);
}

void plan_target(const TrainingSpec& spec, RunPlan& plan, Findings& findings) {
  const int stated = static_cast<int>(spec.duration.has_value()) +
                     static_cast<int>(spec.tokens.has_value()) +
                     static_cast<int>(spec.steps.has_value());
  if (!findings.require(stated == 1,
                        "training",
                        fmt::format("{} of duration, tokens and steps are stated", stated),
                        "exactly one")) {
    return;
  }
  if (spec.duration) {
    findings.require(bounded_time(*spec.duration) > SimTime{} && in_range(*spec.duration),
                     "training.duration",
                     "must be at least 1 ns and below 73 years");
    plan.end = bounded_time(*spec.duration);
    plan.fault_free_wall = plan.end;
    return;
  }
  double steps = static_cast<double>(spec.steps.value_or(0));
  if (spec.tokens) {
    const bool positive =
        std::all_of(plan.phases.begin(), plan.phases.end(), [](const PlannedPhase& phase) {
          return phase.tokens_per_step > Tokens{};
        });
    if (!findings.require(positive && *spec.tokens > Tokens{},
                          "training.tokens",
                          "the tokens of the run and of a step must be positive")) {
      return;
    }
    steps = steps_for_tokens(plan.phases, *spec.tokens);
  }
  if (!findings.require(steps >= 1.0 && steps <= static_cast<double>(kMostSteps),
                        spec.tokens ? "training.tokens" : "training.steps",
                        "must be at least one step and at most 2^53 steps")) {
    return;
  }
  plan.target_steps = static_cast<std::int64_t>(steps);
  const Seconds wall = fault_free_wall(plan, steps);
  plan.fault_free_wall = bounded_time(wall);
  constexpr double kHorizonFactor = 10.0;
  plan.end = bounded_time(kHorizonFactor * wall + days(30.0));
  if (plan.simulation.max_wall) {
    findings.require(
        bounded_time(*plan.simulation.max_wall) > SimTime{} && in_range(*plan.simulation.max_wall),
        "simulation.max_wall",
        "must be at least 1 ns and below 73 years");
    plan.end = bounded_time(*plan.simulation.max_wall);
  }
}

// Evaluations and periodic stops are events of their own, one by one: a trial must end in seconds.
void check_events(const RunPlan& plan, Findings& findings) {
  constexpr double kMostEvents = 100.0 * kMega;
  const double wall = in_seconds(to_seconds(plan.fault_free_wall));
  const auto require = [&](SimTime period, std::string_view key) {
    const double events = period > SimTime{} ? wall / in_seconds(to_seconds(period)) : 0.0;
    findings.require(events <= kMostEvents,
                     key,
                     fmt::format("happens {:.3g} times in the run, too often to simulate", events),
                     "at most 100 million times");
  };
  if (plan.evaluation_steps) {
    const double period =
        in_seconds(to_seconds(plan.step.step_time)) * static_cast<double>(*plan.evaluation_steps);
    require(bounded_time(seconds(period)), "evaluation.every");
  }
  if (plan.maintenance.period != kForever) {
    require(plan.maintenance.period, "failures.maintenance.rate");
  }
  if (plan.mtbf) {
    require(bounded_time(*plan.mtbf), "failures.node_rate");
  }
}

void plan_resources(const RunSpec& spec, RunPlan& plan, Findings& findings) {
  constexpr std::int64_t kMostSpares = std::int64_t{1} << 30;
  findings.require(spec.capacity.spares >= 0 && spec.capacity.spares <= kMostSpares,
                   "capacity.spares",
                   "must be between 0 and 2^30");
  const std::optional<std::string> repair = problem_of(spec.capacity.repair_time);
  findings.require(!repair, "capacity.repair_time", repair.value_or(""));
  findings.require(
      !spec.prices.gpu_hour || (*spec.prices.gpu_hour >= DollarsPerSecond{} &&
                                std::isfinite(in_dollars_per_hour(*spec.prices.gpu_hour))),
      "prices.gpu_hour",
      "the price must not be negative");
  constexpr std::int64_t kMostTrials = std::int64_t{1} << 31;
  findings.require(spec.simulation.trials >= 1 && spec.simulation.trials <= kMostTrials,
                   "simulation.trials",
                   "must be between 1 and 2^31");
  plan.spares = spec.capacity.spares;
  plan.repair_time = spec.capacity.repair_time;
  plan.prices = spec.prices;
  plan.simulation = spec.simulation;
}

}  // namespace

SimTime bounded_time(Seconds value) {
  return std::clamp(to_sim_time(value), SimTime{}, kLongestTime);
}

std::optional<RunPlan> resolve_run(const RunSpec& spec,
                                   const StepInput& step,
                                   std::vector<RunProblem>& problems) {
  Findings findings(problems);
  RunPlan plan;
  plan.step = step;
  check_step(step, findings);
  plan_resources(spec, plan, findings);
  const FailureSpec failures = with_preset(spec.failures, findings);
  plan_saves(spec.checkpoint, plan, findings);
  const Seconds load =
      findings.sound() ? plan.checkpoint_size / spec.checkpoint.storage.read : Seconds{};
  plan_failures(failures, job_recovery(spec.recovery, load, findings), plan, findings);
  plan_evaluation(spec.evaluation, plan, findings);
  plan_stops(failures, plan, findings);
  if (findings.sound()) {
    plan_phases(spec.training, plan, findings);
  }
  if (findings.sound()) {
    plan_rework(spec.training, plan, findings);
  }
  if (findings.sound()) {
    plan_interval(spec.checkpoint, plan, findings);
    plan_target(spec.training, plan, findings);
  }
  if (findings.sound()) {
    check_events(plan, findings);
  }
  return findings.sound() ? std::optional<RunPlan>(std::move(plan)) : std::nullopt;
}

Seconds mean_recovery_time(const RunPlan& plan) {
  Seconds total;
  double before = 0.0;
  for (const PlannedCause& cause : plan.causes) {
    Seconds stages;
    for (const Duration& stage : cause.recovery) {
      stages += mean(stage);
    }
    total += (cause.cumulative - before) * stages;
    before = cause.cumulative;
  }
  return total;
}

}  // namespace orrery::run
