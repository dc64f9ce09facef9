#include "sim/answer/report/picture/histogram.hpp"

#include <gtest/gtest.h>

namespace orrery::report {
namespace {

TEST(Histogram, CountsEveryTrialOnceAndTheGreatestInTheLastBin) {
  // 0 1 2 3 4 in bins [0, 2) and [2, 4]: two of five, three of five.
  const auto bins = histogram(run::Distribution({4.0, 0.0, 3.0, 1.0, 2.0}), 2);
  ASSERT_EQ(bins.size(), 2U);
  EXPECT_EQ(bins[0].low, 0.0);
  EXPECT_EQ(bins[0].high, 2.0);
  EXPECT_DOUBLE_EQ(bins[0].share, 0.4);
  EXPECT_EQ(bins[1].high, 4.0);
  EXPECT_DOUBLE_EQ(bins[1].share, 0.6);
}

TEST(Histogram, KnowsRoundingFromVariation) {
  EXPECT_FALSE(varies(run::Distribution({53.9e6})));
  EXPECT_FALSE(varies(run::Distribution({53.9e6, 53.9e6 * (1.0 + 1e-12)})));
  EXPECT_TRUE(varies(run::Distribution({53.9e6, 53.9e6 + 1.0})));
  EXPECT_FALSE(varies(run::Distribution({0.0, 0.0})));
}

TEST(Histogram, IsOneBinWithoutWidthWhenAllTrialsAgree) {
  const auto bins = histogram(run::Distribution({7.0, 7.0}), 10);
  ASSERT_EQ(bins.size(), 1U);
  EXPECT_EQ(bins[0].low, bins[0].high);
  EXPECT_EQ(bins[0].share, 1.0);
}

}  // namespace
}  // namespace orrery::report
