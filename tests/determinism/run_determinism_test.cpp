// Same seed, same bits: for any number of threads, any order of trials, and any policy elsewhere.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/run/monte_carlo.hpp"
#include "tests/shipped_presets.hpp"
#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run {
namespace {

using testing::plan_of;
using testing::saving_spec;
using testing::steps_of;

RunSpec random_spec() {
  RunSpec spec = saving_spec(2000, 5, seconds(3.0));
  spec.checkpoint.mode = CheckpointMode::async;
  spec.checkpoint.durable = seconds(20.0);
  spec.evaluation = EvaluationSpec{100, seconds(30.0)};
  spec.failures.preset = shipped::failures("llama3-2024");
  spec.failures.node_rate = per_day(4.0);
  spec.failures.job_rate = per_day(10.0);
  spec.recovery.stages[index_of(RecoveryStage::detect)] = ExponentialLaw{seconds(60.0)};
  spec.recovery.stages[index_of(RecoveryStage::diagnose)] = LognormalLaw{seconds(30.0), 1.2};
  spec.recovery.stages[index_of(RecoveryStage::reschedule)] =
      UniformLaw{seconds(10.0), seconds(90.0)};
  spec.capacity.spares = 2;
  spec.capacity.repair_time = ExponentialLaw{hours(1.0)};
  spec.prices.gpu_hour = dollars_per_hour(2.5);
  spec.simulation.trials = 333;  // not a multiple of the chunk
  spec.simulation.seed = 42;
  return spec;
}

MonteCarloResult run_with(const RunPlan& plan, int threads, bool event_by_event = false) {
  MonteCarloOptions options;
  options.threads = threads;
  options.event_by_event = event_by_event;
  return simulate(plan, options).value_or(MonteCarloResult{});
}

TEST(RunDeterminism, AnyNumberOfThreadsGivesTheSameBits) {
  const RunPlan plan = plan_of(random_spec(), steps_of(seconds(10.0), 8, 8));
  const MonteCarloResult one = run_with(plan, 1);
  EXPECT_EQ(one.trials, 333);
  EXPECT_GT(one.failures.mean(), 5.0);
  EXPECT_TRUE(one == run_with(plan, 2));
  EXPECT_TRUE(one == run_with(plan, 3));
  EXPECT_TRUE(one == run_with(plan, 0));
}

TEST(RunDeterminism, SkippingCyclesGivesTheSameBits) {
  const RunPlan plan = plan_of(random_spec(), steps_of(seconds(10.0), 8, 8));
  EXPECT_TRUE(run_with(plan, 1) == run_with(plan, 1, true));
}

TEST(RunDeterminism, ATrialDoesNotDependOnThoseBefore) {
  const RunPlan plan = plan_of(random_spec(), steps_of(seconds(10.0), 8, 8));
  RunSimulator used(plan);
  for (std::uint32_t trial = 0; trial < 7; ++trial) {
    EXPECT_TRUE(used.run({.trial = trial}).finished());
  }
  EXPECT_EQ(used.run({.trial = 7}), RunSimulator(plan).run({.trial = 7}));
}

TEST(RunDeterminism, AnotherSeedGivesAnotherResult) {
  RunSpec spec = random_spec();
  const MonteCarloResult first = run_with(plan_of(spec, steps_of(seconds(10.0), 8, 8)), 1);
  spec.simulation.seed = 43;
  const MonteCarloResult second = run_with(plan_of(spec, steps_of(seconds(10.0), 8, 8)), 1);
  EXPECT_NE(first.wall.mean(), second.wall.mean());
}

// Common random numbers: another recovery, another interval, more spares do not move the failures.
TEST(RunDeterminism, PoliciesDoNotMoveTheFailures) {
  const auto failure_times = [](RunSpec spec) {
    spec.training.steps.reset();
    spec.training.duration = days(1.0);
    spec.capacity.spares = std::max<std::int64_t>(spec.capacity.spares, 50);  // never waiting
    RunTimeline timeline;
    const RunPlan plan = plan_of(spec, steps_of(seconds(10.0), 8, 8));
    const RunResult result = RunSimulator(plan).run({.trial = 5, .timeline = &timeline});
    std::vector<RunInterval> marks;
    for (const RunInterval& interval : timeline.intervals()) {
      if (interval.kind == RunActivity::failure) {
        marks.push_back(interval);
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(marks.size()), result.failures);
    return marks;
  };
  RunSpec spec = random_spec();
  const std::vector<RunInterval> reference = failure_times(spec);
  EXPECT_GT(reference.size(), 20U);
  spec.recovery.stages[index_of(RecoveryStage::detect)] = fixed(seconds(5.0));
  spec.checkpoint.interval = StepsInterval{17};
  spec.checkpoint.mode = CheckpointMode::sync;
  spec.checkpoint.durable.reset();
  spec.capacity.spares = 100;
  EXPECT_EQ(failure_times(spec), reference);
}

}  // namespace
}  // namespace orrery::run
