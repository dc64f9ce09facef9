// Runs with several tiers of checkpoints: counting whole cycles of training and save in one go
// gives what counting them event by event gives, to the nanosecond.

#include <gtest/gtest.h>

#include "sim/run/trial/run_simulator.hpp"
#include "tests/property/random_runs.hpp"

namespace orrery::run::testing {
namespace {

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
