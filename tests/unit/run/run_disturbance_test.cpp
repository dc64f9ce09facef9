// What does not stop the job at once, by hand: slow nodes, wrong results, spikes, checkpoints that
// cannot be read, restarts that fail, jobs that shrink. Strikes come from a log, so nothing is left
// to chance but what a test states.

#include <gtest/gtest.h>

#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run {
namespace {

using testing::plan_of;
using testing::restart_after;
using testing::restart_seconds;
using testing::saving_spec;
using testing::seconds_of;
using testing::steps_of;

// 12 steps of 100 s, a save without stall every 2 steps, restart 30 s.
RunSpec calm_spec() {
  RunSpec spec = saving_spec(12, 2, seconds(0.0));
  restart_after(spec, seconds(30.0));
  return spec;
}

std::int32_t cause_with(const RunPlan& plan, StrikeEffect effect) {
  for (std::size_t i = 0; i < plan.causes.size(); ++i) {
    if (plan.causes[i].effect == effect) {
      return static_cast<std::int32_t>(i);
    }
  }
  ADD_FAILURE() << "no cause with this effect";
  return 0;
}

// One trial with these failures, the same with and without skipping.
RunResult run_scripted(const RunPlan& plan, const std::vector<ScriptedFailure>& failures) {
  RunSimulator simulator(plan);
  const RunResult result = simulator.run({.failures = failures});
  EXPECT_EQ(result, simulator.run({.event_by_event = true, .failures = failures}));
  return result;
}

// One trial in which `effect` strikes at the given seconds and nothing else does.
RunResult run_log(RunPlan plan, StrikeEffect effect, const std::vector<double>& at) {
  std::vector<LoggedStrike>& log = plan.failures.log.emplace();
  const std::int32_t cause = cause_with(plan, effect);
  for (const double second : at) {
    log.push_back({.at = to_sim_time(seconds(second)),
                   .cause = cause,
                   .nodes = plan.causes[static_cast<std::size_t>(cause)].takes_nodes,
                   .outage = {}});
  }
  for (PlannedCause& other : plan.causes) {  // the log speaks for all
    other.life = ExponentialLaw{days(1.0e9)};
  }
  RunSimulator simulator(plan);
  const RunResult result = simulator.run({});
  EXPECT_EQ(result, simulator.run({.event_by_event = true}));
  return result;
}

SlowdownSpec slow(double factor, Seconds duration) {
  SlowdownSpec spec;
  spec.name = "slow node";
  spec.job_rate = per_day(1.0);
  spec.slowdown = {factor, 0.0};
  spec.duration = fixed(duration);
  return spec;
}

TEST(Slowdown, HoldsFromTheNextStepToTheOneInWhichItEnds) {
  // Slow from 250: the third step ends at 300, two steps of 200 s end at 500 and 700 (the slowdown
  // is over at 550), the other 7 at 1400.
  RunSpec spec = calm_spec();
  spec.failures.stragglers = {slow(2.0, seconds(300.0))};
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0)));
  const RunResult result = run_log(plan, StrikeEffect::slowdown, {250.0});
  EXPECT_EQ(result.wall, to_sim_time(seconds(1400.0)));
  EXPECT_DOUBLE_EQ(seconds_of(plan, result, RunCategory::productive), 1200.0);
  EXPECT_DOUBLE_EQ(seconds_of(plan, result, RunCategory::degraded), 200.0);
  EXPECT_EQ(result.slowdowns, 1);
}

TEST(Slowdown, OfTwoAtATimeTheWorseCounts) {
  // The second begins at 350, in the slow step of 300 ... 500, and changes nothing.
  RunSpec spec = calm_spec();
  spec.failures.stragglers = {slow(2.0, seconds(300.0))};
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0)));
  const RunResult result = run_log(plan, StrikeEffect::slowdown, {250.0, 350.0});
  // 300, 500, 700 (the second ends at 650), then 100 s each: as with one.
  EXPECT_EQ(result.wall, to_sim_time(seconds(1400.0)));
}

TEST(Slowdown, EvictionSavesRestartsAndIsFastAgain) {
  // Slow from 250 for a day, evicted after 300 s: steps end at 300, 500, 700; at 550 the eviction
  // is due, at 700 the state of step 5 is saved without stall, restart until 730, 7 steps: 1430.
  RunSpec spec = calm_spec();
  SlowdownSpec straggler = slow(2.0, days(1.0));
  straggler.evict_after = seconds(300.0);
  spec.failures.stragglers = {straggler};
  spec.capacity.spares = 1;
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0)));
  const RunResult result = run_log(plan, StrikeEffect::slowdown, {250.0});
  EXPECT_EQ(result.wall, to_sim_time(seconds(1430.0)));
  EXPECT_EQ(result.evictions, 1);
  EXPECT_DOUBLE_EQ(seconds_of(plan, result, RunCategory::lost_work), 0.0);
  EXPECT_DOUBLE_EQ(restart_seconds(plan, result), 30.0);
}

// Loads 1 s from memory, which has every second step, and 10 s from storage (every fourth).
RunPlan two_tier_plan(RunSpec spec, const StepInput& step) {
  TierSpec memory;
  memory.interval = StepsInterval{2};
  memory.stall = memory.durable = memory.load = seconds(0.0);
  spec.checkpoint.tiers = {memory};
  spec.checkpoint.interval = StepsInterval{4};
  RunPlan plan = plan_of(spec, step);
  plan.checkpoint.tiers.front().load.assign(plan.causes.size(), fixed(seconds(1.0)));
  plan.checkpoint.tiers.back().load.assign(plan.causes.size(), fixed(seconds(10.0)));
  return plan;
}

TEST(Slowdown, AnEvictedJobLoadsWhatItSavedToStorage) {
  // The failure of software at 650 goes back to step 6 in memory: on at 681. Slow from 700: step 7
  // ends at 781, after the eviction is due, and is saved to storage: 40 s, then 5 steps.
  RunSpec spec = calm_spec();
  SlowdownSpec straggler = slow(2.0, days(1.0));
  straggler.evict_after = seconds(50.0);
  spec.failures.stragglers = {straggler};
  spec.capacity.spares = 1;
  const RunPlan plan = two_tier_plan(spec, steps_of(seconds(100.0)));
  const std::int32_t slowdown = cause_with(plan, StrikeEffect::slowdown);
  const std::vector<ScriptedFailure> strikes = {
      {to_sim_time(seconds(650.0)), slowdown - 1},  // software, which takes no node
      {to_sim_time(seconds(700.0)), slowdown}};
  const RunResult result = run_scripted(plan, strikes);
  EXPECT_EQ(result.evictions, 1);
  EXPECT_DOUBLE_EQ(seconds_of(plan, result, RunCategory::restart_load), 1.0 + 10.0);
  EXPECT_EQ(result.wall, to_sim_time(seconds(781.0 + 40.0 + 500.0)));
}

TEST(WaitingJob, GoesFurtherBackWhenItsCopiesAreLostMeanwhile) {
  // Copies in memory outlive the loss of one node of two, not of both. The first leaves at 650,
  // with step 6 in memory; the second at 900, while the job waits: step 4 is on the storage. Both
  // are there again at 1400; restart, load from the storage and 8 steps.
  RunSpec spec = calm_spec();
  spec.capacity.repair_time = fixed(seconds(500.0));
  RunPlan plan = two_tier_plan(spec, steps_of(seconds(100.0), 2));
  plan.checkpoint.tiers.front().survival.after_lost = {1.0, 1.0, 0.0};
  ASSERT_EQ(plan.causes.front().takes_nodes, 1);
  const std::vector<ScriptedFailure> strikes = {{to_sim_time(seconds(650.0)), 0},
                                                {to_sim_time(seconds(900.0)), 0}};
  RunSimulator simulator(plan);
  const RunResult result = simulator.run({.failures = strikes});
  EXPECT_DOUBLE_EQ(seconds_of(plan, result, RunCategory::restart_load), 10.0);
  EXPECT_DOUBLE_EQ(seconds_of(plan, result, RunCategory::lost_work), 250.0);
  EXPECT_EQ(result.wall, to_sim_time(seconds(1400.0 + 30.0 + 10.0 + 800.0)));
}

RunSpec silent_spec(Seconds detection) {
  RunSpec spec = calm_spec();
  SilentSpec& silent = spec.failures.silent.emplace();
  silent.job_rate = per_day(1.0);
  silent.detection = fixed(detection);
  spec.capacity.spares = 1;
  return spec;
}

TEST(SilentCorruption, GoesBackBehindTheFirstWrongResult) {
  // Wrong from 450 on, in the fifth step; found at 850, half way through the ninth. The state of
  // step 4 is the newest good one: 450 s are thrown away, 30 s restart, 8 steps: 1680.
  const RunPlan plan = plan_of(silent_spec(seconds(400.0)), steps_of(seconds(100.0)));
  const RunResult result = run_log(plan, StrikeEffect::silent, {450.0});
  EXPECT_EQ(result.wall, to_sim_time(seconds(850.0 + 30.0 + 800.0)));
  EXPECT_DOUBLE_EQ(seconds_of(plan, result, RunCategory::rework), 450.0);
  EXPECT_EQ(result.corruptions, 1);
}

TEST(SilentCorruption, StartsAgainWhenNoGoodCheckpointIsKept) {
  RunSpec spec = silent_spec(seconds(400.0));
  spec.checkpoint.keep = 1;  // at 850 only the state of step 8 is there
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0)));
  const RunResult result = run_log(plan, StrikeEffect::silent, {450.0});
  EXPECT_EQ(result.wall, to_sim_time(seconds(850.0 + 30.0 + 1200.0)));
  EXPECT_DOUBLE_EQ(seconds_of(plan, result, RunCategory::rework), 850.0);
}

TEST(SilentCorruption, ChecksMakeEveryStepLonger) {
  RunSpec spec = silent_spec(seconds(400.0));
  spec.failures.silent->checks = 1.1;
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0)));
  const RunResult result = run_log(plan, StrikeEffect::silent, {});
  EXPECT_EQ(result.wall, to_sim_time(seconds(1320.0)));
  EXPECT_DOUBLE_EQ(seconds_of(plan, result, RunCategory::degraded), 120.0);
}

TEST(LossSpike, RewindsToACheckpointFarEnoughBehind) {
  // At 650 six steps are done; at least 3 behind is step 3, the checkpoint before it step 2.
  RunSpec spec = calm_spec();
  SpikeSpec& spike = spec.failures.spikes.emplace();
  spike.rate = per_day(1.0);
  spike.rewind_steps = 3;
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0)));
  const RunResult result = run_log(plan, StrikeEffect::spike, {650.0});
  EXPECT_EQ(result.wall, to_sim_time(seconds(650.0 + 30.0 + 1000.0)));
  EXPECT_DOUBLE_EQ(seconds_of(plan, result, RunCategory::rework), 450.0);
}

TEST(LossSpike, SkippedStepsAreTrainedInVain) {
  RunSpec spec = calm_spec();
  SpikeSpec& spike = spec.failures.spikes.emplace();
  spike.rate = per_day(1.0);
  spike.skip_steps = 3;
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0)));
  const RunResult result = run_log(plan, StrikeEffect::spike, {650.0});
  EXPECT_EQ(result.wall, to_sim_time(seconds(1500.0)));
  EXPECT_DOUBLE_EQ(seconds_of(plan, result, RunCategory::rework), 300.0);
  EXPECT_DOUBLE_EQ(restart_seconds(plan, result), 0.0);
}

std::vector<ScriptedFailure> software_failures(const RunPlan& plan, const std::vector<double>& at) {
  std::vector<ScriptedFailure> failures;
  for (const double second : at) {
    failures.push_back(
        {to_sim_time(seconds(second)), static_cast<std::int32_t>(plan.causes.size()) - 1});
  }
  return failures;
}

TEST(Checkpoints, UnreadableOnesAreTriedOneAfterTheOther) {
  // None can be read: the load (5 s) is tried with the states of steps 6, 4, 2 and the start.
  RunSpec spec = calm_spec();
  spec.checkpoint.corrupt = 1.0 - 1.0e-12;
  spec.recovery.stages[index_of(RecoveryStage::load)] = fixed(seconds(5.0));
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0)));
  const RunResult result = RunSimulator(plan).run({.failures = software_failures(plan, {650.0})});
  EXPECT_EQ(result.wall, to_sim_time(seconds(650.0 + 30.0 + 4 * 5.0 + 1200.0)));
  EXPECT_EQ(result.unreadable_checkpoints, 3);
  EXPECT_DOUBLE_EQ(seconds_of(plan, result, RunCategory::lost_work), 650.0);
}

TEST(Restarts, ThatAlwaysFailEndTheRunWithAReason) {
  RunSpec spec = calm_spec();
  spec.recovery.restart_fails = 1.0 - 1.0e-12;
  spec.recovery.failed_restart = seconds(7.0);
  spec.recovery.max_restarts = 5;
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0)));
  const RunResult result = RunSimulator(plan).run({.failures = software_failures(plan, {650.0})});
  EXPECT_EQ(result.stop, StopReason::restarts_exhausted);
  EXPECT_EQ(result.failed_restarts, 5);
  EXPECT_EQ(result.wall, to_sim_time(seconds(650.0 + 5 * 37.0)));
}

// 4 nodes that can also run as 2, at 180 s a step; a node breaks at 650 and is back 500 s later.
RunSpec elastic_spec(Growth grow) {
  RunSpec spec = calm_spec();
  spec.capacity.repair_time = fixed(seconds(500.0));
  spec.capacity.elastic = ElasticSpec{2, grow};
  return spec;
}

StepInput elastic_steps() {
  StepInput step = steps_of(seconds(100.0), 4, 8);
  step.sizes = {{2, to_sim_time(seconds(180.0))}, {4, to_sim_time(seconds(100.0))}};
  return step;
}

RunResult lose_a_node(const RunPlan& plan) {
  const std::vector<ScriptedFailure> failures = {{to_sim_time(seconds(650.0)), 0}};
  const RunResult result = run_scripted(plan, failures);
  return result;
}

TEST(Elastic, GoesOnWithFewerNodesAndGrowsAtTheNextCheckpoint) {
  // Back to step 6, restarted at 680 on 3 nodes, of which 2 train. The node returns at 1150, in the
  // third slow step; the next save is due at step 8 = 1040 (past), then at step 10 = 1400: restart
  // until 1430, two steps at full size: 1630.
  const RunPlan plan = plan_of(elastic_spec(Growth::at_checkpoint), elastic_steps());
  const RunResult result = lose_a_node(plan);
  EXPECT_EQ(result.wall, to_sim_time(seconds(1630.0)));
  EXPECT_EQ(result.resizes, 2);
  // 4 slow steps of 180 s on the 24 GPUs of 3 nodes, of which 100 s on 32 were planned.
  EXPECT_DOUBLE_EQ(in_seconds(result.ledger.gpu_time(RunCategory::degraded)),
                   4 * (180.0 * 24 - 100.0 * 32));
  EXPECT_DOUBLE_EQ(in_seconds(result.ledger.gpu_time(RunCategory::waiting_for_capacity)), 0.0);
}

TEST(Elastic, TakingANodeBackIsNoneOfTheRestartsThatAreAllowed) {
  // One for the loss, which is allowed, and one for the return, which is not counted.
  RunSpec spec = elastic_spec(Growth::at_once);
  spec.recovery.max_restarts = 1;
  const RunPlan plan = plan_of(spec, elastic_steps());
  const RunResult result = lose_a_node(plan);
  EXPECT_EQ(result.stop, StopReason::target_reached);
  EXPECT_EQ(result.restarts, 2);
}

TEST(Elastic, GrowsAtACheckpointThatWouldBeWrittenInTheBackground) {
  // The save at which it grows is waited for, also when quiet cycles were skipped up to it.
  RunSpec spec = elastic_spec(Growth::at_checkpoint);
  spec.training.steps = 200;
  spec.checkpoint.mode = CheckpointMode::async;
  spec.checkpoint.durable = seconds(10.0);
  spec.capacity.repair_time = fixed(seconds(9000.0));
  const RunPlan plan = plan_of(spec, elastic_steps());
  const RunResult result = lose_a_node(plan);
  EXPECT_EQ(result.resizes, 2);
  EXPECT_EQ(result.steps_done, 200);
}

TEST(Elastic, GrowsAtOnceAfterASave) {
  // The third slow step ends at 1220: saved without stall, restarted until 1250, 3 steps: 1550.
  const RunPlan plan = plan_of(elastic_spec(Growth::at_once), elastic_steps());
  EXPECT_EQ(lose_a_node(plan).wall, to_sim_time(seconds(1550.0)));
}

TEST(Elastic, BecomesSlowAtOnceAlthoughItWaitsForACheckpointToGrow) {
  // Saves every 6 of 18 steps. Steps 7 to 9 end at 860, 1040 and 1220; the node returns at 1150,
  // the slowdown begins at 1200: three steps of 360 s until the save at 2300, restart until 2330,
  // six steps of 200 s.
  RunSpec spec = elastic_spec(Growth::at_checkpoint);
  spec.training.steps = 18;
  spec.checkpoint.interval = StepsInterval{6};
  spec.failures.stragglers = {slow(2.0, days(1.0))};
  const RunPlan plan = plan_of(spec, elastic_steps());
  const std::vector<ScriptedFailure> strikes = {
      {to_sim_time(seconds(650.0)), 0},
      {to_sim_time(seconds(1200.0)), cause_with(plan, StrikeEffect::slowdown)}};
  const RunResult result = run_scripted(plan, strikes);
  EXPECT_EQ(result.wall, to_sim_time(seconds(3530.0)));
  EXPECT_EQ(result.resizes, 2);
}

TEST(Elastic, DoesNotRestartForNodesThatARecoveryTook) {
  // Saves every 6 of 18 steps. The node is back at 1150, to join at the save of step 12; the
  // software failure at 1200 restarts the job on all 4 nodes, from step 6 at 1230.
  RunSpec spec = elastic_spec(Growth::at_checkpoint);
  spec.training.steps = 18;
  spec.checkpoint.interval = StepsInterval{6};
  const RunPlan plan = plan_of(spec, elastic_steps());
  const std::vector<ScriptedFailure> failures = {
      {to_sim_time(seconds(650.0)), 0},
      {to_sim_time(seconds(1200.0)), static_cast<std::int32_t>(plan.causes.size()) - 1}};
  const RunResult result = run_scripted(plan, failures);
  EXPECT_EQ(result.wall, to_sim_time(seconds(1230.0 + 12 * 100.0)));
  EXPECT_EQ(result.resizes, 1);
}

TEST(Elastic, CanStaySmall) {
  const RunPlan plan = plan_of(elastic_spec(Growth::never), elastic_steps());
  const RunResult result = lose_a_node(plan);
  EXPECT_EQ(result.wall, to_sim_time(seconds(680.0 + 6 * 180.0)));
  EXPECT_EQ(result.resizes, 1);
}

TEST(Phases, AWaitForNodesIsBlamedAndEndsWithARestart) {
  // 2 nodes until step 6, then 4. Wrong from 450 on, found at 850 in phase 2: a host leaves for
  // 500 s, and 2 of the others go on from step 4 at 880. Phase 2 begins at 1080 and waits on 3
  // nodes until 1350; then a restart of 30 s and 6 steps.
  RunSpec spec = silent_spec(seconds(400.0));
  spec.capacity.spares = 0;
  spec.capacity.repair_time = fixed(seconds(500.0));
  spec.training.phases.resize(2);
  spec.training.phases[0].until = std::int64_t{6};
  spec.training.phases[0].nodes = 2;
  StepInput step = elastic_steps();
  step.phases = {{step.step_time, step.tokens_per_step, 2},
                 {step.step_time, step.tokens_per_step, 4}};
  const RunPlan plan = plan_of(spec, step);
  const RunResult result = run_log(plan, StrikeEffect::silent, {450.0});
  EXPECT_EQ(result.wall, to_sim_time(seconds(1350.0 + 30.0 + 600.0)));
  EXPECT_DOUBLE_EQ(in_seconds(result.ledger.gpu_time(RunCategory::waiting_for_capacity)),
                   270.0 * 24);
  // 200 s of phase 1, 250 s of phase 2 thrown away, two restarts and the wait.
  const auto cause = static_cast<std::size_t>(cause_with(plan, StrikeEffect::silent));
  EXPECT_DOUBLE_EQ(static_cast<double>(result.gpu_time_by_cause[cause]) * 1.0e-9,
                   200.0 * 16 + 250.0 * 32 + 30.0 * 16 + 270.0 * 24 + 30.0 * 32);
}

TEST(Progress, IsSampledWithoutChangingTheTrial) {
  const RunPlan plan = plan_of(calm_spec(), steps_of(seconds(100.0)));
  const std::vector<SimTime> at = {to_sim_time(seconds(50.0)), to_sim_time(seconds(250.0)),
                                   to_sim_time(seconds(700.0)), to_sim_time(seconds(1200.0))};
  std::vector<double> steps;
  RunSimulator simulator(plan);
  const auto failures = software_failures(plan, {650.0});
  const RunResult sampled =
      simulator.run({.failures = failures, .samples = at, .progress = &steps});
  EXPECT_EQ(sampled, simulator.run({.failures = failures}));
  // Back to step 6 at 650, on from 680.
  EXPECT_EQ(steps, (std::vector<double>{0, 2, 6, 11}));
}

// One bad node with ten times the hazard, and repairs that leave it bad. Its third failure brings a
// good node: of a window T it lasts 3 / (10 lambda) in the mean, and lambda T - 0.3 failures
// follow. Without removal there are 10 lambda T. Repairs and restarts take a millionth of the time.
TEST(RunDisturbance, ALemonIsRemovedAfterItsStrikes) {
  constexpr double kExpected = 20.0;  // lambda T
  constexpr std::uint32_t kTrials = 2000;
  RunSpec spec = saving_spec(1, 10, seconds(0.0));
  spec.training.steps.reset();
  spec.training.duration = days(20.0);
  spec.failures.node_rate = per_day(kExpected / 20.0);
  spec.failures.lemons = LemonSpec{.fraction = 1.0, .factor = 10.0, .remove_after = 3};
  spec.capacity.repair_time = fixed(seconds(1.0));
  spec.capacity.repair.fails = 1.0;
  spec.capacity.repair.replacement = fixed(seconds(1.0));
  for (auto& stage : spec.recovery.stages) {
    stage = fixed(seconds(0.0));
  }
  const auto failures = [&spec] {
    const RunPlan plan = plan_of(spec, steps_of(seconds(10.0)));
    RunSimulator simulator(plan);
    double sum = 0.0;
    for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
      sum += static_cast<double>(simulator.run({.trial = trial}).failures);
    }
    return sum / kTrials;
  };
  EXPECT_NEAR(failures(), 3.0 + kExpected - 0.3, 0.4);  // 4 standard errors
  spec.failures.lemons->remove_after = 1;
  EXPECT_NEAR(failures(), 1.0 + kExpected - 0.1, 0.4);
  spec.failures.lemons->remove_after.reset();
  EXPECT_NEAR(failures(), 10.0 * kExpected, 1.3);
}

// A job that fails every two seconds and saves every one makes progress for ever, and the trial
// gives up long before its horizon of years.
TEST(RunDisturbance, AMillionFailuresEndARun) {
  RunSpec spec = saving_spec(100'000'000, 1, seconds(0.0));
  testing::fail_every(spec, seconds(2.0));
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0)));
  RunSimulator simulator(plan);
  const RunResult result = simulator.run({});
  EXPECT_EQ(result.stop, StopReason::too_many_failures);
  EXPECT_EQ(result.failures, 1'000'000);
  EXPECT_LT(result.wall, to_sim_time(days(25.0)));
}

// Nodes of a job that waits do not fail: with a million of them, one of which fails as soon
// as all are there, the trial ends at its horizon with a handful of failures.
TEST(RunDisturbance, AJobThatAlwaysWaitsHasFewFailures) {
  RunSpec spec = saving_spec(1000, 1, seconds(0.0));
  spec.failures.node_rate = per_day(1.0);
  spec.capacity.repair_time = fixed(days(2.0));
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 1'000'000));
  RunSimulator simulator(plan);
  const RunResult result = simulator.run({});
  EXPECT_EQ(result.stop, StopReason::horizon);
  EXPECT_LE(result.failures, 16);  // one for every two days of the month
}

}  // namespace
}  // namespace orrery::run
