#include "calibrate/sweep/stopping_rule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sim/base/random.hpp"

namespace orrery::calibrate {
namespace {

TEST(Summary, QuantilesAreLinearBetweenRanks) {
  const std::vector<double> samples = {40.0, 10.0, 30.0, 20.0, 50.0};
  const Summary summary = summarise(samples);
  EXPECT_EQ(summary.count, 5U);
  EXPECT_DOUBLE_EQ(summary.median, 30.0);
  EXPECT_DOUBLE_EQ(summary.p10, 14.0);  // rank 0.4
  EXPECT_DOUBLE_EQ(summary.p90, 46.0);  // rank 3.6
  EXPECT_DOUBLE_EQ(summary.least, 10.0);
  // Ranks 2 +- sqrt(5) / 2 are 0.882 and 3.118: 18.82 and 41.18 around 30.
  EXPECT_NEAR(summary.error, 0.5 * 10.0 * std::sqrt(5.0) / 30.0, 1e-12);
}

TEST(Summary, OneSampleIsItsOwnMedian) {
  const std::vector<double> samples = {7.0};
  const Summary summary = summarise(samples);
  EXPECT_DOUBLE_EQ(summary.median, 7.0);
  EXPECT_DOUBLE_EQ(summary.p90, 7.0);
  EXPECT_DOUBLE_EQ(summary.error, 0.0);
}

// The median of n uniform samples on [0, 1] has standard deviation 1 / (2 sqrt(n + 2)).
TEST(Summary, ErrorIsTheStandardErrorOfTheMedian) {
  constexpr std::uint64_t kSeed = 11;
  constexpr int kSamples = 41;
  constexpr int kRepeats = 2000;
  double sum = 0.0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    RandomStream stream(kSeed, static_cast<std::uint32_t>(repeat), Purpose::property_test);
    std::vector<double> samples;
    for (int i = 0; i < kSamples; ++i) {
      samples.push_back(stream.uniform01());
    }
    const Summary summary = summarise(samples);
    sum += summary.error * summary.median;
  }
  EXPECT_NEAR(sum / kRepeats, 0.5 / std::sqrt(kSamples + 2.0), 0.004);
}

TEST(StoppingRule, StopsAtTheTargetTheBudgetOrTheMost) {
  const StoppingRule rule;
  const std::vector<double> quiet(9, 1.0);
  EXPECT_FALSE(enough(quiet, milliseconds(10.0), rule));
  const std::vector<double> ten(10, 1.0);
  EXPECT_TRUE(enough(ten, milliseconds(10.0), rule));
  std::vector<double> noisy;
  for (int i = 0; i < 39; ++i) {
    noisy.push_back(i % 2 == 0 ? 1.0 : 2.0);
  }
  EXPECT_FALSE(enough(noisy, milliseconds(100.0), rule));
  EXPECT_TRUE(enough(noisy, milliseconds(150.0), rule));
  noisy.push_back(1.0);
  EXPECT_TRUE(enough(noisy, milliseconds(100.0), rule));
}

TEST(StoppingRule, SlowKernelsAreTimedFiveTimesWhateverTheBudget) {
  const StoppingRule rule;
  const std::vector<double> four(4, 1.0);
  EXPECT_FALSE(enough(four, seconds(4.0), rule));
  const std::vector<double> five(5, 1.0);
  EXPECT_TRUE(enough(five, seconds(5.0), rule));
}

TEST(Replay, LastsAtLeastAsLongAsAsked) {
  EXPECT_EQ(launches_per_replay(microseconds(3.0), milliseconds(2.0), 1000), 667);
  EXPECT_EQ(launches_per_replay(milliseconds(3.0), milliseconds(2.0), 1000), 1);
  EXPECT_EQ(launches_per_replay(microseconds(1.0), milliseconds(2.0), 1000), 1000);
  EXPECT_EQ(launches_per_replay(Seconds{}, milliseconds(2.0), 64), 64);
}

}  // namespace
}  // namespace orrery::calibrate
