// What must hold between two runs that differ in one thing that is better in one of them: the same
// random numbers for both, and a tolerance of three standard errors of the paired difference.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/run/trial/run_simulator.hpp"
#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run::testing {
namespace {

// Random valid runs for properties: some days of a job of 2 to 16 nodes that fails every few hours.
// Test helper.
//
// symbol | meaning                            | unit | origin
// -------|------------------------------------|------|-------
// random | decides everything; seed, round    | -    | test

struct RandomRun {
  RunSpec spec;
  StepInput step;

  [[nodiscard]] RunPlan plan() const { return plan_of(spec, step); }

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} nodes, {} spares, {} steps of {} s, a node fails every {} h{}",
                       step.nodes, spec.capacity.spares, spec.training.steps.value_or(0),
                       in_seconds(to_seconds(step.step_time)),
                       in_hours(1.0 / *spec.failures.node_rate),
                       spec.capacity.spot ? ", on spot" : "");
  }

  // Nodes on spot in place of failing ones, with enough notice for a save.
  void make_spot(RandomStream& random) {
    SpotSpec& spot = spec.capacity.spot.emplace();
    spot.share = random.uniform01() < 0.5 ? 1.0 : 0.5;
    spot.rate = 1.0 / hours(2.0 + 20.0 * random.uniform01());
    spot.burst = 1 + static_cast<std::int64_t>(random.uniform_int(2));
    spot.returns = ExponentialLaw{minutes(5.0 + 60.0 * random.uniform01())};
    spot.notice = minutes(1.0 + 2.0 * random.uniform01());
    spec.capacity.elastic = ElasticSpec{1, Growth::at_once};
    for (std::int64_t nodes = 1; nodes <= step.nodes; ++nodes) {
      step.sizes.push_back({nodes, {step.step_time.ns * step.nodes / nodes}});
    }
  }
};

RandomRun random_run(RandomStream& random) {
  const auto between = [&](double low, double high) {
    return low + (high - low) * random.uniform01();
  };
  RandomRun run;
  const auto nodes = 2 + static_cast<std::int64_t>(random.uniform_int(15));
  run.step = steps_of(seconds(between(2.0, 30.0)), nodes);
  run.step.parameters = between(1.0, 100.0) * kGiga;
  RunSpec& spec = run.spec;
  const double days_of_training = between(2.0, 8.0);
  spec.training.steps =
      static_cast<std::int64_t>(days(days_of_training) / to_seconds(run.step.step_time));
  spec.failures.node_rate = 1.0 / hours(between(20.0, 400.0));
  spec.failures.job_rate = 1.0 / hours(between(20.0, 400.0));
  spec.checkpoint.interval = TimeInterval{minutes(between(5.0, 90.0))};
  spec.checkpoint.mode = random.uniform01() < 0.5 ? CheckpointMode::sync : CheckpointMode::async;
  spec.checkpoint.storage.write = gigabytes_per_second(between(5.0, 100.0));
  spec.checkpoint.storage.read = spec.checkpoint.storage.write;
  spec.recovery.stages[index_of(RecoveryStage::detect)] =
      UniformLaw{minutes(1.0), minutes(between(2.0, 30.0))};
  spec.recovery.stages[index_of(RecoveryStage::reschedule)] = fixed(minutes(between(0.5, 10.0)));
  spec.capacity.spares = static_cast<std::int64_t>(random.uniform_int(3));
  spec.capacity.repair_time = ExponentialLaw{hours(between(1.0, 24.0))};
  spec.simulation.seed = random.uniform_int(1000);
  return run;
}

constexpr std::uint64_t kSeed = 20261122;
constexpr int kRounds = 60;
constexpr std::uint32_t kTrials = 60;

// What a trial achieved per time: useful GPU time for its wall time.
double speed(const RunResult& result) {
  return in_seconds(result.ledger.gpu_time(RunCategory::productive)) /
         in_seconds(to_seconds(result.wall));
}

// Mean of better - worse over the trials, and its standard error.
struct Gain {
  double mean = 0.0;
  double error = 0.0;
  double scale = 0.0;
};

Gain gain_of(const RunPlan& worse, const RunPlan& better) {
  RunSimulator slow(worse);
  RunSimulator fast(better);
  Moments moments;
  Gain gain;
  for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
    const double before = speed(slow.run({.trial = trial}));
    moments.add(speed(fast.run({.trial = trial})) - before);
    gain.scale += before / kTrials;
  }
  gain.mean = moments.mean;
  gain.error = std::sqrt(moments.squares / (kTrials - 1.0) / kTrials);
  return gain;
}

// Over all rounds: no single one beyond four standard errors, and their sum not negative beyond
// three. Where the change moves no draw, nothing but chance in what follows can cost.
void expect_never_worse(const std::function<void(RandomRun&, RandomStream&)>& improve,
                        const std::string& what,
                        const std::function<void(RandomRun&, RandomStream&)>& prepare = {}) {
  double sum = 0.0;
  double variance = 0.0;
  int felt = 0;
  for (int round = 0; round < kRounds; ++round) {
    RandomStream random(kSeed, static_cast<std::uint32_t>(round), Purpose::property_test);
    RandomRun run = random_run(random);
    if (prepare) {
      prepare(run, random);
    }
    RandomRun better = run;
    improve(better, random);
    const Gain gain = gain_of(run.plan(), better.plan());
    EXPECT_GE(gain.mean, -4.0 * gain.error - 1e-9 * gain.scale)
        << what << ", seed " << kSeed << ", round " << round << ": " << run.describe();
    if (gain.scale > 0.0) {
      sum += gain.mean / gain.scale;
      variance += gain.error * gain.error / gain.scale / gain.scale;
    }
    felt += gain.mean != 0.0 ? 1 : 0;
  }
  EXPECT_GE(sum, -3.0 * std::sqrt(variance) - 1e-9) << what << ", all rounds";
  EXPECT_GT(felt, kRounds / 10) << what << " should matter in some rounds";
}

TEST(RunMetamorphic, MoreSparesNeverCostTime) {
  expect_never_worse(
      [](RandomRun& run, RandomStream& random) {
        run.spec.capacity.spares += 1 + static_cast<std::int64_t>(random.uniform_int(4));
      },
      "more spares");
}

TEST(RunMetamorphic, LowerFailureRatesNeverCostTime) {
  expect_never_worse(
      [](RandomRun& run, RandomStream& random) {
        const double factor = 0.3 + 0.6 * random.uniform01();
        run.spec.failures.node_rate = *run.spec.failures.node_rate * factor;
        run.spec.failures.job_rate = *run.spec.failures.job_rate * factor;
      },
      "fewer failures");
}

TEST(RunMetamorphic, FasterDetectionNeverCostsTime) {
  expect_never_worse(
      [](RandomRun& run, RandomStream& random) {
        auto& detect = run.spec.recovery.stages[index_of(RecoveryStage::detect)];
        detect = scaled(*detect, random.uniform01());
      },
      "faster detection");
}

TEST(RunMetamorphic, FasterStorageNeverCostsTime) {
  expect_never_worse(
      [](RandomRun& run, RandomStream& random) {
        const double factor = 1.0 + 4.0 * random.uniform01();
        run.spec.checkpoint.storage.write = run.spec.checkpoint.storage.write * factor;
        run.spec.checkpoint.storage.read = run.spec.checkpoint.storage.read * factor;
      },
      "faster storage");
}

TEST(RunMetamorphic, FasterRepairsNeverCostTime) {
  expect_never_worse(
      [](RandomRun& run, RandomStream& random) {
        run.spec.capacity.repair_time = scaled(*run.spec.capacity.repair_time, random.uniform01());
      },
      "faster repairs");
}

// Notices that overlap are the rule here: up to sixteen nodes, each lost every few hours.
TEST(RunMetamorphic, LongerNoticeOfSpotNodesNeverCostsTime) {
  expect_never_worse(
      [](RandomRun& run, RandomStream& random) {
        SpotSpec& spot = *run.spec.capacity.spot;
        spot.notice = spot.notice * (1.5 + 8.0 * random.uniform01());
      },
      "longer notice", [](RandomRun& run, RandomStream& random) { run.make_spot(random); });
}

// More work takes longer in every single trial: the draws are the same, and the run with more
// tokens passes through the end of the other one.
TEST(RunMetamorphic, FinishTimeRisesWithTokens) {
  for (int round = 0; round < 2 * kRounds; ++round) {
    RandomStream random(kSeed, static_cast<std::uint32_t>(round), Purpose::property_test);
    RandomRun run = random_run(random);
    run.spec.checkpoint.interval =
        StepsInterval{1 + static_cast<std::int64_t>(random.uniform_int(60))};
    run.spec.checkpoint.final_save = false;
    RandomRun longer = run;
    longer.spec.training.steps =
        *run.spec.training.steps + 1 + static_cast<std::int64_t>(random.uniform_int(500));
    const RunPlan short_plan = run.plan();
    const RunPlan long_plan = longer.plan();
    RunSimulator first(short_plan);
    RunSimulator second(long_plan);
    for (std::uint32_t trial = 0; trial < 20; ++trial) {
      const RunResult a = first.run({.trial = trial});
      const RunResult b = second.run({.trial = trial});
      if (a.finished() && b.finished()) {
        EXPECT_LT(a.wall, b.wall) << "seed " << kSeed << ", round " << round << ", trial " << trial;
      }
    }
  }
}

// The simulator aborts when a ledger does not add up to the GPUs held; here, as well, that the
// ledger of all trials is the sum of those of the trials, and that no row is negative.
TEST(RunMetamorphic, LedgersAddUpToTheGpusHeldToTheNanosecond) {
  for (int round = 0; round < kRounds; ++round) {
    RandomStream random(kSeed, static_cast<std::uint32_t>(round), Purpose::property_test);
    RandomRun run = random_run(random);
    if (round % 2 == 0) {
      run.make_spot(random);
    }
    run.spec.simulation.trials = 20;
    const RunPlan plan = run.plan();
    const auto all = simulate(plan);
    ASSERT_TRUE(all.has_value());
    RunSimulator simulator(plan);
    RunLedger sum;
    for (std::uint32_t trial = 0; trial < 20; ++trial) {
      const RunResult one = simulator.run({.trial = trial});
      sum += one.ledger;
      for (std::size_t c = 0; c < RunLedger::kCategories; ++c) {
        EXPECT_GE(one.ledger.gpu_nanoseconds(static_cast<RunCategory>(c)), Int128{0});
      }
    }
    EXPECT_EQ(sum, all->ledger_sum) << "seed " << kSeed << ", round " << round;
  }
}

// Runs with several tiers of checkpoints: counting whole cycles of training and save in one go
// gives what counting them event by event gives, to the nanosecond.

// Two or three tiers with turns that may or may not divide each other, copies that may outlast the
// time to the next save, copies that cannot be read, preemptions.
RunPlan tiered_plan(RandomStream& random, std::string& description) {
  const auto between = [&random](double low, double high) {
    return low + (high - low) * random.uniform01();
  };
  const auto happens = [&random](double probability) { return random.uniform01() < probability; };
  RandomRun run = random_run(random);
  const std::uint64_t below_storage = 1 + random.uniform_int(2);
  double interval = between(0.5, 6.0);
  for (std::uint64_t i = 0; i < below_storage; ++i) {
    TierSpec tier;
    tier.name = fmt::format("tier{}", i);
    tier.medium = TierMedium::disk;
    tier.write = gigabytes_per_second(between(0.5, 20.0));
    tier.read = tier.write;
    tier.mode = happens(0.3) ? CheckpointMode::sync : CheckpointMode::async;
    tier.interval = TimeInterval{minutes(interval)};
    tier.stall = seconds(between(0.0, 5.0));
    if (tier.mode == CheckpointMode::async) {
      tier.durable = *tier.stall + seconds(happens(0.3) ? 0.0 : between(0.0, 120.0));
    }
    run.spec.checkpoint.tiers.push_back(tier);
    interval *= between(2.0, 6.0);
  }
  run.spec.checkpoint.interval = TimeInterval{minutes(interval)};
  if (happens(0.3)) {
    run.spec.checkpoint.corrupt = 0.2;
  }
  if (happens(0.3)) {
    run.make_spot(random);
  }
  description = run.describe();
  return run.plan();
}

TEST(TieredRuns, SkippedCyclesGiveTheSameToTheNanosecond) {
  constexpr std::uint64_t kTierSeed = 77;
  constexpr std::uint32_t kPlans = 400;
  constexpr std::uint32_t kTrialsOfPlan = 5;
  for (std::uint32_t round = 0; round < kPlans; ++round) {
    RandomStream random(kTierSeed, round, Purpose::property_test);
    std::string description;
    const RunPlan plan = tiered_plan(random, description);
    ASSERT_GE(plan.checkpoint.tiers.size(), 2U);
    RunSimulator simulator(plan);
    for (std::uint32_t trial = 0; trial < kTrialsOfPlan; ++trial) {
      const RunResult skipped = simulator.run({.trial = trial});
      ASSERT_EQ(skipped, simulator.run({.trial = trial, .event_by_event = true}))
          << "seed " << kTierSeed << ", plan " << round << ", trial " << trial << ": "
          << description;
    }
  }
}

}  // namespace
}  // namespace orrery::run::testing
