// Speed of the Monte Carlo of a whole run.
//
// 54 days, MTBF 3 h, a save of 20 s after every 600 s of training, restart 480 s, all fixed: about
// 419 failures and 15,000 events per trial. Bar: 10,000 trials, event by event, in 1 s of one core;
// `s_per_10k_trials` is that figure. Limit in the same process: two bare timers with the same
// stream of failures, no queue, no ledger. Skipping whole cycles is what `orrery run` uses.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::bench {
namespace {

constexpr std::int64_t kTrials = 1000;
constexpr double kTenThousandTrials = 10'000.0 / static_cast<double>(kTrials);

// The plan of `spec` on 16,384 GPUs with a step of 6 s; `parameters` size the checkpoint.
run::RunPlan plan_of(const run::RunSpec& spec, double parameters) {
  const run::StepInput step{.step_time = to_sim_time(seconds(6.0)),
                            .tokens_per_step = tokens(1.0),
                            .gpus = 16384,
                            .nodes = 2048,
                            .gpus_per_node = 8,
                            .parameters = parameters};
  std::vector<run::RunProblem> problems;
  const std::optional<run::RunPlan> plan = resolve_run(spec, step, problems);
  ORRERY_CHECK(plan.has_value(), "the plan of the benchmark is wrong: {}",
               problems.empty() ? "" : problems.front().message);
  return *plan;
}

run::RunPlan make_plan() {
  run::RunSpec spec;
  spec.training.duration = days(54.0);
  spec.failures.job_rate = 1.0 / hours(3.0);
  spec.checkpoint.interval = run::TimeInterval{seconds(600.0)};
  spec.checkpoint.stall = seconds(20.0);
  spec.recovery.stages[index_of(run::RecoveryStage::reschedule)] = run::fixed(seconds(480.0));
  return plan_of(spec, 0.0);
}

void report(benchmark::State& state, double events, double goodput) {
  const double trials = static_cast<double>(kTrials);
  state.counters["goodput"] = goodput / trials;
  state.counters["events_per_trial"] = events / trials;
  // Inverted rate: seconds / (iterations * kTrials / 10,000).
  state.counters["s_per_10k_trials"] =
      benchmark::Counter(1.0 / kTenThousandTrials, benchmark::Counter::kIsIterationInvariantRate |
                                                       benchmark::Counter::kInvert);
}

void run_trials(benchmark::State& state, bool event_by_event) {
  const run::RunPlan plan = make_plan();
  run::RunSimulator simulator(plan);
  double events = 0.0;
  double goodput = 0.0;
  for (auto _ : state) {
    events = 0.0;
    goodput = 0.0;
    for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
      const run::RunResult result =
          simulator.run({.trial = trial, .event_by_event = event_by_event});
      goodput += result.goodput;
      events +=
          2.0 * static_cast<double>(result.checkpoints) + static_cast<double>(result.failures);
    }
    benchmark::DoNotOptimize(goodput);
  }
  report(state, events, goodput);
}

void run_54_days_event_by_event(benchmark::State& state) { run_trials(state, true); }

void run_54_days_skipping_cycles(benchmark::State& state) { run_trials(state, false); }

// The least that any simulation by events must do: compare two times, add, draw at a failure.
double two_timers(std::uint32_t trial, double& events) {
  RandomStream stream(1, trial, Purpose::failure_time);
  constexpr std::int64_t kCompute = 600 * kNanosecondsPerSecond;
  constexpr std::int64_t kSave = 20 * kNanosecondsPerSecond;
  constexpr std::int64_t kRestart = 480 * kNanosecondsPerSecond;
  const std::int64_t end = to_sim_time(days(54.0)).ns;
  std::int64_t now = 0;
  std::int64_t productive = 0;
  std::int64_t unsaved = 0;
  std::int64_t failure = to_sim_time(stream.exponential(hours(3.0))).ns;
  bool restarting = false;
  bool saving = false;
  while (now < end) {
    const std::int64_t length = restarting ? kRestart : saving ? kSave : kCompute;
    events += 1.0;
    if (now + length > failure) {
      now = failure;
      unsaved = 0;
      failure = now + to_sim_time(stream.exponential(hours(3.0))).ns;
      restarting = true;
      saving = false;
      continue;
    }
    now += length;
    if (saving) {
      productive += unsaved;
      unsaved = 0;
    } else if (!restarting) {
      unsaved = kCompute;
    }
    saving = !restarting && !saving;
    restarting = false;
  }
  return static_cast<double>(productive) / static_cast<double>(end);
}

void limit_two_timers(benchmark::State& state) {
  double events = 0.0;
  double goodput = 0.0;
  for (auto _ : state) {
    events = 0.0;
    goodput = 0.0;
    for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
      goodput += two_timers(trial, events);
    }
    benchmark::DoNotOptimize(goodput);
  }
  report(state, events, goodput);
}

// The default of AIReSim (arXiv 2603.07041, docs/SIMULATION_REPORT.md): 256 days of work on 4,096
// servers of which 15 % are bad, 0.01 failures per server and day (bad ones six times that), 16
// standbys, 48 and 200 servers beside them, two stages of repair. No work is ever lost there and
// nothing fails during a recovery: a save without stall after every second comes close. One trial
// takes it 11.3 s and 9,866 h with 11,175 failures.
run::RunPlan server_plan() {
  run::RunSpec spec;
  spec.training.steps = 256 * 86'400;
  spec.failures.node_rate = per_day(0.01);
  spec.failures.during_recovery = false;
  spec.failures.lemons = run::LemonSpec{.fraction = 0.15, .factor = 6.0, .remove_after = {}};
  spec.checkpoint.interval = run::StepsInterval{1};
  spec.checkpoint.stall = seconds(0.0);
  spec.recovery.stages[index_of(run::RecoveryStage::reschedule)] = run::fixed(minutes(20.0));
  spec.recovery.stages[index_of(run::RecoveryStage::load)] = run::fixed(seconds(0.0));
  spec.capacity.spares = 16;
  spec.capacity.warm = {.nodes = 48, .ready = run::fixed(minutes(3.0))};
  spec.capacity.cold = {.nodes = 200, .ready = run::fixed(minutes(3.0)), .held = false};
  spec.capacity.repair_time = run::fixed(minutes(120.0));
  spec.capacity.repair.fails = 0.4;
  spec.capacity.repair.manual =
      run::ManualRepairSpec{.escalates = 0.8, .time = run::fixed(minutes(2880.0)), .fails = 0.2};
  const run::StepInput step{.step_time = to_sim_time(seconds(1.0)),
                            .tokens_per_step = tokens(1.0),
                            .gpus = 4096,
                            .nodes = 4096,
                            .gpus_per_node = 1,
                            .parameters = 0.0};
  std::vector<run::RunProblem> problems;
  const std::optional<run::RunPlan> plan = resolve_run(spec, step, problems);
  ORRERY_CHECK(plan.has_value(), "the plan of the benchmark is wrong");
  return *plan;
}

void run_4096_servers_256_days(benchmark::State& state) {
  const run::RunPlan plan = server_plan();
  run::RunSimulator simulator(plan);
  std::uint32_t trial = 0;
  double goodput = 0.0;
  double failures = 0.0;
  double hours = 0.0;
  for (auto _ : state) {
    const run::RunResult result = simulator.run({.trial = trial++});
    goodput += result.goodput;
    failures += static_cast<double>(result.failures);
    hours += in_hours(to_seconds(result.wall));
  }
  state.counters["goodput"] = benchmark::Counter(goodput, benchmark::Counter::kAvgIterations);
  state.counters["failures"] = benchmark::Counter(failures, benchmark::Counter::kAvgIterations);
  state.counters["hours"] = benchmark::Counter(hours, benchmark::Counter::kAvgIterations);
}

// The 54 days with copies in memory after every minute, on disks after every five.
run::RunPlan tiered_plan() {
  run::RunSpec spec;
  spec.training.duration = days(54.0);
  spec.failures.job_rate = 1.0 / hours(3.0);
  spec.checkpoint.mode = run::CheckpointMode::async;
  spec.checkpoint.interval = run::TimeInterval{seconds(600.0)};
  spec.checkpoint.stall = seconds(1.0);
  spec.checkpoint.durable = seconds(60.0);
  for (const double interval : {60.0, 300.0}) {
    run::TierSpec tier;
    tier.name = interval < 100.0 ? "memory" : "disk";
    tier.medium = interval < 100.0 ? run::TierMedium::memory : run::TierMedium::disk;
    tier.mode = run::CheckpointMode::async;
    tier.interval = run::TimeInterval{seconds(interval)};
    tier.stall = seconds(0.1);
    tier.durable = seconds(interval / 10.0);
    tier.read = gigabytes_per_second(20.0);
    spec.checkpoint.tiers.push_back(tier);
  }
  spec.recovery.stages[index_of(run::RecoveryStage::reschedule)] = run::fixed(seconds(480.0));
  return plan_of(spec, 4e11);
}

void run_tiers(benchmark::State& state, bool event_by_event) {
  const run::RunPlan plan = tiered_plan();
  run::RunSimulator simulator(plan);
  std::uint32_t trial = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        simulator.run({.trial = trial++, .event_by_event = event_by_event}).goodput);
  }
}

void run_three_tiers_event_by_event(benchmark::State& state) { run_tiers(state, true); }

void run_three_tiers(benchmark::State& state) { run_tiers(state, false); }

BENCHMARK(limit_two_timers)->Unit(benchmark::kMillisecond);
BENCHMARK(run_54_days_event_by_event)->Unit(benchmark::kMillisecond);
BENCHMARK(run_54_days_skipping_cycles)->Unit(benchmark::kMillisecond);
BENCHMARK(run_three_tiers_event_by_event)->Unit(benchmark::kMicrosecond);
BENCHMARK(run_three_tiers)->Unit(benchmark::kMicrosecond);
BENCHMARK(run_4096_servers_256_days)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::bench
