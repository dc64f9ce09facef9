#include "sim/run/run_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/text/format.hpp"
#include "sim/run/checkpoints/checkpoint_rates.hpp"
#include "sim/run/planning.hpp"

namespace orrery::run {

namespace {

constexpr double kRounding = 1e-9;  // a quotient that is whole but for its last digits

// Sum over the phases of the steps in each times what `each` says of a phase.
template <typename Amount, typename Each>
Amount sum_of(const std::vector<PlannedPhase>& phases, std::int64_t steps, Each each) {
  Amount sum{};
  std::int64_t begin = 0;
  for (const PlannedPhase& phase : phases) {
    const std::int64_t end = std::min(phase.until_step, steps);
    if (end <= begin) {
      break;
    }
    sum += static_cast<double>(end - begin) * each(phase);
    begin = end;
  }
  return sum;
}

template <typename Amount, typename Each>
double steps_for(const std::vector<PlannedPhase>& phases, Amount wanted, Each each) {
  ORRERY_CHECK(!phases.empty(), "no phase to train in for {} phases", phases.size());
  double begin = 0.0;
  Amount done{};
  for (const PlannedPhase& phase : phases) {
    const double steps = std::ceil((wanted - done) / each(phase) * (1.0 - kRounding));
    const double end = static_cast<double>(phase.until_step);
    if (begin + steps <= end || phase.until_step == kLastStep) {
      return begin + std::max(steps, 0.0);
    }
    done += (end - begin) * each(phase);
    begin = end;
  }
  return begin;
}

Tokens tokens_of(const PlannedPhase& phase) { return phase.tokens_per_step; }

Seconds time_of(const PlannedPhase& phase) { return to_seconds(phase.step_time); }

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

PlannedPhase planned(const PhaseSpec& spec, const PhaseStep& step, Seconds reload) {
  PlannedPhase phase;
  phase.step_time = step.step_time;
  phase.tokens_per_step = step.tokens_per_step;
  phase.nodes = step.nodes;
  phase.change = bounded_time(spec.change.value_or(step.reloads ? reload : Seconds{}));
  phase.name = spec.name;
  return phase;
}

bool check_phase(const PhaseSpec& spec, const PhaseStep& step, bool last, Findings& findings) {
  const std::string key = "training.phases";
  bool sound = findings.require(step.step_time > SimTime{} && step.step_time <= kLongestTime, key,
                                "a step of every phase must take between 1 ns and 73 years");
  sound &= findings.require(in_range(spec.change.value_or(Seconds{})), key,
                            "restart must be between 0 s and 73 years");
  sound &= findings.require(last || spec.until.has_value(), key,
                            fmt::format("phase {} has no end", spec.name),
                            "`until` in every phase but the last");
  sound &= findings.require(!last || !spec.until.has_value(), key,
                            fmt::format("phase {} is the last and has an end", spec.name),
                            "no `until` in the last phase, which lasts to the end of the run");
  return sound && findings.require(step.nodes >= 1, key, "a phase needs at least one node");
}

// Fills plan.phases from the specs and plan.step.phases (one for one); a single phase without them.
// `reload`: of the checkpoint, when other ranks read it.
void plan_phases(const TrainingSpec& spec, Seconds reload, RunPlan& plan, Findings& findings) {
  if (spec.phases.empty()) {
    PlannedPhase only;
    only.step_time = plan.step.step_time;
    only.tokens_per_step = plan.step.tokens_per_step;
    only.nodes = plan.step.nodes;
    plan.phases = {only};
    return;
  }
  ORRERY_CHECK(spec.phases.size() == plan.step.phases.size(),
               "{} phases, but {} of them have a step time", spec.phases.size(),
               plan.step.phases.size());
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < spec.phases.size(); ++i) {
    const PhaseSpec& wanted = spec.phases[i];
    if (!check_phase(wanted, plan.step.phases[i], i + 1 == spec.phases.size(), findings)) {
      return;
    }
    plan.phases.push_back(planned(wanted, plan.step.phases[i], reload));
    if (!wanted.until) {
      return;
    }
    const double until = steps_at(plan.phases, *wanted.until);
    if (!findings.require(until <= static_cast<double>(kMostSteps), "training.phases",
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
          false, "training.phases",
          fmt::format("phase {} ends before it begins, at step {}", wanted.name, begin),
          "ends in ascending order");
      return;
    }
  }
}

// Fills plan.rework; the phases must be planned.
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
        findings.require(discard >= 1.0 && discard <= at, "training.rework",
                         fmt::format("rework `{}` at step {:.0f} throws away {:.0f} steps",
                                     event.name, at, discard),
                         "between one step and all that were done") &&
        findings.require(in_range(event.stall), "training.rework",
                         "the stall must be between 0 s and 73 years");
    if (!sound) {
      return;
    }
    before = static_cast<std::int64_t>(at);
    plan.rework.push_back(
        {before, static_cast<std::int64_t>(discard), event.name, bounded_time(event.stall)});
  }
}

void check_step(const StepInput& step, Findings& findings) {
  findings.require(step.step_time > SimTime{} && step.step_time <= kLongestTime, "step.time",
                   fmt::format("a step must take between 1 ns and 73 years, and takes {}",
                               format_time(to_seconds(step.step_time))));
  findings.require(step.nodes >= 1 && step.gpus == step.nodes * step.gpus_per_node, "cluster.nodes",
                   fmt::format("{} nodes of {} GPUs are not {} GPUs", step.nodes,
                               step.gpus_per_node, step.gpus));
}

void plan_evaluation(const std::optional<EvaluationSpec>& spec, RunPlan& plan, Findings& findings) {
  if (!spec) {
    return;
  }
  findings.require(spec->every_steps >= 1 && spec->every_steps <= kMostSteps, "evaluation.every",
                   "must be between 1 step and 2^53 steps");
  findings.require_time(spec->duration, "evaluation.duration");
  plan.evaluation_steps = spec->every_steps;
  plan.evaluation_time = bounded_time(spec->duration);
}

void plan_stops(const FailureSpec& spec, RunPlan& plan, Findings& findings) {
  if (spec.maintenance && spec.maintenance->rate > PerSecond{}) {
    plan.maintenance = {bounded_time(1.0 / spec.maintenance->rate),
                        bounded_time(spec.maintenance->stall)};
    findings.require(
        in_range(spec.maintenance->stall) && plan.maintenance.stall < plan.maintenance.period,
        "failures.maintenance", "a planned stop must be shorter than the time between two of them");
  } else if (spec.maintenance) {
    findings.require_rate(spec.maintenance->rate, "failures.maintenance");
  }
  if (spec.unitemised_per_day && *spec.unitemised_per_day != Seconds{}) {
    plan.unitemised = {bounded_time(days(1.0)), bounded_time(*spec.unitemised_per_day)};
    findings.require(
        in_range(*spec.unitemised_per_day) && plan.unitemised.stall < plan.unitemised.period,
        "failures.unitemised", "must be less than a day per day");
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
  if (plan.checkpoint.final_save) {
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
  if (!findings.require(stated == 1, "training",
                        fmt::format("{} of duration, tokens and steps are stated", stated),
                        "exactly one")) {
    return;
  }
  if (spec.duration) {
    findings.require(bounded_time(*spec.duration) > SimTime{} && in_range(*spec.duration),
                     "training.duration", "must be at least 1 ns and below 73 years");
    plan.end = bounded_time(*spec.duration);
    plan.fault_free_wall = plan.end;
    return;
  }
  double steps = static_cast<double>(spec.steps.value_or(0));
  if (spec.tokens) {
    const bool positive = std::ranges::all_of(
        plan.phases, [](const PlannedPhase& phase) { return phase.tokens_per_step > Tokens{}; });
    if (!findings.require(positive && *spec.tokens > Tokens{}, "training.tokens",
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
        "simulation.max_wall", "must be at least 1 ns and below 73 years");
    plan.end = bounded_time(*plan.simulation.max_wall);
  }
}

// Evaluations and periodic stops are events of their own, one by one: a trial must end in seconds.
void check_events(const RunPlan& plan, Findings& findings) {
  constexpr double kMostEvents = 100.0 * kMega;
  const double wall = in_seconds(to_seconds(plan.fault_free_wall));
  const auto require = [&](SimTime period, std::string_view key) {
    const double events = period > SimTime{} ? wall / in_seconds(to_seconds(period)) : 0.0;
    findings.require(events <= kMostEvents, key,
                     fmt::format("happens {:.3g} times in the run, too often to simulate", events),
                     "at most 100 million times");
  };
  if (plan.evaluation_steps) {
    const double period =
        in_seconds(to_seconds(plan.step.step_time)) * static_cast<double>(*plan.evaluation_steps);
    require(bounded_time(seconds(period)), "evaluation.every");
  }
  if (plan.checkpoint.tiers.size() > 1 && plan.checkpoint.every_steps) {  // saves one by one
    const double period = in_seconds(to_seconds(plan.step.step_time)) *
                          static_cast<double>(*plan.checkpoint.every_steps);
    require(bounded_time(seconds(period)), "checkpoint.tiers");
  }
  if (plan.maintenance.period != kForever) {
    require(plan.maintenance.period, "failures.maintenance.rate");
  }
  if (plan.mtbf) {
    require(bounded_time(*plan.mtbf), "failures.node_rate");
  }
  for (const PlannedCause& cause : plan.causes) {
    const PerSecond rate = long_run_rate(cause, plan);
    if (cause.effect != StrikeEffect::failure && rate > PerSecond{}) {
      require(bounded_time(1.0 / rate), "failures");
    }
  }
}

void plan_simulation(const SimulationSpec& spec, RunPlan& plan, Findings& findings) {
  constexpr std::int64_t kMostTrials = std::int64_t{1} << 31;
  findings.require(spec.trials >= 1 && spec.trials <= kMostTrials, "simulation.trials",
                   "must be between 1 and 2^31");
  plan.simulation = spec;
}

// Money is a window, as long as it pays for the nodes of this step.
TrainingSpec with_window(const RunSpec& spec, const StepInput& step, Findings& findings) {
  TrainingSpec training = spec.training;
  const auto* money = training.budget ? std::get_if<Dollars>(&*training.budget) : nullptr;
  if (money != nullptr) {
    training.duration = budget_window(*money, spec, step);
    findings.require(training.duration.has_value(), "training.budget",
                     "in money needs one price of a GPU: none owned, reserved, spot or later",
                     "prices.gpu_hour");
  }
  return training;
}

}  // namespace

Tokens tokens_of_steps(const std::vector<PlannedPhase>& phases, std::int64_t steps) {
  return sum_of<Tokens>(phases, steps, tokens_of);
}

Seconds time_of_steps(const std::vector<PlannedPhase>& phases, std::int64_t steps) {
  return sum_of<Seconds>(phases, steps, time_of);
}

double steps_for_tokens(const std::vector<PlannedPhase>& phases, Tokens tokens) {
  return steps_for(phases, tokens, tokens_of);
}

double steps_for_time(const std::vector<PlannedPhase>& phases, Seconds time) {
  return steps_for(phases, time, time_of);
}

std::size_t phase_of_step(const std::vector<PlannedPhase>& phases, std::int64_t step) {
  const auto phase = std::upper_bound(phases.begin(), phases.end(), step,
                                      [](std::int64_t value, const PlannedPhase& candidate) {
                                        return value < candidate.until_step;
                                      });
  return static_cast<std::size_t>(phase - phases.begin());
}

std::vector<PhaseSpec> phases_of(const TrainingSpec& spec, std::int64_t global_batch,
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

SimTime bounded_time(Seconds value) {
  return std::clamp(to_sim_time(value), SimTime{}, kLongestTime);
}

std::optional<RunPlan> resolve_run(const RunSpec& spec, const StepInput& step,
                                   std::vector<RunProblem>& problems) {
  Findings findings(problems);
  RunPlan plan;
  plan.step = step;
  check_step(step, findings);
  const FailureSpec failures = failures_with_preset(spec.failures);
  plan_saves(spec.checkpoint, plan, findings);
  const Seconds load = findings.sound() ? load_time(spec.checkpoint, plan.step, 1.0) : Seconds{};
  const auto stages = job_recovery(spec.recovery, plan.step, load, findings);
  plan_failures(failures, spec.training.start, plan, findings);
  plan_simulation(spec.simulation, plan, findings);
  plan_capacity(spec, failures, plan, findings);  // adds a cause of its own
  plan_recovery(spec.recovery, spec.checkpoint, stages, plan, findings);
  plan_prices(spec, plan, findings);
  plan_evaluation(spec.evaluation, plan, findings);
  plan_stops(failures, plan, findings);
  const TrainingSpec training = with_window(spec, step, findings);
  if (findings.sound()) {
    const Seconds split =
        spec.checkpoint.reshard ? plan.checkpoint.size / *spec.checkpoint.reshard : Seconds{};
    plan_phases(training, load + split, plan, findings);
    fit_capacity_to_phases(plan);
  }
  if (findings.sound()) {
    plan_rework(training, plan, findings);
    plan_tiers(spec.checkpoint, plan, findings);
  }
  if (findings.sound()) {
    plan_interval(spec.checkpoint, training, plan, findings);
    plan_target(training, plan, findings);
  }
  if (findings.sound()) {
    check_events(plan, findings);
  }
  return findings.sound() ? std::optional<RunPlan>(std::move(plan)) : std::nullopt;
}

Seconds mean_recovery_time(const RunPlan& plan) {
  Seconds total;
  double before = 0.0;
  for (std::size_t i = 0; i < plan.causes.size(); ++i) {
    Seconds stages;
    for (const Duration& stage : plan.recovery.stages[i]) {
      stages += mean(stage);
    }
    total += (plan.causes[i].cumulative - before) * stages;
    before = plan.causes[i].cumulative;
  }
  return total;
}

}  // namespace orrery::run
