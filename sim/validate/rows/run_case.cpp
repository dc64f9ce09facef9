#include "sim/validate/rows/run_case.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/base/sim_time.hpp"
#include "sim/run/monte_carlo.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/theory/theory.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::validate {

namespace {

constexpr std::int64_t kCalendarTrials = 200;
constexpr std::int64_t kGpusPerNode = 8;
const Seconds kCalendarRepair = days(2.0);

// The failures of the job: stated, or of a preset. Planned stops of a preset are another cluster's.
run::FailureSpec failures_of(const CalendarCase& run, Seconds fault_free,
                             const scenario::PresetLibrary& presets,
                             std::vector<std::string>& notes) {
  run::FailureSpec failures;
  if (!run.machines_a_day && !run.restarts) {
    Diagnostics ignored;
    if (const auto preset = presets.find(scenario::PresetKind::failures, run.failures, ignored)) {
      failures.preset = part_of(preset, &scenario::Preset::failures);
    }
    failures.maintenance = run::MaintenanceSpec{};
    notes.push_back(fmt::format("failures of preset {}", run.failures));
    return failures;
  }
  const double machines = run.machines_a_day.value_or(0.0);
  failures.node_rate = per_day(machines / static_cast<double>(run.nodes));
  const double restarts = run.restarts.value_or(0.0) / in_days(fault_free);
  failures.job_rate = per_day(std::max(0.0, restarts - machines));
  run::FailureCause cause;
  cause.name = "machine";
  cause.category = run::FailureCategory::host;
  failures.causes = {cause};
  notes.push_back("failures at the stated rates");
  return failures;
}

run::RunSpec spec_of(const CalendarCase& run, Seconds fault_free,
                     const scenario::PresetLibrary& presets, CalendarTimes& times) {
  run::RunSpec spec;
  spec.training.steps = run.steps;
  spec.failures = failures_of(run, fault_free, presets, times.notes);
  Diagnostics ignored;
  if (const auto rsc = presets.find(scenario::PresetKind::recovery, "rsc-2024", ignored)) {
    spec.recovery.preset = part_of(rsc, &scenario::Preset::recovery);
  }
  times.notes.push_back("recovery of preset rsc-2024");
  if (run.save_every > 0) {
    spec.checkpoint.interval = run::StepsInterval{run.save_every};
    spec.checkpoint.stall = run.save;
  } else {
    times.notes.push_back("saves at the best interval");
  }
  spec.checkpoint.final_save = false;
  if (run.evaluate_every > 0) {
    spec.evaluation = run::EvaluationSpec{run.evaluate_every, run.evaluation};
  }
  spec.capacity.repair_time = run::fixed(kCalendarRepair);
  spec.simulation.trials = kCalendarTrials;
  return spec;
}

// As many as the nodes in repair are in 99 of 100 cases.
std::int64_t enough_spares(const run::RunPlan& plan) {
  return plan.mtbf ? run::nodes_in_repair(1.0 / *plan.mtbf, kCalendarRepair).p99 : 0;
}

// Trials in which so many machines break per day of the calendar as stated: nodes that wait do not
// fail, so the rate of those that run is raised until it fits.
std::optional<run::MonteCarloResult> simulate_case(const CalendarCase& run, run::RunSpec spec,
                                                   const run::StepInput& step, int threads,
                                                   std::optional<run::RunPlan>& plan) {
  constexpr int kMostRounds = 8;
  constexpr double kClose = 0.005;
  std::vector<run::RunProblem> problems;
  std::optional<run::MonteCarloResult> result;
  for (int round = 0; round < kMostRounds; ++round) {
    plan = run::resolve_run(spec, step, problems);
    result = plan ? run::simulate(*plan, {.threads = threads}) : std::nullopt;
    if (!result || !run.machines_a_day || *run.machines_a_day <= 0.0) {
      return result;
    }
    const double broken = result->failures_by_cause.front() / in_days(seconds(result->wall.mean()));
    if (broken <= 0.0 || std::abs(broken / *run.machines_a_day - 1.0) < kClose) {
      return result;
    }
    spec.failures.node_rate = *spec.failures.node_rate * (*run.machines_a_day / broken);
  }
  return result;
}

using run::RunCategory;

// One GPU, so that a category's GPU time is its wall time.
run::StepInput single_gpu(Seconds step) {
  return {.step_time = to_sim_time(step),
          .tokens_per_step = tokens(1.0),
          .gpus = 1,
          .nodes = 1,
          .gpus_per_node = 1,
          .parameters = 0.0};
}

run::RunSpec spec_of(const RunCase& run) {
  // Failures are scripted; their rate only has to exist.
  constexpr double kRarely = 1.0e-6;
  run::RunSpec spec;
  spec.training.steps = run.steps;
  spec.checkpoint.interval = run::StepsInterval{run.save_every > 0 ? run.save_every : run.steps};
  spec.checkpoint.stall = run.stall;
  if (run.durable) {
    spec.checkpoint.mode = run::CheckpointMode::async;
    spec.checkpoint.durable = *run.durable;
  }
  spec.checkpoint.final_save = run.save_every > 0;
  spec.recovery.stages[run::index_of(run::RecoveryStage::reschedule)] = run::fixed(run.restart);
  spec.recovery.stages[run::index_of(run::RecoveryStage::load)] = run::fixed(Seconds{});
  spec.failures.node_rate = per_day(kRarely);
  spec.failures.job_rate = PerSecond{};
  run::FailureCause cause;
  cause.name = "scripted";
  cause.takes_node = false;
  spec.failures.causes = {cause};
  if (run.evaluate_every > 0) {
    spec.evaluation =
        run::EvaluationSpec{.every_steps = run.evaluate_every, .duration = run.evaluation};
  }
  spec.simulation.trials = 1;
  return spec;
}

}  // namespace

std::optional<CalendarTimes> simulate_calendar(const CalendarCase& run,
                                               const scenario::PresetLibrary& presets,
                                               int threads) {
  if (run.steps < 1 || !(run.step > Seconds{}) || run.nodes < 1) {
    return std::nullopt;
  }
  CalendarTimes times;
  const run::StepInput step = {.step_time = to_sim_time(run.step),
                               .tokens_per_step = tokens(1.0),
                               .gpus = run.nodes * kGpusPerNode,
                               .nodes = run.nodes,
                               .gpus_per_node = kGpusPerNode,
                               .parameters = run.parameters};
  run::RunSpec spec =
      spec_of(run, static_cast<double>(run.steps) * run.step + run.ramp, presets, times);
  std::vector<run::RunProblem> problems;
  auto plan = run::resolve_run(spec, step, problems);
  if (!plan) {
    return std::nullopt;
  }
  spec.capacity.spares = run.spares.value_or(enough_spares(*plan));
  times.notes.push_back(fmt::format("{} spares, repair in 2 d", spec.capacity.spares));
  const auto result = simulate_case(run, spec, step, threads, plan);
  if (!result) {
    return std::nullopt;
  }
  Seconds named;
  for (const Seconds loss : run.named_losses) {
    named += loss;
  }
  if (named > Seconds{}) {
    times.notes.push_back(fmt::format("{:.3g} h of losses that are named", in_hours(named)));
  }
  times.fault_free = to_seconds(plan->fault_free_wall) + run.ramp;
  times.calendar = seconds(result->wall.mean()) + run.ramp + named;
  times.failures = result->failures.mean();
  return times;
}

std::optional<RunCaseTimes> run_case(const RunCase& run) {
  if (run.steps < 1 || !(run.step > Seconds{})) {
    return std::nullopt;
  }
  std::vector<run::RunProblem> problems;
  const auto plan = run::resolve_run(spec_of(run), single_gpu(run.step), problems);
  if (!plan) {
    return std::nullopt;
  }
  std::vector<run::ScriptedFailure> failures;
  for (const Seconds at : run.failures) {
    failures.push_back({.at = to_sim_time(at)});
  }
  run::RunSimulator simulator(*plan);
  run::TrialOptions options;
  options.failures = failures;
  const run::RunResult result = simulator.run(options);
  const auto time_of = [&result](RunCategory category) { return result.ledger.gpu_time(category); };
  return RunCaseTimes{.wall = to_seconds(result.wall),
                      .lost = time_of(RunCategory::lost_work),
                      .checkpoint = time_of(RunCategory::checkpoint_stall),
                      .restart = time_of(RunCategory::restart_scheduling),
                      .evaluation = time_of(RunCategory::evaluation)};
}

}  // namespace orrery::validate
