// Random runs: the simulator against a naive second implementation, and its invariants.

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/unit/run/reference_run.hpp"
#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run {
namespace {

using testing::plan_of;
using testing::ReferenceResult;
using testing::ReferenceRun;
using testing::steps_of;

constexpr std::uint64_t kSeed = 20261121;

// Draws with readable ranges.
class Dice {
 public:
  explicit Dice(std::uint32_t round) : stream_(kSeed, round, Purpose::property_test) {}

  std::int64_t whole(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(
                     stream_.uniform_int(static_cast<std::uint64_t>(high - low + 1)));
  }

  // Whole seconds most of the time, so that events coincide often.
  Seconds time(std::int64_t low, std::int64_t high) {
    const double fraction = stream_.uniform01() < 0.7 ? 0.0 : stream_.uniform01();
    return seconds(static_cast<double>(whole(low, high)) + fraction);
  }

  bool chance(double probability) { return stream_.uniform01() < probability; }

 private:
  RandomStream stream_;
};

Duration any_duration(Dice& dice) {
  switch (dice.whole(0, 3)) {
    case 0:
      return fixed(dice.time(0, 60));
    case 1:
      return ExponentialLaw{dice.time(1, 60)};
    case 2:
      return LognormalLaw{dice.time(1, 60), 1.0};
    default:
      return UniformLaw{seconds(0.0), dice.time(1, 100)};
  }
}

RunSpec any_spec(Dice& dice) {
  RunSpec spec;
  if (dice.chance(0.5)) {
    spec.training.steps = dice.whole(1, 300);
  } else {
    spec.training.duration = dice.time(1, 5000);
  }
  if (dice.chance(0.9)) {
    spec.checkpoint.interval = StepsInterval{dice.whole(1, 20)};
  }
  spec.checkpoint.mode = dice.chance(0.5) ? CheckpointMode::async : CheckpointMode::sync;
  spec.checkpoint.stall = dice.time(0, 20);
  if (spec.checkpoint.mode == CheckpointMode::async) {
    spec.checkpoint.durable = *spec.checkpoint.stall + dice.time(0, 150);
  }
  spec.checkpoint.final_save = dice.chance(0.7);
  if (dice.chance(0.5)) {
    spec.evaluation = EvaluationSpec{dice.whole(1, 30), dice.time(0, 40)};
  }
  if (dice.chance(0.5)) {
    const Seconds period = dice.time(60, 900);
    spec.failures.maintenance = MaintenanceSpec{1.0 / period, dice.time(0, 50)};
  }
  if (dice.chance(0.3)) {
    spec.failures.unitemised_per_day = hours(2.0);
  }
  for (auto& stage : spec.recovery.stages) {
    stage = fixed(dice.time(0, 10));
  }
  return spec;
}

// Phases of other paces, with a stop before them or without.
void add_phases(RunPlan& plan, Dice& dice) {
  std::int64_t until = 0;
  const PlannedPhase base = plan.phases.front();
  plan.phases.clear();
  for (std::int64_t i = dice.whole(1, 3); i >= 0; --i) {
    PlannedPhase phase = base;
    until += dice.whole(1, 60);
    phase.until_step = i == 0 ? kLastStep : until;
    phase.step_time = to_sim_time(dice.time(1, 20));
    phase.change = dice.chance(0.5) ? SimTime{} : to_sim_time(dice.time(0, 50));
    plan.phases.push_back(phase);
  }
}

void add_rework(RunPlan& plan, Dice& dice) {
  std::int64_t at = 0;
  for (std::int64_t i = dice.whole(1, 3); i > 0; --i) {
    at += dice.whole(1, 50);
    plan.rework.push_back({.at_step = at,
                           .discard_steps = dice.whole(1, at),
                           .name = {},
                           .stall = to_sim_time(dice.time(0, 30))});
  }
}

// Two or three tiers, each with its own load, whose copies survive a cause or do not.
void add_tiers(RunPlan& plan, Dice& dice) {
  CheckpointPlan& checkpoint = plan.checkpoint;
  const PlannedSave slow = checkpoint.saves.back();
  const PlannedTier storage = checkpoint.tiers.back();
  const std::int32_t faster = dice.chance(0.5) ? 1 : 2;
  checkpoint.tiers.clear();
  checkpoint.saves.clear();
  std::int64_t every = 1;
  PlannedSave save{slow.stall, {}};
  for (std::int32_t i = 0; i <= faster; ++i) {
    PlannedTier tier = storage;
    tier.every_saves = every;
    every *= dice.whole(1, 4);
    for (Duration& load : tier.load) {
      load = fixed(dice.time(0, 20));
    }
    if (i < faster) {
      for (double& survives : tier.survival.by_cause) {
        survives = dice.chance(0.5) ? 1.0 : 0.0;
      }
    }
    const SimTime copy = i < faster ? save.stall + to_sim_time(dice.time(0, 60))
                                    : slow.copies.back().durable + save.stall;
    save.copies.push_back({i, copy});
    checkpoint.tiers.push_back(tier);
    checkpoint.saves.push_back(save);
    save.stall += to_sim_time(dice.time(0, 3));
  }
}

void add_late_saves(RunPlan& plan, Dice& dice) {
  JustInTime& late = plan.checkpoint.just_in_time.emplace();
  late.save = to_sim_time(dice.time(0, 20));
  late.survival.by_cause.resize(plan.causes.size());
  for (double& survives : late.survival.by_cause) {
    survives = dice.chance(0.5) ? 1.0 : 0.0;
  }
}

// What any_spec cannot ask for, into the plan; no cause takes a node.
void complicate(RunPlan& plan, Dice& dice) {
  for (PlannedCause& cause : plan.causes) {
    cause.takes_nodes = 0;
  }
  if (dice.chance(0.4)) {
    add_phases(plan, dice);
  }
  if (dice.chance(0.4)) {
    add_rework(plan, dice);
  }
  if (dice.chance(0.5)) {
    add_tiers(plan, dice);
  }
  if (dice.chance(0.3)) {
    add_late_saves(plan, dice);
  }
}

void expect_equal(const RunPlan& plan, const RunResult& result, const ReferenceResult& reference) {
  EXPECT_EQ(result.wall.ns, reference.wall);
  EXPECT_EQ(result.steps_done, reference.steps);
  EXPECT_EQ(result.checkpoints, reference.saves);
  EXPECT_EQ(result.failures, reference.failures);
  for (std::size_t i = 0; i < RunLedger::kCategories; ++i) {
    const auto category = static_cast<RunCategory>(i);
    const auto found = reference.ns.find(category);
    const Int128 expected = found == reference.ns.end() ? 0 : found->second;
    EXPECT_TRUE(result.ledger.gpu_nanoseconds(category) == expected * plan.job_gpus())
        << to_string(category);
  }
}

TEST(RunProperty, AgreesWithANaiveSimulationToTheNanosecond) {
  constexpr std::uint32_t kRounds = 4000;
  std::int64_t failures_in_all = 0;
  for (std::uint32_t round = 0; round < kRounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    Dice dice(round);
    RunPlan plan = plan_of(any_spec(dice), steps_of(dice.time(1, 20)));
    complicate(plan, dice);
    const auto causes = static_cast<std::int64_t>(plan.causes.size());
    std::vector<ScriptedFailure> failures;
    SimTime at;
    for (std::int64_t i = dice.whole(0, 30); i > 0; --i) {
      at += to_sim_time(dice.time(1, 400));
      failures.push_back({at, static_cast<std::int32_t>(dice.whole(0, causes - 1))});
    }
    RunSimulator simulator(plan);
    const RunResult fast = simulator.run({.failures = failures});
    const RunResult slow = simulator.run({.event_by_event = true, .failures = failures});
    expect_equal(plan, fast, ReferenceRun(plan, failures).run());
    EXPECT_EQ(fast, slow);
    RunTimeline timeline;
    EXPECT_EQ(fast, simulator.run({.timeline = &timeline, .failures = failures}));
    failures_in_all += fast.failures;
  }
  EXPECT_GT(failures_in_all, 10 * kRounds / 2);
}

// One trial both ways, the same to the nanosecond; the intervals of its timeline leave no gap. The
// simulator checks that its ledger adds up to the nodes held.
RunResult same_with_and_without_skipping(const RunPlan& plan, std::uint32_t trial,
                                         RunTimeline& timeline) {
  RunSimulator simulator(plan);
  const RunResult fast = simulator.run({.trial = trial});
  EXPECT_EQ(fast, simulator.run({.trial = trial, .timeline = &timeline}));
  SimTime end;
  for (const RunInterval& interval : timeline.intervals()) {
    EXPECT_EQ(interval.begin, end);
    end = interval.end;
  }
  EXPECT_EQ(end, fast.wall);
  return fast;
}

// Random failures, laws, spares and repairs. The simulator itself checks that the ledger adds up to
// the allocated GPU time; here the timeline must tell the same story.
TEST(RunProperty, LedgerTimelineAndFastForwardAgreeOnRandomRuns) {
  constexpr std::uint32_t kRounds = 2000;
  for (std::uint32_t round = 0; round < kRounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    Dice dice(round + kRounds * 10);
    RunSpec spec = any_spec(dice);
    const std::int64_t nodes = dice.whole(1, 6);
    spec.failures.node_rate = 1.0 / dice.time(100, 5000) / static_cast<double>(nodes);
    spec.failures.job_rate = dice.chance(0.5) ? 1.0 / dice.time(100, 5000) : PerSecond{};
    for (auto& stage : spec.recovery.stages) {
      stage = any_duration(dice);
    }
    spec.capacity.spares = dice.whole(0, 3);
    spec.capacity.repair_time = any_duration(dice);
    spec.simulation.seed = round;
    const RunPlan plan = plan_of(spec, steps_of(dice.time(1, 20), nodes, dice.whole(1, 8)));
    RunTimeline timeline;
    const RunResult fast = same_with_and_without_skipping(plan, round, timeline);
    Int128 productive = 0;
    for (const RunInterval& interval : timeline.intervals()) {
      if (interval.kind == RunActivity::training) {
        productive += interval.end.ns - interval.begin.ns;
      }
    }
    EXPECT_TRUE(productive * plan.job_gpus() ==
                fast.ledger.gpu_nanoseconds(RunCategory::productive));
  }
}

SlowdownSpec any_slowdown(Dice& dice) {
  SlowdownSpec slow;
  slow.name = "slow";
  slow.job_rate = 1.0 / dice.time(200, 3000);
  slow.slowdown = {1.0 + static_cast<double>(dice.whole(1, 20)) / 10.0, dice.chance(0.5) ? 0.5 : 0};
  slow.duration = any_duration(dice);
  if (dice.chance(0.4)) {
    slow.evict_after = dice.time(1, 60);
  }
  return slow;
}

// Everything that does not stop the job at once.
void add_disturbances(RunSpec& spec, Dice& dice) {
  if (dice.chance(0.5)) {
    spec.failures.stragglers = {any_slowdown(dice), any_slowdown(dice)};
    spec.failures.stragglers.back().name = "slower";
  }
  if (dice.chance(0.4)) {
    SilentSpec& silent = spec.failures.silent.emplace();
    silent.job_rate = 1.0 / dice.time(200, 3000);
    silent.detection = any_duration(dice);
    silent.repeats = dice.chance(0.5) ? 0.5 : 0.0;
    silent.repeat_after = any_duration(dice);
  }
  if (dice.chance(0.4)) {
    SpikeSpec& spike = spec.failures.spikes.emplace();
    spike.rate = 1.0 / dice.time(200, 3000);
    (dice.chance(0.5) ? spike.rewind_steps : spike.skip_steps) = dice.whole(1, 30);
  }
  if (dice.chance(0.3)) {
    FailureCause old;
    old.name = "old part";
    old.category = FailureCategory::gpu;
    old.life = weibull_of_mean(1.5, dice.time(500, 9000));
    spec.failures.causes.push_back(old);
  }
}

void add_saving(RunSpec& spec, Dice& dice) {
  spec.checkpoint.interval = StepsInterval{dice.whole(1, 20)};
  spec.checkpoint.corrupt = dice.chance(0.3) ? 0.2 : 0.0;
  if (dice.chance(0.3)) {
    spec.checkpoint.keep = dice.whole(1, 3);
    if (dice.chance(0.5)) {
      spec.checkpoint.keep_every = dice.whole(2, 5);
    }
  }
  spec.recovery.restart_fails = dice.chance(0.3) ? 0.2 : 0.0;
  spec.recovery.failed_restart = dice.time(0, 20);
}

void add_capacity(RunSpec& spec, StepInput& step, Dice& dice) {
  spec.capacity.spares = dice.whole(0, 3);
  spec.capacity.warm = {dice.whole(0, 2), any_duration(dice), true};
  spec.capacity.cold = {dice.whole(0, 2), any_duration(dice), false};
  spec.capacity.repair_time = any_duration(dice);
  if (dice.chance(0.5)) {
    const std::int64_t least = dice.whole(1, step.nodes);
    constexpr std::array<Growth, 3> kGrowth = {Growth::at_checkpoint, Growth::at_once,
                                               Growth::never};
    spec.capacity.elastic = ElasticSpec{least, kGrowth[static_cast<std::size_t>(dice.whole(0, 2))]};
    for (std::int64_t nodes = least; nodes <= step.nodes; ++nodes) {
      step.sizes.push_back({nodes, {step.step_time.ns * step.nodes / nodes}});
    }
  }
  if (dice.chance(0.4)) {
    SpotSpec& spot = spec.capacity.spot.emplace();
    spot.share = 0.5;
    spot.rate = 1.0 / dice.time(500, 5000);
    spot.burst = dice.whole(1, 2);
    spot.returns = any_duration(dice);
    spot.notice = dice.time(0, 60);
  }
}

// All parts at once.
TEST(RunProperty, EverythingAtOnceIsTheSameWithAndWithoutSkipping) {
  constexpr std::uint32_t kRounds = 2000;
  std::int64_t resizes = 0;
  std::int64_t disturbances = 0;
  for (std::uint32_t round = 0; round < kRounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    Dice dice(round + kRounds * 100);
    RunSpec spec = any_spec(dice);
    StepInput step = steps_of(dice.time(1, 20), dice.whole(1, 6), dice.whole(1, 8));
    spec.failures.node_rate = 1.0 / dice.time(100, 5000) / static_cast<double>(step.nodes);
    add_disturbances(spec, dice);
    add_saving(spec, dice);
    add_capacity(spec, step, dice);
    spec.simulation.seed = round;
    RunPlan plan = plan_of(spec, step);
    if (dice.chance(0.3)) {
      add_tiers(plan, dice);
    }
    if (dice.chance(0.3)) {
      add_late_saves(plan, dice);
    }
    if (dice.chance(0.3)) {
      add_phases(plan, dice);
    }
    RunSimulator simulator(plan);
    RunTimeline timeline;
    const RunResult fast = simulator.run({.trial = round});
    const RunResult slow = simulator.run({.trial = round, .timeline = &timeline});
    EXPECT_EQ(fast, slow);
    resizes += fast.resizes;
    disturbances += fast.slowdowns + fast.corruptions + fast.spikes;
  }
  EXPECT_GT(resizes, kRounds / 10);
  EXPECT_GT(disturbances, kRounds);
}

// A copy is durable long after its stall, nodes come and go, and the job grows at its next
// checkpoint: a save that is due while one is in flight waits, and so does the growth.
void make_growing(RunSpec& spec, StepInput& step, Dice& dice) {
  spec.checkpoint.mode = CheckpointMode::async;
  spec.checkpoint.interval = StepsInterval{dice.whole(1, 20)};
  spec.checkpoint.stall = dice.time(0, 20);
  spec.checkpoint.durable = *spec.checkpoint.stall + dice.time(0, 600);
  spec.capacity.spares = dice.whole(0, 1);
  spec.capacity.repair_time = any_duration(dice);
  const std::int64_t least = dice.whole(1, step.nodes);
  spec.capacity.elastic = ElasticSpec{least, Growth::at_checkpoint};
  for (std::int64_t nodes = least; nodes <= step.nodes; ++nodes) {
    step.sizes.push_back({nodes, {step.step_time.ns * step.nodes / nodes}});
  }
  if (dice.chance(0.5)) {
    SpotSpec& spot = spec.capacity.spot.emplace();
    spot.rate = 1.0 / dice.time(500, 5000);
    spot.returns = any_duration(dice);
    spot.notice = dice.time(0, 60);
  }
}

TEST(RunProperty, AnElasticJobThatGrowsAtAsynchronousSavesEndsTheSameWithAndWithoutSkipping) {
  constexpr std::uint32_t kRounds = 3000;
  std::int64_t resizes = 0;
  std::int64_t finished = 0;
  for (std::uint32_t round = 0; round < kRounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    Dice dice(round + kRounds * 200);
    RunSpec spec = any_spec(dice);
    StepInput step = steps_of(dice.time(1, 20), dice.whole(2, 8), dice.whole(1, 8));
    spec.failures.node_rate = 1.0 / dice.time(200, 5000) / static_cast<double>(step.nodes);
    make_growing(spec, step, dice);
    spec.simulation.seed = round;
    RunPlan plan = plan_of(spec, step);
    if (dice.chance(0.3)) {
      add_tiers(plan, dice);
    }
    RunTimeline timeline;
    const RunResult fast = same_with_and_without_skipping(plan, round, timeline);
    EXPECT_LE(fast.wall, plan.end);
    EXPECT_NE(fast.stop, StopReason::interrupted);
    resizes += fast.resizes;
    finished += fast.finished() ? 1 : 0;
  }
  EXPECT_GT(resizes, kRounds);
  EXPECT_GT(finished, kRounds / 2);
}

}  // namespace
}  // namespace orrery::run
