// Checks the simulated run against theory and published runs.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "sim/run/monte_carlo.hpp"
#include "sim/run/theory/theory.hpp"
#include "tests/oracle/run_times.hpp"
#include "tests/shipped_presets.hpp"
#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run::testing {
namespace {

// All trials of a plan, and how well their mean is known.

MonteCarloResult run_all(const RunPlan& plan, bool event_by_event = false) {
  MonteCarloOptions options;
  options.event_by_event = event_by_event;
  const std::optional<MonteCarloResult> result = simulate(plan, options);
  EXPECT_TRUE(result.has_value());
  return result.value_or(MonteCarloResult{});
}

double standard_error(const Distribution& d) {
  return d.standard_deviation() / std::sqrt(static_cast<double>(d.count()));
}

}  // namespace
}  // namespace orrery::run::testing

namespace orrery::run {
namespace {

using testing::fail_every;
using testing::plan_of;
using testing::restart_after;
using testing::run_all;
using testing::saving_spec;
using testing::standard_error;
using testing::steps_of;

RunSpec window_spec(Seconds window, std::int64_t trials) {
  RunSpec spec = saving_spec(1, 1, seconds(0.0));
  spec.training.steps.reset();
  spec.training.duration = window;
  spec.simulation.trials = trials;
  return spec;
}

// Daly's process: a step is one segment of tau, every segment is followed by a blocking save of 5
// min (the last one too), a restart takes 10 min, and failures strike all three. 10^6 segments.
void expect_daly_run_time(double mtbf_minutes, double interval_minutes) {
  constexpr std::int64_t kTrials = 1000;
  constexpr std::int64_t kSegments = 1000;
  RunSpec spec = saving_spec(kSegments, 1, minutes(5.0));
  restart_after(spec, minutes(10.0));
  fail_every(spec, minutes(mtbf_minutes));
  spec.simulation.trials = kTrials;
  const Seconds interval = minutes(interval_minutes);
  const RunPlan plan = plan_of(spec, steps_of(interval));
  const MonteCarloResult result = run_all(plan, true);
  const Seconds expected = daly_run_time({static_cast<double>(kSegments) * interval, interval,
                                          minutes(5.0), minutes(10.0), minutes(mtbf_minutes)});
  EXPECT_EQ(result.finished, kTrials);
  const double z = (result.wall.mean() - in_seconds(expected)) / standard_error(result.wall);
  fmt::print("M = {} min: {:.3f} h expected, {:.3f} h simulated, z = {:+.2f}\n", mtbf_minutes,
             in_hours(expected), in_hours(seconds(result.wall.mean())), z);
  EXPECT_LT(std::abs(z), 3.0);
}

TEST(RunOracle, DalysRunTimeAtAnMtbfOf24Hours) { expect_daly_run_time(1440.0, 116.69); }

TEST(RunOracle, DalysRunTimeAtAnMtbfOf6Hours) { expect_daly_run_time(360.0, 56.71); }

TEST(RunOracle, DalysRunTimeAtAnMtbfOf15Minutes) { expect_daly_run_time(15.0, 9.14); }

TEST(RunOracle, FiftyFourDaysAtAnMtbfOf3HoursKeepDalysGoodput) {
  // Interval 600 s, save 20 s, restart 480 s, M = 3 h. The window ends in the middle of a segment,
  // which shifts the ratio by less than one segment in 54 days (1.3e-4) times the share lost (0.1).
  RunSpec spec = window_spec(days(54.0), 2000);
  spec.checkpoint.interval = StepsInterval{6};
  spec.checkpoint.stall = seconds(20.0);
  restart_after(spec, seconds(480.0));
  fail_every(spec, hours(3.0));
  const MonteCarloResult result = run_all(plan_of(spec, steps_of(seconds(100.0))));
  const double expected = seconds(1.0) / daly_run_time({seconds(1.0), seconds(600.0), seconds(20.0),
                                                        seconds(480.0), hours(3.0)});
  fmt::print("goodput {:.6f} expected, {:.6f} simulated\n", expected, result.goodput.mean());
  EXPECT_NEAR(result.goodput.mean(), expected, 3.0 * standard_error(result.goodput) + 1.3e-5);
}

RunPlan llama3_plan(std::int64_t spares, std::int64_t trials) {
  RunSpec spec = window_spec(days(54.0), trials);
  spec.checkpoint = CheckpointSpec{};
  spec.checkpoint.mode = CheckpointMode::async;
  spec.failures.preset = shipped::failures("llama3-2024");
  spec.recovery.preset = shipped::recovery("megascale-2024");
  spec.capacity.spares = spares;
  StepInput step = steps_of(seconds(6.2208), 2048, 8);
  step.parameters = 405e9;
  return plan_of(spec, step);
}

TEST(RunOracle, Llama3RatesGive419FailuresIn54Days) {
  constexpr std::int64_t kTrials = 1000;
  const RunPlan plan = llama3_plan(64, kTrials);
  EXPECT_NEAR(in_hours(*plan.mtbf), 3.09, 0.005);
  const MonteCarloResult result = run_all(plan);
  const double sigma = std::sqrt(419.0);  // Poisson
  EXPECT_NEAR(result.failures.mean(), 419.0, 3.0 * sigma / std::sqrt(1000.0));
  EXPECT_NEAR(result.failures.standard_deviation(), sigma, 0.1 * sigma);
  const std::int64_t inside = result.failures.count_below(419.0 + 3.0 * sigma) -
                              result.failures.count_below(419.0 - 3.0 * sigma);
  EXPECT_GE(inside, 990);  // 99.7 % expected
  // Causes by weight: faulty GPU 148, HBM 72, software 54, each +- 3 sigma of the mean.
  EXPECT_NEAR(result.failures_by_cause[0], 148.0, 3.0 * std::sqrt(0.148));
  EXPECT_NEAR(result.failures_by_cause[1], 72.0, 3.0 * std::sqrt(0.072));
  EXPECT_NEAR(result.failures_by_cause[2], 54.0, 3.0 * std::sqrt(0.054));
  fmt::print("{:.1f} failures, goodput p10 {:.4f} p50 {:.4f} p90 {:.4f}, interval {} steps\n",
             result.failures.mean(), result.goodput.quantile(0.1), result.goodput.quantile(0.5),
             result.goodput.quantile(0.9), *plan.checkpoint_steps);
  EXPECT_GT(result.ettr.quantile(0.1), 0.90);  // the paper: more than 90 % effective training time
}

TEST(RunOracle, SevenHourMtbfOver30DaysIs103FailuresAnd14Percent) {
  // 720 / 7 = 102.9; at one hour each 14.3 % of the run.
  RunSpec spec = window_spec(days(30.0), 4000);
  restart_after(spec, hours(1.0));
  fail_every(spec, hours(7.0));
  const RunPlan plan = plan_of(spec, steps_of(seconds(60.0)));
  const MonteCarloResult result = run_all(plan);
  EXPECT_NEAR(result.failures.mean(), 720.0 / 7.0, 3.0 * standard_error(result.failures));
  EXPECT_EQ(std::lround(720.0 / 7.0), 103);
  EXPECT_NEAR(result.failures.mean() * 1.0 / 720.0, 0.14, 0.005);
  // A failure during a restart begins it again, so the booked share follows the renewal argument:
  // an idle-free cycle is 7 h of training and 7 (e^(1/7) - 1) h of restart.
  const double restart = 7.0 * std::expm1(1.0 / 7.0);
  const double share = in_seconds(result.mean_gpu_time(RunCategory::restart_scheduling)) /
                       (in_seconds(days(30.0)) * static_cast<double>(plan.job_gpus()));
  EXPECT_NEAR(share, restart / (7.0 + restart), 0.002);
}

TEST(RunOracle, PricesAddUpByHand) {
  const auto cost_of = [](std::int64_t nodes, Seconds window) {
    RunSpec spec = window_spec(window, 1);
    spec.prices.gpu_hour = dollars_per_hour(4.0);
    return run_all(plan_of(spec, steps_of(seconds(10.0), nodes, 8))).cost.mean();
  };
  EXPECT_NEAR(cost_of(2048, hours(1.0)), 65536.0, 1e-6);       // $65.5k/h
  EXPECT_NEAR(cost_of(2000, hours(1.0)), 64000.0, 1e-6);       // cost_16k_hour
  EXPECT_NEAR(cost_of(2000, hours(720.0)), 46080000.0, 1e-3);  // cost_16k_30d
  EXPECT_NEAR(cost_of(128, hours(720.0)), 2949120.0, 1e-4);    // $2.95M
}

TEST(RunOracle, GoodputRisesWithTheMtbf) {
  double before = 0.0;
  for (const double mtbf : {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0}) {
    RunSpec spec = window_spec(days(20.0), 200);
    spec.checkpoint.interval = StepsInterval{6};
    spec.checkpoint.stall = seconds(20.0);
    restart_after(spec, seconds(480.0));
    fail_every(spec, hours(mtbf));
    const double goodput = run_all(plan_of(spec, steps_of(seconds(100.0)))).goodput.mean();
    EXPECT_GT(goodput, before) << "MTBF " << mtbf << " h";
    before = goodput;
  }
}

TEST(RunOracle, WaitingVanishesWithSpares) {
  double before = 1.0;
  for (const std::int64_t spares : {0, 8, 16, 32, 64}) {
    const RunPlan plan = llama3_plan(spares, 100);
    const MonteCarloResult result = run_all(plan);
    const double waiting = in_seconds(result.mean_gpu_time(RunCategory::waiting_for_capacity)) /
                           (in_seconds(days(54.0)) * static_cast<double>(plan.job_gpus()));
    fmt::print("{} spares: waiting {:.5f} of the run\n", spares, waiting);
    EXPECT_LE(waiting, before);
    before = waiting;
  }
  EXPECT_EQ(before, 0.0);
}

// Nodes in repair of a job that is always full: Poisson(lambda MTTR) whatever the repair law.
void expect_poisson_repairs(const Duration& repair) {
  constexpr std::int64_t kTrials = 4000;
  RunSpec spec = window_spec(days(24.0), kTrials);
  spec.failures.node_rate = per_day(7.75925925926 / 2048.0);
  spec.capacity.spares = 200;
  spec.capacity.repair_time = repair;
  const MonteCarloResult result = run_all(plan_of(spec, steps_of(seconds(600.0), 2048, 8)));
  const RepairLoad load = nodes_in_repair(per_day(7.75925925926), mean(repair));
  const Distribution& count = result.nodes_in_repair;
  EXPECT_NEAR(count.mean(), load.mean, 3.0 * std::sqrt(load.mean / kTrials));
  EXPECT_NEAR(count.standard_deviation() * count.standard_deviation() / load.mean, 1.0, 0.08);
  const double below_p99 =
      static_cast<double>(count.count_below(static_cast<double>(load.p99) + 0.5)) /
      static_cast<double>(kTrials);
  EXPECT_NEAR(below_p99, 0.99, 0.007);
  fmt::print("in repair: mean {:.3f} ({:.3f}), P(X <= {}) {:.4f}\n", count.mean(), load.mean,
             load.p99, below_p99);
}

TEST(RunOracle, NodesInRepairArePoissonForAFixedRepair) {
  expect_poisson_repairs(fixed(days(2.0)));
}

TEST(RunOracle, NodesInRepairArePoissonForAnExponentialRepair) {
  expect_poisson_repairs(ExponentialLaw{days(2.0)});
}

TEST(RunOracle, NodesInRepairArePoissonForAHeavyTailedRepair) {
  expect_poisson_repairs(LognormalLaw{days(1.0), 0.9});
}

TEST(RunOracle, MetasEttrFormulaHoldsWithin5Percent) {
  // wr-rsc-ettr: 1,500 nodes, restart 5 min, Young interval; the paper claims 5 % accuracy.
  struct Case {
    double rate;
    double write;
  };

  for (const Case& c : {Case{1.0, 300.0}, Case{6.5, 10.0}, Case{6.5, 300.0}}) {
    const PerSecond rate = shipped::per_thousand_node_days(c.rate);
    const Seconds interval = young_interval({seconds(c.write), job_mtbf(1500.0, rate)});
    RunSpec spec = window_spec(days(60.0), 200);
    spec.checkpoint.interval = TimeInterval{interval};
    spec.checkpoint.stall = seconds(c.write);
    restart_after(spec, minutes(5.0));
    fail_every(spec, job_mtbf(1500.0, rate));
    const double simulated = run_all(plan_of(spec, steps_of(seconds(1.0)))).ettr.mean();
    const double formula = expected_ettr({1500.0, rate, minutes(5.0), interval, seconds(c.write)});
    fmt::print("ETTR {:.4f} by formula, {:.4f} simulated\n", formula, simulated);
    EXPECT_NEAR(simulated, formula, 0.05 * formula);
  }
}

TEST(RunOracle, BloomWithoutFaultsTakes108Days) {
  // wr-bloom-fault-free: 82,072 steps of 105.22 s, 12 min evaluation per 1,000 steps, 40 s save per
  // 100 steps, after a ramp of 7 days.
  RunSpec spec = saving_spec(82072, 100, seconds(40.0));
  spec.evaluation = EvaluationSpec{1000, minutes(12.0)};
  const RunPlan plan = plan_of(spec, steps_of(seconds(105.22), 48, 8));
  const RunResult result = RunSimulator(plan).run({});
  EXPECT_NEAR(in_seconds(to_seconds(result.wall - plan.fault_free_wall)), 0.0, 1e-6);
  EXPECT_NEAR(in_days(to_seconds(result.wall)) + 7.0, 108.01, 0.002 * 108.01);
}

// Checks the duration of simulated runs with asynchronous, tiered, replicated and just-in-time
// checkpoints against closed forms.

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
