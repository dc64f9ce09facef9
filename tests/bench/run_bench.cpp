// How fast is the Monte Carlo of a whole run?
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
#include "sim/run/run_simulator.hpp"

namespace orrery::bench {
namespace {

constexpr std::int64_t kTrials = 1000;
constexpr double kTenThousandTrials = 10'000.0 / static_cast<double>(kTrials);

run::RunPlan make_plan() {
  run::RunSpec spec;
  spec.training.duration = days(54.0);
  spec.failures.job_rate = 1.0 / hours(3.0);
  spec.checkpoint.interval = run::TimeInterval{seconds(600.0)};
  spec.checkpoint.stall = seconds(20.0);
  spec.recovery.stages[index_of(run::RecoveryStage::reschedule)] = run::fixed(seconds(480.0));
  const run::StepInput step{.step_time = to_sim_time(seconds(6.0)),
                            .tokens_per_step = tokens(1.0),
                            .gpus = 16384,
                            .nodes = 2048,
                            .gpus_per_node = 8,
                            .parameters = 0.0};
  std::vector<run::RunProblem> problems;
  const std::optional<run::RunPlan> plan = resolve_run(spec, step, problems);
  ORRERY_CHECK(plan.has_value(), "the plan of the benchmark is wrong");
  return *plan;
}

void report(benchmark::State& state, double events, double goodput) {
  const double trials = static_cast<double>(kTrials);
  state.counters["goodput"] = goodput / trials;
  state.counters["events_per_trial"] = events / trials;
  // Inverted rate: seconds / (iterations * kTrials / 10,000).
  state.counters["s_per_10k_trials"] = benchmark::Counter(
      1.0 / kTenThousandTrials,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
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

void run_54_days_event_by_event(benchmark::State& state) {
  run_trials(state, true);
}

void run_54_days_skipping_cycles(benchmark::State& state) {
  run_trials(state, false);
}

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

BENCHMARK(limit_two_timers)->Unit(benchmark::kMillisecond);
BENCHMARK(run_54_days_event_by_event)->Unit(benchmark::kMillisecond);
BENCHMARK(run_54_days_skipping_cycles)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::bench
