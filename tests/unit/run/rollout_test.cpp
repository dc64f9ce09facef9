// Steps of reinforcement learning against their closed forms.

#include "sim/run/rollout/rollout.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/random.hpp"

namespace orrery::run {
namespace {

RolloutSpec spec() {
  return {.prompts = 64,
          .samples = 8,
          .prompt_length = 1000,
          .answer_mean = 3000.0,
          .answer_cap = 100'000,
          .answer_sigma = 0.5,
          .tokens_per_second = 1000.0,
          .token_time = seconds(0.01),
          .reward = {},
          .weight_sync = seconds(4.0),
          .switching = seconds(6.0)};
}

TrainerTimes trainer() {
  return {.tokens = 512'000.0,
          .update = seconds(20.0),
          .forward = seconds(6.0),
          .gpus = 32,
          .weights = bytes(64e9)};
}

Seconds phase(const RolloutResult& result, std::string_view name) {
  for (const RolloutPhase& one : result.phases) {
    if (one.name == name) {
      return one.time;
    }
  }
  return {};
}

// 512 answers of 4,000 tokens are four steps of the trainer.
TEST(Rollout, PhasesAddUpWhereAllShareTheGpus) {
  const RolloutResult result = compose_rollout(spec(), trainer());
  EXPECT_EQ(result.answers, 512);
  EXPECT_DOUBLE_EQ(result.tokens, 2'048'000.0);
  EXPECT_DOUBLE_EQ(in_seconds(phase(result, "update")), 80.0);
  EXPECT_DOUBLE_EQ(in_seconds(phase(result, "old log probabilities")), 24.0);
  EXPECT_EQ(phase(result, "reference log probabilities"), Seconds{});
  Seconds sum;
  for (const RolloutPhase& one : result.phases) {
    sum += one.time;
  }
  EXPECT_DOUBLE_EQ(in_seconds(result.step), in_seconds(sum));
}

// A critic of half the size: half a forward and half an update more, whatever else runs.
TEST(Rollout, ACriticTakesItsShareOfTheTrainersTimes) {
  RolloutSpec with = spec();
  with.critic = CriticSpec{.size = 0.5};
  const RolloutResult result = compose_rollout(with, trainer());
  EXPECT_DOUBLE_EQ(in_seconds(phase(result, "values of the critic")), 12.0);
  EXPECT_DOUBLE_EQ(in_seconds(phase(result, "update of the critic")), 40.0);
  EXPECT_DOUBLE_EQ(in_seconds(result.step - compose_rollout(spec(), trainer()).step), 52.0);
}

// Both pools are paid for the whole step.
TEST(Rollout, AnAnswerCostsTheGpusOfBothPools) {
  RolloutSpec priced = spec();
  EXPECT_FALSE(compose_rollout(priced, trainer()).answer);
  priced.gpus = 8;
  priced.gpu_hour = dollars_per_hour(2.0);
  const RolloutResult result = compose_rollout(priced, trainer());
  const double hours = in_seconds(result.step) / 3600.0;
  EXPECT_NEAR(in_dollars(*result.answer),
              2.0 * hours * static_cast<double>(trainer().gpus + 8) / 512.0, 1e-12);
}

// Answers of one length: the rate alone decides. 16 at once on a GPU, 1,000 tokens/s.
TEST(Rollout, AnswersOfOneLengthTakeTheRate) {
  RolloutSpec alike = spec();
  alike.answer_sigma = 0.0;
  const RolloutResult result = compose_rollout(alike, trainer());
  EXPECT_NEAR(in_seconds(phase(result, "generation")), 512.0 * 3000.0 / (1000.0 * 32.0), 1e-9);
  EXPECT_EQ(result.tail, Seconds{});
}

// L = E exp(-sigma^2 / 2 + sigma z), z = 2.886 for the highest of 512; the tail costs c a token.
TEST(Rollout, TheLongestAnswerIsWaitedFor) {
  const RolloutResult result = compose_rollout(spec(), trainer());
  EXPECT_NEAR(result.longest, 3000.0 * std::exp(-0.125 + 0.5 * 2.8856), 10.0);
  EXPECT_NEAR(in_seconds(result.tail), 0.01 * (result.longest - 3000.0), 1e-9);
  RolloutSpec capped = spec();
  capped.answer_cap = 4096;
  EXPECT_DOUBLE_EQ(compose_rollout(capped, trainer()).longest, 4096.0);
}

// A pool that generates one step ahead hides the shorter of the two.
TEST(Rollout, OneStepAheadHidesTheShorterPool) {
  RolloutSpec apart = spec();
  apart.gpus = 32;
  apart.lag = 1;
  const RolloutResult result = compose_rollout(apart, trainer());
  const double made = in_seconds(phase(result, "generation"));
  EXPECT_DOUBLE_EQ(in_seconds(result.step), std::max(made, 104.0) + 4.0);
  EXPECT_EQ(result.gpus, 64);
  EXPECT_EQ(phase(result, "offload and wake"), Seconds{});
  apart.lag = 0;
  EXPECT_DOUBLE_EQ(in_seconds(compose_rollout(apart, trainer()).step), made + 104.0 + 4.0);
}

// With as many GPUs as it says, generation takes as long as training.
TEST(Rollout, TheBalancedPoolKeepsPace) {
  RolloutSpec apart = spec();
  apart.concurrency = 16;
  apart.answer_cap = 6000;
  apart.gpus = 8;
  apart.lag = 1;
  const RolloutResult result = compose_rollout(apart, trainer());
  ASSERT_TRUE(result.balanced);
  apart.gpus = static_cast<std::int64_t>(std::ceil(*result.balanced));
  const RolloutResult even = compose_rollout(apart, trainer());
  EXPECT_LE(in_seconds(phase(even, "generation")), 104.0);
  apart.gpus = *apart.gpus - 1;
  EXPECT_GT(in_seconds(phase(compose_rollout(apart, trainer()), "generation")), 104.0);
}

// More lag, more GPUs, shorter answers, a faster server: never a longer step.
TEST(Rollout, MoreNeverTakesLonger) {
  constexpr std::uint64_t kSeed = 20261126;
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (int i = 0; i < 2000; ++i) {
    RolloutSpec base = spec();
    base.concurrency = 1 + static_cast<std::int64_t>(random.uniform01() * 64.0);
    base.tokens_per_second = 50.0 + random.uniform01() * 5000.0;
    base.answer_sigma = random.uniform01();
    base.answer_mean = 100.0 + random.uniform01() * 8000.0;
    base.gpus = 1 + static_cast<std::int64_t>(random.uniform01() * 128.0);
    const auto step = [](const RolloutSpec& one) {
      return in_seconds(compose_rollout(one, trainer()).step) - 1e-9;
    };
    RolloutSpec ahead = base;
    ahead.lag = 1;
    RolloutSpec more = base;
    more.gpus = *base.gpus * 2;
    RolloutSpec faster = base;
    faster.tokens_per_second *= 1.5;
    RolloutSpec shorter = base;
    shorter.answer_cap = 1000;
    for (const RolloutSpec& better : {ahead, more, faster, shorter}) {
      EXPECT_LE(step(better), step(base) + 2e-9) << "seed " << kSeed << ", case " << i;
    }
  }
}

}  // namespace
}  // namespace orrery::run
