#include "sim/base/quantile.hpp"

#include <gtest/gtest.h>

#include <array>

namespace orrery {
namespace {

// Definition 7 by hand: of 1, 2, 4, 8 the share 0.9 lies at rank 2.7, 0.7 of the way from 4 to 8.
TEST(Quantile, IsLinearBetweenOrderStatistics) {
  constexpr std::array kValues = {1.0, 2.0, 4.0, 8.0};
  EXPECT_DOUBLE_EQ(quantile_of_sorted(kValues, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(kValues, 0.5), 3.0);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(kValues, 0.9), 6.8);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(kValues, 1.0), 8.0);
}

TEST(Quantile, TakesTheNearestRankInside) {
  constexpr std::array kValues = {3.0, 5.0};
  EXPECT_DOUBLE_EQ(value_at_rank(kValues, -2.0), 3.0);
  EXPECT_DOUBLE_EQ(value_at_rank(kValues, 0.25), 3.5);
  EXPECT_DOUBLE_EQ(value_at_rank(kValues, 7.0), 5.0);
}

TEST(Quantile, MedianNeedsNoOrder) {
  EXPECT_DOUBLE_EQ(median_of({9.0}), 9.0);
  EXPECT_DOUBLE_EQ(median_of({9.0, 1.0, 4.0}), 4.0);
  EXPECT_DOUBLE_EQ(median_of({9.0, 1.0, 4.0, 2.0}), 3.0);
}

}  // namespace
}  // namespace orrery
