#include "sim/run/checkpoints/checkpoint_plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "sim/run/checkpoints/checkpoint_rates.hpp"
#include "sim/run/theory/theory.hpp"
#include "tests/oracle/run_times.hpp"
#include "tests/shipped_presets.hpp"
#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run {
namespace {

using testing::fail_every;
using testing::plan_of;
using testing::saving_spec;
using testing::steps_of;

// 16,384 H100 in 2,048 nodes, 405e9 parameters, 128 data-parallel ranks, 8 NICs of 400 Gbit/s.
StepInput saving_llama_step() {
  StepInput step = steps_of(seconds(6.2208), 2048, 8);
  step.parameters = 405e9;
  step.data_parallel = 128;
  step.replicated_bytes = bytes(2.0);
  step.node_network = 8.0 * gigabits_per_second(400.0);
  return step;
}

RunSpec tiered_spec() {
  RunSpec spec;
  spec.training.duration = days(54.0);
  spec.failures.preset = shipped::failures("llama3-2024");
  spec.checkpoint.mode = CheckpointMode::async;
  return spec;
}

TierSpec memory_tier(std::int64_t replicas) {
  TierSpec tier;
  tier.replicas = replicas;
  return tier;
}

TierSpec disk_tier() {
  TierSpec tier;
  tier.medium = TierMedium::disk;
  tier.write = gigabytes_per_second(6.0);
  tier.read = gigabytes_per_second(12.0);
  return tier;
}

void expect_error(const RunSpec& spec, const StepInput& step, const std::string& key,
                  const std::string& message) {
  std::vector<RunProblem> problems;
  EXPECT_FALSE(resolve_run(spec, step, problems).has_value());
  ASSERT_EQ(problems.size(), 1U) << message;
  EXPECT_EQ(problems[0].key, key);
  EXPECT_EQ(problems[0].message, message);
}

double in_s(SimTime time) { return in_seconds(to_seconds(time)); }

// 5.67 TB at 50 MB/s of each GPU take 6.92 s, 6 s of which run beside forward and backward; 2 TB/s
// write them in 2.84 s. CheckFreq's budget of 3.5 % wants 0.92 / 0.035 = 26.4 s: five steps.
TEST(CheckpointPlan, ASnapshotStallsForWhatOutlastsForwardAndBackward) {
  RunSpec spec;
  spec.training.duration = days(1.0);
  spec.checkpoint.mode = CheckpointMode::snapshot;
  spec.checkpoint.overhead_budget = 0.035;
  spec.checkpoint.device_to_host = gigabytes_per_second(0.05);
  StepInput step = saving_llama_step();
  step.update = to_sim_time(seconds(0.2208));
  const double copy = 405e9 * 14.0 / 16384.0 / 0.05e9;
  const RunPlan slow = plan_of(spec, step);
  EXPECT_NEAR(in_seconds(to_seconds(slow.stall)), copy - 6.0, 1e-6);
  EXPECT_NEAR(in_seconds(to_seconds(slow.durable)), copy + 405e9 * 14.0 / 2e12, 1e-6);
  EXPECT_EQ(slow.checkpoint.emergency, slow.durable) << "the copy counts where nothing hides it";
  EXPECT_EQ(slow.checkpoint_steps, 5);
  spec.checkpoint.device_to_host = gigabytes_per_second(20.0);  // hidden: the write decides
  const RunPlan hidden = plan_of(spec, step);
  EXPECT_EQ(hidden.stall, SimTime{});
  EXPECT_EQ(hidden.checkpoint_steps, 1);
  spec.checkpoint.overhead_budget = 2.0;
  expect_error(spec, step, "checkpoint.overhead_budget", "must be above 0 and at most 1");
}

TEST(CheckpointRates, TheNarrowestLimitCounts) {
  StorageRates rates{gigabytes_per_second(100.0), {}, {}, 1.0};
  const auto rate = [&](std::int64_t nodes, std::int64_t clients) {
    return in_gigabytes_per_second(rate_of(rates, nodes, clients, {}));
  };
  EXPECT_DOUBLE_EQ(rate(4, 32), 100.0);
  rates.per_node = gigabytes_per_second(10.0);
  EXPECT_DOUBLE_EQ(rate(4, 32), 40.0);
  EXPECT_DOUBLE_EQ(rate(40, 320), 100.0);
  rates.per_client = gigabytes_per_second(0.5);
  EXPECT_DOUBLE_EQ(rate(4, 32), 16.0);
  EXPECT_DOUBLE_EQ(rate(4, 400), 40.0);
  rates.efficiency = 0.25;
  EXPECT_DOUBLE_EQ(rate(40, 320), 25.0);
  // Others take from the aggregate, which then is the narrowest.
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(rates, 40, 320, gigabytes_per_second(90.0))),
                   2.5);
}

TEST(CheckpointRates, RatesNeverRiseWithMoreTakenAndNeverFallWithMoreClients) {
  RandomStream dice(5, 0, Purpose::property_test);
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const StorageRates rates{gigabytes_per_second(1.0 + 99.0 * dice.uniform01()),
                             gigabytes_per_second(0.1 + 9.9 * dice.uniform01()),
                             gigabytes_per_second(0.1 + dice.uniform01()),
                             0.1 + 0.9 * dice.uniform01()};
    const auto nodes = static_cast<std::int64_t>(1 + dice.uniform_int(100));
    const BytesPerSecond taken = 0.5 * dice.uniform01() * rates.aggregate;
    const BytesPerSecond rate = rate_of(rates, nodes, 8 * nodes, taken);
    EXPECT_GT(rate, BytesPerSecond{});
    EXPECT_LE(rate, rates.efficiency * rates.aggregate);
    EXPECT_LE(rate_of(rates, nodes, 8 * nodes, 1.5 * taken), rate);
    EXPECT_GE(rate_of(rates, nodes + 1, 8 * (nodes + 1), taken), rate);
  }
}

TEST(CheckpointRates, OnlyOneReplicaWritesWithoutSharding) {
  CheckpointSpec spec;
  const StepInput step = saving_llama_step();
  EXPECT_EQ(writers_of(spec, step).processes, 16'384);
  spec.sharded = false;
  EXPECT_EQ(writers_of(spec, step).processes, 128);
  EXPECT_EQ(writers_of(spec, step).nodes, 16);
  // 5.67 TB by 128 GPUs at 20 GB/s: 2.21 s instead of 17 ms.
  EXPECT_NEAR(in_seconds(copy_time(spec, step)), 5.67e12 / 128.0 / 20e9, 1e-9);
  spec.storage.write_per_client = gigabytes_per_second(1.0);
  EXPECT_NEAR(in_seconds(write_time(spec, step, {})), 5.67e12 / 128e9, 1e-9);
}

TEST(CheckpointRates, EveryDataRankAddsTheStateOfItsLoader) {
  CheckpointSpec spec;
  spec.data_state = gigabytes(2.0);
  EXPECT_NEAR(in_terabytes(checkpoint_size(spec, saving_llama_step())), 5.67 + 0.256, 1e-9);
}

TEST(CheckpointRates, OneReaderBroadcastsWhatEveryReplicaNeeds) {
  CheckpointSpec spec;
  const StepInput step = saving_llama_step();
  // 5.67 TB at 2 TB/s, then 810 GB of weights over 128 GPUs of a replica at 50 GB/s.
  const double read = 5.67e12 / 2e12;
  EXPECT_NEAR(in_seconds(load_time(spec, step, 1.0)), read + 810e9 / 128.0 / 50e9, 1e-9);
  EXPECT_NEAR(in_seconds(load_time(spec, step, 0.25)), 4.0 * read + 810e9 / 128.0 / 50e9, 1e-9);
  spec.readers = LoadReaders::all;
  // Every one of 128 replicas reads 810 GB of weights itself.
  EXPECT_NEAR(in_seconds(load_time(spec, step, 1.0)), (5.67e12 + 127.0 * 810e9) / 2e12, 1e-9);
}

TEST(CheckpointPlan, DataReadsSlowOnlyAsynchronousSaves) {
  RunSpec spec = tiered_spec();
  const RunPlan before = plan_of(spec, saving_llama_step());
  spec.checkpoint.data_reads = terabytes_per_second(1.0);
  const RunPlan after = plan_of(spec, saving_llama_step());
  EXPECT_NEAR(in_s(after.durable - after.stall), 2.0 * in_s(before.durable - before.stall), 1e-6);
  spec.checkpoint.mode = CheckpointMode::sync;
  EXPECT_NEAR(in_s(plan_of(spec, saving_llama_step()).stall), 2.835, 1e-6);
}

TEST(CheckpointPlan, OneTierIsTheStorage) {
  const RunPlan plan = plan_of(tiered_spec(), saving_llama_step());
  const CheckpointPlan& checkpoint = plan.checkpoint;
  ASSERT_EQ(checkpoint.tiers.size(), 1U);
  ASSERT_EQ(checkpoint.saves.size(), 1U);
  EXPECT_EQ(checkpoint.tiers[0].name, "storage");
  EXPECT_EQ(checkpoint.period(), 1);
  EXPECT_EQ(checkpoint.saves[0].stall, plan.stall);
  ASSERT_EQ(checkpoint.saves[0].copies.size(), 1U);
  EXPECT_EQ(checkpoint.saves[0].copies[0].durable, plan.durable);
  EXPECT_EQ(checkpoint.every_steps, plan.checkpoint_steps);
  for (std::size_t c = 0; c < plan.causes.size(); ++c) {
    EXPECT_EQ(checkpoint.tiers[0].survival.of(static_cast<std::int32_t>(c), 0, 1), 1.0);
  }
}

TEST(CheckpointPlan, TiersAreSavedInANestedPattern) {
  RunSpec spec = tiered_spec();
  spec.checkpoint.interval = StepsInterval{240};
  spec.checkpoint.tiers = {memory_tier(2), disk_tier()};
  spec.checkpoint.tiers[0].interval = StepsInterval{10};
  spec.checkpoint.tiers[1].interval = StepsInterval{40};
  const RunPlan plan = plan_of(spec, saving_llama_step());
  const CheckpointPlan& checkpoint = plan.checkpoint;
  EXPECT_EQ(checkpoint.every_steps, 10);
  ASSERT_EQ(checkpoint.tiers.size(), 3U);
  EXPECT_EQ(checkpoint.tiers[0].name, "memory");
  EXPECT_EQ(checkpoint.tiers[1].name, "disk");
  EXPECT_EQ(checkpoint.tiers[1].every_saves, 4);
  EXPECT_EQ(checkpoint.tiers[2].every_saves, 24);
  EXPECT_EQ(checkpoint.period(), 24);
  for (std::int64_t n = 1; n <= 48; ++n) {
    const std::size_t copies = n % 24 == 0 ? 3U : n % 4 == 0 ? 2U : 1U;
    EXPECT_EQ(checkpoint.save(n).copies.size(), copies) << n;
  }
  EXPECT_EQ(plan.checkpoint_steps, 240);
}

// A node holds 5.67 TB / 2,048 = 2.77 GB.
TEST(CheckpointPlan, TimesOfTheTiersFollowFromTheShareOfANode) {
  RunSpec spec = tiered_spec();
  spec.checkpoint.tiers = {memory_tier(2), disk_tier()};
  const RunPlan plan = plan_of(spec, saving_llama_step());
  const double share = 5.67e12 / 2048.0;
  const double copy = share / (8.0 * 20e9);
  const PlannedSave& all = plan.checkpoint.saves[2];
  EXPECT_NEAR(in_s(all.stall), copy, 1e-8);
  EXPECT_NEAR(in_s(all.copies[0].durable), copy + share / 400e9, 1e-8);  // to one partner
  EXPECT_NEAR(in_s(all.copies[1].durable), copy + share / 6e9, 1e-8);
  EXPECT_NEAR(in_s(all.copies[2].durable), copy + 2.835, 1e-8);
  const auto load = [&](std::size_t tier) {
    return in_seconds(mean(plan.checkpoint.tiers[tier].load[0]));  // cause 0 takes a node
  };
  EXPECT_NEAR(load(0), copy, 1e-9);  // slower than its part over the network
  EXPECT_NEAR(load(1), share / 12e9, 1e-9);
}

TEST(CheckpointPlan, ASlowSynchronousCopyHoldsBackTheOthers) {
  RunSpec spec = tiered_spec();
  spec.checkpoint.mode = CheckpointMode::sync;
  spec.checkpoint.stall = seconds(40.0);
  spec.checkpoint.tiers = {memory_tier(2)};
  const CheckpointPlan plan = plan_of(spec, saving_llama_step()).checkpoint;
  EXPECT_LT(plan.saves[0].stall, to_sim_time(seconds(1.0)));
  EXPECT_EQ(plan.saves[1].stall, to_sim_time(seconds(40.0)));
  for (const SavedCopy& copy : plan.saves[1].copies) {
    EXPECT_EQ(copy.durable, to_sim_time(seconds(40.0)));
  }
}

TEST(CheckpointPlan, MemoryLeavesWithItsNodeUnlessAPartnerHoldsItToo) {
  RunSpec spec = tiered_spec();
  spec.checkpoint.tiers = {memory_tier(1)};
  const CopySurvival alone = plan_of(spec, saving_llama_step()).checkpoint.tiers[0].survival;
  EXPECT_EQ(alone.of(0, 0, 1), 0.0);  // faulty GPU takes its node
  EXPECT_EQ(alone.of(2, 0, 0), 1.0);  // software bug
  spec.checkpoint.tiers = {memory_tier(2)};
  const CopySurvival pairs = plan_of(spec, saving_llama_step()).checkpoint.tiers[0].survival;
  EXPECT_EQ(pairs.of(0, 0, 1), 1.0);
  // A second node during the same outage: 2,046 of the other 2,047 are not the partner.
  EXPECT_NEAR(pairs.of(0, 1, 2), 2046.0 / 2047.0, 1e-12);
  EXPECT_NEAR(pairs.of(0, 0, 2), 2046.0 / 2047.0, 1e-12);
}

TEST(CheckpointPlan, ARebootEmptiesMemoryButNotTheDisk) {
  RunSpec spec = tiered_spec();
  spec.failures.preset.reset();
  spec.failures.node_rate = per_day(0.005);
  FailureCause reset;
  reset.name = "GPU reset";
  reset.category = FailureCategory::gpu;
  reset.takes_node = false;
  FailureCause flap = reset;
  flap.name = "link flap";
  flap.category = FailureCategory::network;
  spec.failures.causes = {reset, flap};
  spec.checkpoint.tiers = {memory_tier(1), disk_tier()};
  const CheckpointPlan plan = plan_of(spec, saving_llama_step()).checkpoint;
  EXPECT_EQ(plan.tiers[0].survival.of(0, 0, 0), 0.0);
  EXPECT_EQ(plan.tiers[1].survival.of(0, 0, 0), 1.0);
  EXPECT_EQ(plan.tiers[0].survival.of(1, 0, 0), 1.0);
}

TEST(CheckpointPlan, AutomaticIntervalsAreTheBestPatternOfAllTiers) {
  RunSpec spec = tiered_spec();
  spec.checkpoint.mode = CheckpointMode::sync;
  spec.checkpoint.stall = seconds(40.0);
  spec.checkpoint.tiers = {memory_tier(1)};
  spec.checkpoint.tiers[0].stall = seconds(1.0);
  spec.checkpoint.tiers[0].durable = seconds(1.0);
  spec.checkpoint.tiers[0].mode = CheckpointMode::sync;
  const StepInput step = saving_llama_step();
  const RunPlan plan = plan_of(spec, step);
  double soft = 0.0;  // share of failures that leave the node: 54 + 7 + 2 of 419
  double before = 0.0;
  for (const PlannedCause& cause : plan.causes) {
    soft += cause.takes_nodes > 0 ? 0.0 : cause.cumulative - before;
    before = cause.cumulative;
  }
  EXPECT_NEAR(soft, 63.0 / 419.0, 1e-9);
  const auto waste = [&](std::int64_t steps, std::int64_t times) {
    return tiered_waste({seconds(1.0),
                         static_cast<double>(steps) * to_seconds(step.step_time),
                         {{1, seconds(1.0), soft, {}}, {times, seconds(40.0), 1.0 - soft, {}}},
                         *plan.mtbf});
  };
  double least = waste(1, 1);
  for (std::int64_t steps = 1; steps <= 300; ++steps) {
    for (std::int64_t times = 1; times <= 12; ++times) {
      least = std::min(least, waste(steps, times));
    }
  }
  const std::int64_t steps = *plan.checkpoint.every_steps;
  EXPECT_NEAR(waste(steps, plan.checkpoint.period()) / least, 1.0, 1e-4);
}

TEST(CheckpointPlan, SingleTierOptimumIsGoldenSectionsOfDalysRunTime) {
  for (const double stall : {1.0, 20.0, 300.0, 3000.0}) {
    RunSpec spec = saving_spec(10'000'000, 1, seconds(stall));
    spec.checkpoint.interval = AutoInterval{};
    fail_every(spec, hours(3.0));
    const RunPlan plan = plan_of(spec, steps_of(milliseconds(10.0)));
    const auto waste = [&](double interval) {
      return daly_run_time(
          {seconds(1.0), seconds(interval), seconds(stall), seconds(600.0), hours(3.0)});
    };
    double low = 1.0;
    double high = 20'000.0;
    const double ratio = 0.5 * (std::sqrt(5.0) - 1.0);
    while (high - low > 1e-6 * high) {
      const double a = high - ratio * (high - low);
      const double b = low + ratio * (high - low);
      (waste(a) < waste(b) ? high : low) = waste(a) < waste(b) ? b : a;
    }
    EXPECT_NEAR(0.01 * static_cast<double>(*plan.checkpoint_steps) / low, 1.0, 2e-3) << stall;
  }
}

TEST(CheckpointPlan, JustInTimeNeedsASecondReplica) {
  RunSpec spec = tiered_spec();
  spec.checkpoint.just_in_time = true;
  expect_error(spec, saving_llama_step(), "checkpoint.just_in_time",
               "needs a second replica of the whole training state on other GPUs");
  StepInput step = saving_llama_step();
  step.state_replicas = 2.0;
  spec.failures.job_rate = per_day(0.1);
  const RunPlan plan = plan_of(spec, step);
  ASSERT_TRUE(plan.checkpoint.just_in_time.has_value());
  const CopySurvival& survival = plan.checkpoint.just_in_time->survival;
  EXPECT_EQ(survival.of(0, 0, 1), 1.0);
  EXPECT_NEAR(survival.of(0, 1, 2), 2046.0 / 2047.0, 1e-12);
  EXPECT_EQ(survival.of(18, 0, 0), 0.0);  // job-level software
  EXPECT_NEAR(in_s(plan.checkpoint.just_in_time->save), 2.835, 1e-9);
  // Job-level failures need a checkpoint, and 0.03 % of the others: a second one within the save.
  const double expected =
      in_seconds(optimal_interval({to_seconds(plan.stall), 1.0 / per_day(0.1)}));
  EXPECT_NEAR(static_cast<double>(*plan.checkpoint_steps) * 6.2208 / expected, 1.0, 0.05);
}

TEST(CheckpointPlan, RetentionReshardingAndTheLastSaveBeforeANotice) {
  RunSpec spec = tiered_spec();
  spec.checkpoint.keep = 3;
  spec.checkpoint.keep_every = 20;
  spec.checkpoint.corrupt = 0.01;
  spec.checkpoint.reshard = gigabytes_per_second(0.87);
  const CheckpointPlan plan = plan_of(spec, saving_llama_step()).checkpoint;
  EXPECT_EQ(plan.kept, 3);
  EXPECT_EQ(plan.kept_every, 20);
  EXPECT_EQ(plan.corrupt, 0.01);
  EXPECT_NEAR(in_s(plan.reshard), 5.67e12 / 0.87e9, 1e-6);
  EXPECT_NEAR(in_s(plan.emergency), 5.67e12 / 16'384.0 / 20e9 + 2.835, 1e-8);
}

// 47 min for the 2,294.8 GiB of BLOOM (48 to 24 nodes).
TEST(CheckpointPlan, BloomReshapesIn47Minutes) {
  RunSpec spec = saving_spec(10, 100, {});
  spec.checkpoint.reshard = gigabytes_per_second(2464.0 / (47.0 * 60.0));
  StepInput step = steps_of(seconds(105.22), 48, 8);
  step.parameters = 176e9;
  EXPECT_NEAR(in_s(plan_of(spec, step).checkpoint.reshard), 2820.0, 1e-6);
}

TEST(CheckpointPlan, StoragePresetsNameTheirSources) {
  for (const std::string& name : shipped::names(scenario::PresetKind::storage)) {
    EXPECT_FALSE(shipped::preset(scenario::PresetKind::storage, name)->source.empty());
    RunSpec spec = tiered_spec();
    spec.checkpoint.storage = shipped::storage(name);
    (void)plan_of(spec, saving_llama_step());
  }
  CheckpointSpec bloom;
  bloom.storage = shipped::storage("bloom-gpfs-2022");
  StepInput step = steps_of(seconds(105.22), 48, 8);
  step.parameters = 176e9;
  EXPECT_NEAR(in_seconds(write_time(bloom, step, {})), 40.0, 1e-9);
  // 48 of its processes would need 8 times as long.
  bloom.sharded = false;
  step.data_parallel = 8;
  EXPECT_NEAR(in_seconds(write_time(bloom, step, {})), 320.0, 1e-9);
}

TEST(CheckpointPlan, WrongSpecsAreNamed) {
  const StepInput step = saving_llama_step();
  RunSpec spec = tiered_spec();
  spec.checkpoint.storage.efficiency = 0.0;
  expect_error(spec, step, "checkpoint.storage.efficiency", "must be above 0 and at most 1");
  spec = tiered_spec();
  spec.checkpoint.data_reads = terabytes_per_second(2.0);
  expect_error(spec, step, "checkpoint.data_reads",
               "data reads and other jobs take all that the storage has");
  spec = tiered_spec();
  spec.checkpoint.storage.read_per_client = BytesPerSecond{};
  expect_error(spec, step, "checkpoint.storage.read_per_client", "the rate must be positive");
  spec = tiered_spec();
  spec.checkpoint.tiers = {disk_tier()};
  spec.checkpoint.tiers[0].read.reset();
  expect_error(spec, step, "checkpoint.tiers[0].read", "a disk needs its rate");
  spec.checkpoint.tiers = {memory_tier(4096)};
  expect_error(spec, step, "checkpoint.tiers[0].replicas", "2048 nodes cannot hold 4096 copies");
  spec.checkpoint.tiers = {memory_tier(1)};
  spec.checkpoint.tiers[0].stall = seconds(2.0);
  spec.checkpoint.tiers[0].durable = seconds(1.0);
  expect_error(spec, step, "checkpoint.tiers[0].durable",
               "a save cannot protect before its stall is over");
  spec.checkpoint.tiers = {memory_tier(1)};
  spec.checkpoint.tiers[0].interval = StepsInterval{0};
  expect_error(spec, step, "checkpoint.tiers[0].interval", "must be at least 1 step");
  spec.checkpoint.tiers = std::vector<TierSpec>(8, memory_tier(1));
  expect_error(spec, step, "checkpoint.tiers", "8 tiers in front of the storage");
  spec = tiered_spec();
  spec.checkpoint.keep = 0;
  expect_error(spec, step, "checkpoint.keep", "must be at least 1");
  spec = tiered_spec();
  spec.checkpoint.corrupt = 1.0;
  expect_error(spec, step, "checkpoint.corrupt", "must be at least 0 and below 1");
  StepInput alone = step;
  alone.node_network.reset();
  spec = tiered_spec();
  spec.checkpoint.tiers = {memory_tier(2)};
  expect_error(spec, alone, "checkpoint.tiers[0].replicas", "the rate between nodes is not known");
}

TEST(CheckpointPlan, IntervalsThatAreNoMultiplesAreRoundedWithAWarning) {
  RunSpec spec = tiered_spec();
  spec.checkpoint.interval = StepsInterval{250};
  spec.checkpoint.tiers = {memory_tier(2)};
  spec.checkpoint.tiers[0].interval = StepsInterval{100};
  std::vector<RunProblem> problems;
  const auto plan = resolve_run(spec, saving_llama_step(), problems);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, "checkpoint.interval");
  EXPECT_EQ(problems[0].message,
            "250 steps become 300: a multiple of the 100 steps of the faster tier");
  EXPECT_EQ(plan->checkpoint.period(), 3);
}

}  // namespace
}  // namespace orrery::run
