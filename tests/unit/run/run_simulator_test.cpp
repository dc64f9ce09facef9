#include "sim/run/trial/run_simulator.hpp"

#include <gtest/gtest.h>

#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run {
namespace {

using testing::fail_every;
using testing::plan_of;
using testing::restart_after;
using testing::restart_seconds;
using testing::saving_spec;
using testing::seconds_of;
using testing::steps_of;

struct Scripted {
  RunPlan plan;
  RunResult result;
};

// One trial with failures of the last cause (software) at the given seconds.
Scripted run_script(const RunSpec& spec, const StepInput& step, const std::vector<double>& at) {
  Scripted run{plan_of(spec, step), {}};
  const auto software = static_cast<std::int32_t>(run.plan.causes.size()) - 1;
  std::vector<ScriptedFailure> failures;
  for (const double second : at) {
    failures.push_back({to_sim_time(seconds(second)), software});
  }
  RunSimulator simulator(run.plan);
  run.result = simulator.run({.failures = failures});
  const RunResult slow = simulator.run({.event_by_event = true, .failures = failures});
  EXPECT_EQ(run.result, slow);
  return run;
}

void expect_account(const Scripted& run, double wall, double lost, double checkpoint,
                    double restart) {
  EXPECT_EQ(run.result.wall, to_sim_time(seconds(wall)));
  EXPECT_DOUBLE_EQ(seconds_of(run.plan, run.result, RunCategory::lost_work), lost);
  EXPECT_DOUBLE_EQ(seconds_of(run.plan, run.result, RunCategory::checkpoint_stall), checkpoint);
  EXPECT_DOUBLE_EQ(restart_seconds(run.plan, run.result), restart);
  EXPECT_EQ(run.result.stop, StopReason::target_reached);
}

// 12 steps of 100 s, a blocking save of 10 s every 4 steps (the end included), restart 30 s.
RunSpec hand_spec() {
  RunSpec spec = saving_spec(12, 4, seconds(10.0));
  restart_after(spec, seconds(30.0));
  return spec;
}

TEST(RunSimulator, WithoutFailuresPaysForThreeSaves) {  // des_no_failure
  expect_account(run_script(hand_spec(), steps_of(seconds(100.0)), {}), 1230, 0, 30, 0);
}

TEST(RunSimulator, FailureLosesWorkSinceTheLastSave) {  // des_one_failure
  expect_account(run_script(hand_spec(), steps_of(seconds(100.0)), {650}), 1500, 240, 30, 30);
}

TEST(RunSimulator, FailureDuringASaveLosesTheSave) {  // des_failure_in_checkpoint
  expect_account(run_script(hand_spec(), steps_of(seconds(100.0)), {405}), 1665, 400, 35, 30);
}

TEST(RunSimulator, TwoFailuresReplayTwice) {  // des_two_failures_replay
  RunSpec spec = saving_spec(12, 4, seconds(10.0));
  restart_after(spec, seconds(10.0));
  expect_account(run_script(spec, steps_of(seconds(250.0)), {600, 1300}), 4340, 1290, 30, 20);
}

TEST(RunSimulator, FailureDuringRestartBeginsItAgain) {
  // 650 fails (240 lost), 30 s restart hit at 670 after 20 s: 20 + 30 s of restart.
  expect_account(run_script(hand_spec(), steps_of(seconds(100.0)), {650, 670}), 1520, 240, 30, 50);
}

TEST(RunSimulator, FailureAtTheVeryEndOfASaveFindsItDone) {
  // The save of 400 ... 410 s is durable at 410; nothing is lost.
  expect_account(run_script(hand_spec(), steps_of(seconds(100.0)), {410}), 1260, 0, 30, 30);
}

TEST(RunSimulator, AsynchronousSaveProtectsOnlyWhenDurable) {
  // Saves every 4 steps of 100 s stall 5 s and are durable after 60 s: begun at 400, durable at
  // 460. Fault-free: 1200 + 2 * 5 + final 60 = 1270.
  RunSpec spec = saving_spec(12, 4, seconds(5.0));
  spec.checkpoint.mode = CheckpointMode::async;
  spec.checkpoint.durable = seconds(60.0);
  restart_after(spec, seconds(30.0));
  const StepInput step = steps_of(seconds(100.0));
  expect_account(run_script(spec, step, {}), 1270, 0, 70, 0);
  // At 459 the save is not durable: 400 s of steps and 54 s into the next are lost. 459 + 30 +
  // 1270.
  expect_account(run_script(spec, step, {459}), 1759, 454, 75, 30);
  // At 460 it is: only 55 s are lost, and step 4 stands. 460 + 30 + 800 + 5 + 60 = 1355.
  expect_account(run_script(spec, step, {460}), 1355, 55, 70, 30);
}

TEST(RunSimulator, SaveWaitsForTheOneInFlight) {
  // Due every step of 100 s, but a save takes 250 s until durable: begun at 100, durable at 350;
  // the next boundary is 400, so saves begin at 100, 400, 700; the final one at 1000 waits for that
  // of 700 (950, already durable) and takes 250 s.
  RunSpec spec = saving_spec(10, 1, seconds(0.0));
  spec.checkpoint.mode = CheckpointMode::async;
  spec.checkpoint.durable = seconds(250.0);
  const Scripted run = run_script(spec, steps_of(seconds(100.0)), {});
  EXPECT_EQ(run.result.checkpoints, 4);
  expect_account(run, 1250, 0, 250, 0);
}

TEST(RunSimulator, FinalSaveWaitsForTheOneInFlight) {
  // 3 steps, save at 200 durable at 450; the end at 300 waits 150 s for it, then saves for 250 s.
  RunSpec spec = saving_spec(3, 2, seconds(0.0));
  spec.checkpoint.mode = CheckpointMode::async;
  spec.checkpoint.durable = seconds(250.0);
  expect_account(run_script(spec, steps_of(seconds(100.0)), {}), 700, 0, 400, 0);
}

// At step 6 (610 s) two steps are thrown away and training stands still for 500 s, until 1110 s;
// then eight steps and two saves: 1930 s. A failure at 700 s restarts for 30 s of that stop.
TEST(RunSimulator, AFailureDoesNotShortenTheStopOfARework) {
  RunSpec spec = hand_spec();
  spec.training.rework.push_back({.name = "spike",
                                  .at = std::int64_t{6},
                                  .discard = Progress(std::int64_t{2}),
                                  .stall = seconds(500.0)});
  const StepInput step = steps_of(seconds(100.0));
  const Scripted calm = run_script(spec, step, {});
  expect_account(calm, 1930, 0, 30, 0);
  EXPECT_DOUBLE_EQ(seconds_of(calm.plan, calm.result, RunCategory::rework), 700.0);
  const Scripted struck = run_script(spec, step, {700});
  expect_account(struck, 1930, 0, 30, 30);
  EXPECT_DOUBLE_EQ(seconds_of(struck.plan, struck.result, RunCategory::rework), 670.0);
  // A restart that outlasts the stop: 1100 + 30 s, and training goes on at once.
  expect_account(run_script(spec, step, {1100}), 1950, 0, 30, 30);
}

TEST(RunSimulator, WithoutFinalSaveTheRunEndsWithItsLastStep) {
  RunSpec spec = hand_spec();
  spec.checkpoint.final_save = false;
  expect_account(run_script(spec, steps_of(seconds(100.0)), {}), 1220, 0, 20, 0);
}

TEST(RunSimulator, EvaluationsComeAfterTheSaveAndAreRepeatedAfterARollback) {
  // Evaluation of 7 s every 2 steps: 6 of them; save of 10 s every 4 steps.
  RunSpec spec = hand_spec();
  spec.evaluation = EvaluationSpec{2, seconds(7.0)};
  const StepInput step = steps_of(seconds(100.0));
  const Scripted calm = run_script(spec, step, {});
  EXPECT_DOUBLE_EQ(seconds_of(calm.plan, calm.result, RunCategory::evaluation), 42.0);
  EXPECT_EQ(calm.result.wall, to_sim_time(seconds(1272.0)));
  // Boundaries: 200 eval 207, 407 save 417 eval 424, 624 eval 631. A failure at 700 (69 s into step
  // 7) goes back to step 4, whose evaluation is done; that of step 6 is repeated.
  const Scripted late = run_script(spec, step, {700});
  EXPECT_DOUBLE_EQ(seconds_of(late.plan, late.result, RunCategory::evaluation), 49.0);
  EXPECT_DOUBLE_EQ(seconds_of(late.plan, late.result, RunCategory::lost_work), 269.0);
  // A failure at 420, 3 s into the evaluation of step 4: the save stands, the evaluation is
  // repeated.
  const Scripted early = run_script(spec, step, {420});
  EXPECT_DOUBLE_EQ(seconds_of(early.plan, early.result, RunCategory::evaluation), 45.0);
  EXPECT_DOUBLE_EQ(seconds_of(early.plan, early.result, RunCategory::lost_work), 0.0);
}

TEST(RunSimulator, WindowEndsInTheMiddleOfAStep) {
  // 950 s: 4 steps, save, 4 steps until 810, save until 820, 130 s of training.
  RunSpec spec = hand_spec();
  spec.training.steps.reset();
  spec.training.duration = seconds(950.0);
  const Scripted run = run_script(spec, steps_of(seconds(100.0)), {});
  EXPECT_EQ(run.result.stop, StopReason::window_over);
  EXPECT_EQ(run.result.steps_done, 9);
  EXPECT_DOUBLE_EQ(seconds_of(run.plan, run.result, RunCategory::productive), 930.0);
  EXPECT_DOUBLE_EQ(run.result.goodput, 930.0 / 950.0);
}

TEST(RunSimulator, PlannedStopsSaveFirstAndLoseNothing) {
  // Due at 250: the step ends at 300, save until 310, stop of 20 s until 330. Due at 500: step 5
  // ends at 530, 540, 560. Due at 750: step 7 at 760, 770, 790. Due at 1000: step 10 at 1090, 1100,
  // 1120. Due at 1250: step 12 ends at 1320, which is the target: final save until 1330.
  RunSpec spec = hand_spec();
  spec.failures.maintenance = MaintenanceSpec{1.0 / seconds(250.0), seconds(20.0)};
  const Scripted run = run_script(spec, steps_of(seconds(100.0)), {});
  const double stops = seconds_of(run.plan, run.result, RunCategory::planned_maintenance);
  EXPECT_DOUBLE_EQ(seconds_of(run.plan, run.result, RunCategory::lost_work), 0.0);
  EXPECT_DOUBLE_EQ(seconds_of(run.plan, run.result, RunCategory::productive), 1200.0);
  EXPECT_DOUBLE_EQ(stops, 80.0);
  EXPECT_EQ(run.result.wall, to_sim_time(seconds(1330.0)));
}

TEST(RunSimulator, UnitemisedDowntimeTakesItsShareOfEveryDay) {
  RunSpec spec = saving_spec(1, 1000, seconds(0.0));
  spec.training.steps.reset();
  spec.training.duration = days(10.5);
  spec.failures.unitemised_per_day = hours(1.0);
  const Scripted run = run_script(spec, steps_of(seconds(100.0)), {});
  EXPECT_DOUBLE_EQ(seconds_of(run.plan, run.result, RunCategory::unitemised), 36000.0);
}

// Two nodes, no spare, a node lost at 650 s and repaired 500 s after it leaves.
TEST(RunSimulator, WithoutASpareTheJobWaitsForTheRepair) {
  RunSpec spec = hand_spec();
  spec.recovery.stages[index_of(RecoveryStage::detect)] = fixed(seconds(60.0));
  spec.capacity.repair_time = fixed(seconds(500.0));
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0), 2, 8));
  const std::vector<ScriptedFailure> failures = {{to_sim_time(seconds(650.0)), 0}};
  RunSimulator simulator(plan);
  const RunResult result = simulator.run({.failures = failures});
  // 650 + 60 detect + 500 wait + 30 restart + 800 + 20.
  EXPECT_EQ(result.wall, to_sim_time(seconds(2060.0)));
  EXPECT_DOUBLE_EQ(in_seconds(result.ledger.gpu_time(RunCategory::waiting_for_capacity)),
                   8 * 500.0);
  EXPECT_DOUBLE_EQ(in_seconds(result.ledger.gpu_time(RunCategory::repair)), 8 * 500.0);
  EXPECT_DOUBLE_EQ(in_seconds(result.ledger.gpu_time(RunCategory::detection)), 16 * 60.0);
}

TEST(RunSimulator, ASpareTakesThePlaceAtOnceAndIsBilled) {
  RunSpec spec = hand_spec();
  spec.capacity.spares = 1;
  spec.capacity.repair_time = fixed(seconds(500.0));
  spec.prices.gpu_hour = dollars_per_hour(4.0);
  const StepInput step = steps_of(seconds(100.0), 2, 8);
  const std::vector<ScriptedFailure> failures = {{to_sim_time(seconds(650.0)), 0}};
  const RunPlan plan = plan_of(spec, step);
  const RunResult result = RunSimulator(plan).run({.failures = failures});
  EXPECT_EQ(result.wall, to_sim_time(seconds(1500.0)));
  EXPECT_DOUBLE_EQ(in_seconds(result.ledger.gpu_time(RunCategory::waiting_for_capacity)), 0.0);
  EXPECT_DOUBLE_EQ(in_seconds(result.ledger.gpu_time(RunCategory::repair)), 8 * 500.0);
  EXPECT_DOUBLE_EQ(in_seconds(result.ledger.gpu_time(RunCategory::spare_idle)), 8 * 1000.0);
  EXPECT_DOUBLE_EQ(in_dollars(result.bill.total()), 24 * 4.0 * 1500.0 / 3600.0);
  spec.prices.bill_spares = false;
  const RunPlan unbilled = plan_of(spec, step);
  EXPECT_DOUBLE_EQ(in_dollars(RunSimulator(unbilled).run({.failures = failures}).bill.total()),
                   16 * 4.0 * 1500.0 / 3600.0);
}

// A job of two nodes without a spare: half of the time one of them is in repair, and the other one,
// which waits, must not fail meanwhile. A rate so high that it would always fail: one failure for
// every return of a node, no more.
TEST(RunSimulator, NodesOfAJobThatWaitsDoNotFail) {
  RunSpec spec = saving_spec(1000, 1, Seconds{});
  spec.failures.node_rate = 1.0 / seconds(200.0);
  spec.capacity.repair_time = fixed(seconds(5000.0));
  RunPlan plan = plan_of(spec, steps_of(seconds(10.0), 2));
  RunSimulator simulator(plan);
  for (std::uint32_t trial = 0; trial < 20; ++trial) {
    const RunResult result = simulator.run({.trial = trial});
    ASSERT_TRUE(result.finished());
    const double waited = in_seconds(result.ledger.gpu_time(RunCategory::repair)) / 8.0;
    EXPECT_EQ(waited, 5000.0 * static_cast<double>(result.failures));
    EXPECT_EQ(seconds_of(plan, result, RunCategory::waiting_for_capacity) * 2.0, waited);
  }
}

TEST(RunSimulator, SoftwareFailuresWhileWaitingAreNoFailures) {
  RunSpec spec = hand_spec();
  spec.capacity.repair_time = fixed(seconds(500.0));
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0), 2, 8));
  // 650 takes a node, 800 is software while waiting, 900 takes the other node: repaired at 1400.
  const std::vector<ScriptedFailure> failures = {{to_sim_time(seconds(650.0)), 0},
                                                 {to_sim_time(seconds(800.0)), 1},
                                                 {to_sim_time(seconds(900.0)), 0}};
  const RunResult result = RunSimulator(plan).run({.failures = failures});
  EXPECT_EQ(result.failures, 2);
  EXPECT_EQ(result.wall, to_sim_time(seconds(1400.0 + 30.0 + 820.0)));
}

TEST(RunSimulator, CauseBringsItsOwnRecovery) {
  RunSpec spec = hand_spec();
  FailureCause hang;
  hang.name = "hang";
  hang.category = FailureCategory::software;
  hang.recovery[index_of(RecoveryStage::detect)] = fixed(hours(1.0));
  spec.failures.causes = {hang};
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0)));
  const std::vector<ScriptedFailure> failures = {{to_sim_time(seconds(650.0)), 0}};
  const RunResult result = RunSimulator(plan).run({.failures = failures});
  EXPECT_EQ(result.wall, to_sim_time(seconds(1500.0 + 3600.0)));
  EXPECT_EQ(result.failures_by_cause, (std::vector<std::int64_t>{1, 0}));
}

TEST(RunSimulator, HopelessTrialGivesUpWithAReason) {
  // No segment of 110 s passes at an MTBF of 5 s: e^-22 is 3e-10.
  RunSpec spec = saving_spec(12, 1, seconds(10.0));
  fail_every(spec, seconds(5.0));
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0)));
  const RunResult result = RunSimulator(plan).run({});
  EXPECT_FALSE(result.finished());
  EXPECT_EQ(result.stop, StopReason::no_progress);
  EXPECT_EQ(result.failures, 10000);
}

TEST(RunSimulator, SlowTrialEndsAtTheHorizon) {
  RunSpec spec = hand_spec();
  spec.simulation.max_wall = seconds(1000.0);
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0)));
  const RunResult result = RunSimulator(plan).run({});
  EXPECT_EQ(result.stop, StopReason::horizon);
  EXPECT_EQ(result.wall, to_sim_time(seconds(1000.0)));
  EXPECT_EQ(result.steps_done, 9);
}

TEST(RunTimelineTest, TilesTheWallTimeAndAgreesWithTheLedger) {
  RunSpec spec = hand_spec();
  spec.training.steps = 400;
  spec.evaluation = EvaluationSpec{6, seconds(7.0)};
  spec.checkpoint.mode = CheckpointMode::async;
  spec.checkpoint.durable = seconds(150.0);
  fail_every(spec, seconds(900.0));
  const RunPlan plan = plan_of(spec, steps_of(seconds(100.0)));
  RunTimeline timeline;
  const RunResult result = RunSimulator(plan).run({.trial = 3, .timeline = &timeline});
  EXPECT_EQ(result, RunSimulator(plan).run({.trial = 3}));
  EXPECT_GT(result.failures, 20);
  SimTime at;
  SimTime lost;
  std::int64_t marks = 0;
  for (const RunInterval& interval : timeline.intervals()) {
    EXPECT_EQ(interval.begin, at);
    at = interval.end;
    lost += interval.kind == RunActivity::lost_training ? interval.end - interval.begin : SimTime{};
    marks += interval.kind == RunActivity::failure ? 1 : 0;
  }
  EXPECT_EQ(at, result.wall);
  EXPECT_EQ(marks, result.failures);
  EXPECT_TRUE(result.ledger.gpu_nanoseconds(RunCategory::lost_work) ==
              static_cast<Int128>(lost.ns) * plan.job_gpus());
}

// A planned restart is no recovery: failures go on after it. Recoveries take no time here.
TEST(RunSimulator, FailuresGoOnAfterAPhaseThatBeginsWithARestart) {
  RunSpec spec = saving_spec(20'000, 10, seconds(1.0));
  fail_every(spec, seconds(500.0));
  RunPlan plan = plan_of(spec, steps_of(seconds(1.0)));
  PlannedPhase late = plan.phases.front();
  plan.phases.front().until_step = 1000;
  late.change = to_sim_time(seconds(60.0));
  plan.phases.push_back(late);
  const RunResult with = RunSimulator(plan).run({});
  plan.failures.during_recovery = false;
  const RunResult without = RunSimulator(plan).run({});
  EXPECT_GT(without.failures, 20);
  EXPECT_EQ(without, with);
}

}  // namespace
}  // namespace orrery::run
