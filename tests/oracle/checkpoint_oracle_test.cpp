// Checks the duration of simulated runs with asynchronous, tiered, replicated and just-in-time
// checkpoints against closed forms.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/run/monte_carlo.hpp"
#include "sim/run/theory/theory.hpp"
#include "tests/oracle/all_trials.hpp"
#include "tests/oracle/run_times.hpp"
#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run {
namespace {

using testing::fail_every;
using testing::plan_of;
using testing::restart_after;
using testing::run_all;
using testing::saving_spec;
using testing::standard_error;
using testing::steps_of;

// A window of so many MTBFs, in `trials` trials.
RunSpec window_of(Seconds mtbf, double mtbfs, std::int64_t trials) {
  RunSpec spec = saving_spec(1, 1, seconds(0.0));
  spec.training.steps.reset();
  spec.training.duration = mtbfs * mtbf;
  spec.simulation.trials = trials;
  return spec;
}

// Time that one second of useful work takes: the closed form against the window's mean goodput. The
// window begins fresh and ends within a cycle of failures: one part in `mtbfs` of the waste.
void expect_run_time(const std::string& name, const RunPlan& plan, Seconds expected, double mtbfs) {
  const MonteCarloResult result = run_all(plan);
  const double goodput = seconds(1.0) / expected;
  const double error = standard_error(result.goodput);
  const double edge = 2.0 * (1.0 - goodput) / mtbfs;
  fmt::print("{}: goodput {:.5f} expected, {:.5f} simulated, z = {:+.2f}\n", name, goodput,
             result.goodput.mean(), (result.goodput.mean() - goodput) / error);
  EXPECT_NEAR(result.goodput.mean(), goodput, 3.0 * error + edge) << name;
}

// Daly's run time over his whole range: saves and restarts from 1 % of the MTBF to as long as it.
TEST(CheckpointOracle, DalysRunTimeForAnyRatioOfSaveRestartAndMtbf) {
  constexpr std::int64_t kTrials = 400;
  constexpr std::int64_t kSegments = 500;
  const Seconds mtbf = hours(1.0);
  for (const double save : {0.01, 0.1, 0.5}) {
    for (const double restart : {0.01, 0.3, 1.0}) {
      const Seconds interval = optimal_interval({save * mtbf, mtbf});
      RunSpec spec = saving_spec(kSegments, 1, save * mtbf);
      restart_after(spec, restart * mtbf);
      fail_every(spec, mtbf);
      spec.simulation.trials = kTrials;
      const MonteCarloResult result = run_all(plan_of(spec, steps_of(interval)));
      const Seconds expected = daly_run_time(
          {static_cast<double>(kSegments) * interval, interval, save * mtbf, restart * mtbf, mtbf});
      const double z = (result.wall.mean() - in_seconds(expected)) / standard_error(result.wall);
      fmt::print("C/M = {}, R/M = {}: {:.2f} h expected, {:.2f} h simulated, z = {:+.2f}\n", save,
                 restart, in_hours(expected), in_hours(seconds(result.wall.mean())), z);
      EXPECT_EQ(result.finished, kTrials);
      EXPECT_LT(std::abs(z), 3.5) << save << " " << restart;  // one of nine may pass 3
    }
  }
}

TEST(CheckpointOracle, AsynchronousSavesProtectFromTheirDurableTimeOn) {
  const Seconds mtbf = hours(2.0);
  constexpr double kWindow = 400.0;
  for (const double durable : {20.0, 200.0, 600.0}) {
    RunSpec spec = window_of(mtbf, kWindow, 300);
    spec.checkpoint.interval = StepsInterval{60};
    spec.checkpoint.mode = CheckpointMode::async;
    spec.checkpoint.stall = seconds(20.0);
    spec.checkpoint.durable = seconds(durable);
    restart_after(spec, seconds(300.0));
    fail_every(spec, mtbf);
    const Seconds expected = async_run_time(
        {seconds(1.0), seconds(600.0), seconds(20.0), seconds(durable), seconds(300.0), mtbf});
    expect_run_time(fmt::format("durable after {} s", durable),
                    plan_of(spec, steps_of(seconds(10.0))), expected, kWindow);
  }
}

// Software leaves the nodes, and with them the copies in host memory; hardware takes a node, whose
// state nobody else has.
RunSpec two_causes(Seconds mtbf, double soft, double mtbfs, std::int64_t trials, double nodes) {
  RunSpec spec = window_of(mtbf, mtbfs, trials);
  FailureCause crash;
  crash.name = "crash";
  crash.category = FailureCategory::software;
  crash.weight = soft;
  FailureCause broken;
  broken.name = "broken";
  broken.category = FailureCategory::gpu;
  broken.weight = 1.0 - soft;
  spec.failures.causes = {crash, broken};
  spec.failures.node_rate = 1.0 / (nodes * mtbf);
  spec.capacity.spares = 64;
  spec.capacity.repair_time = fixed(seconds(0.0));
  return spec;
}

TEST(CheckpointOracle, TwoTiersTakeTheExactTimeOfTheirPattern) {
  const Seconds mtbf = hours(1.0);
  constexpr double kWindow = 400.0;
  constexpr double kNodes = 64.0;
  for (const double soft : {0.9, 0.5}) {
    RunSpec spec = two_causes(mtbf, soft, kWindow, 300, kNodes);
    restart_after(spec, seconds(120.0));
    spec.recovery.stages[index_of(RecoveryStage::load)] = fixed(seconds(180.0));
    spec.checkpoint.interval = StepsInterval{240};
    spec.checkpoint.stall = seconds(60.0);
    TierSpec memory;
    memory.mode = CheckpointMode::sync;
    memory.interval = StepsInterval{20};
    memory.stall = seconds(2.0);
    memory.load = seconds(180.0);  // as from the storage: right after one, memory holds nothing
    spec.checkpoint.tiers = {memory};
    const RunPlan plan = plan_of(spec, steps_of(seconds(10.0), 64));
    ASSERT_EQ(plan.checkpoint.period(), 12);
    const Seconds expected = tiered_run_time(
        {seconds(1.0),
         seconds(200.0),
         {{1, seconds(2.0), soft, seconds(300.0)}, {12, seconds(60.0), 1.0 - soft, seconds(300.0)}},
         mtbf});
    expect_run_time(fmt::format("{} survived in memory", soft), plan, expected, kWindow);
  }
}

// Two of 16 nodes at once: 8 of the 120 pairs are partners (gemini_placement_k2). Three: 80 %.
void expect_placement(std::int64_t lost, double survival) {
  constexpr double kFromMemory = 1.0;
  constexpr double kFromStorage = 1000.0;
  const Seconds mtbf = hours(1000.0);
  RunSpec spec = window_of(mtbf, 200.0, 200);
  FailureCause broken;
  broken.name = "broken";
  broken.category = FailureCategory::host;
  broken.takes_nodes = lost;
  spec.failures.causes = {broken};
  spec.failures.node_rate = 1.0 / (16.0 * mtbf);
  spec.capacity.spares = 64;
  spec.capacity.repair_time = fixed(seconds(0.0));
  spec.recovery.stages[index_of(RecoveryStage::load)] = fixed(seconds(kFromStorage));
  // Often enough that memory holds a copy again before the next failure.
  spec.checkpoint.interval = StepsInterval{1};
  TierSpec memory;
  memory.replicas = 2;
  memory.interval = StepsInterval{1};
  memory.stall = memory.durable = seconds(0.0);
  memory.load = seconds(kFromMemory);
  spec.checkpoint.tiers = {memory};
  const RunPlan plan = plan_of(spec, steps_of(hours(10.0), 16));
  const MonteCarloResult result = run_all(plan);
  const double load = in_seconds(result.mean_gpu_time(RunCategory::restart_load)) /
                      static_cast<double>(plan.job_gpus()) / result.failures.mean();
  const double from_memory = (kFromStorage - load) / (kFromStorage - kFromMemory);
  const double count = result.failures.mean() * static_cast<double>(result.trials);
  const double error = std::sqrt(survival * (1.0 - survival) / count);
  fmt::print("{} of 16 nodes: {:.4f} of {:.0f} recoveries from memory, {:.4f} expected\n", lost,
             from_memory, count, survival);
  EXPECT_NEAR(from_memory, survival, 3.0 * error + 2e-3);  // failures before the next save
}

TEST(CheckpointOracle, TwoLostNodesOfSixteenLeaveTheCopiesOfPairsWith93Percent) {
  expect_placement(2, 1.0 - 8.0 / 120.0);
}

TEST(CheckpointOracle, ThreeLostNodesOfSixteenLeaveTheCopiesOfPairsWith80Percent) {
  expect_placement(3, 0.8);
}

TEST(CheckpointOracle, JustInTimeLosesHalfAStep) {
  const Seconds mtbf = hours(10.0);
  constexpr double kWindow = 400.0;
  RunSpec spec = two_causes(mtbf, 0.0, kWindow, 100, 1024.0);
  spec.checkpoint.interval = StepsInterval{60};
  spec.checkpoint.just_in_time = true;
  spec.checkpoint.just_in_time_save = seconds(40.0);
  spec.recovery.stages[index_of(RecoveryStage::load)] = fixed(seconds(0.0));
  restart_after(spec, seconds(100.0));
  StepInput step = steps_of(seconds(30.0), 1024);
  step.state_replicas = 2.0;
  const RunPlan plan = plan_of(spec, step);
  const MonteCarloResult result = run_all(plan);
  const double lost = in_seconds(result.mean_gpu_time(RunCategory::lost_work)) /
                      static_cast<double>(plan.job_gpus()) / result.failures.mean();
  // A failure during the 140 s of a recovery (0.4 %) loses up to 30 min more.
  fmt::print("{:.2f} s lost per failure\n", lost);
  EXPECT_GE(lost, 14.0);
  EXPECT_LE(lost, 20.0);
  const Seconds expected =
      just_in_time_run_time({seconds(1.0), seconds(30.0), seconds(140.0), mtbf});
  const double waste = 1.0 / result.goodput.mean() - 1.0;
  EXPECT_NEAR(waste / (expected / seconds(1.0) - 1.0), 1.0, 0.05);
}

}  // namespace
}  // namespace orrery::run
