#include "sim/step/cost/fair_share.hpp"

#include <gtest/gtest.h>

namespace orrery::cost {
namespace {

// The solver of sim/step/fabric gives the same: tests/unit/fabric/fluid_flows_test.cpp.
TEST(FairShare, ASecondFlowAtMostDoublesTheTime) {
  EXPECT_DOUBLE_EQ(stretch_beside(seconds(100.0), seconds(40.0)), 1.4);
  EXPECT_DOUBLE_EQ(stretch_beside(seconds(1.0), Seconds{}), 1.0);
  EXPECT_DOUBLE_EQ(stretch_beside(seconds(1.0), seconds(9.0)), 2.0);
}

// Exact values; 4 flows on 4 links: P(max = 1) = 24/256, and so on.
TEST(HashCollisions, TheFullestLinkCarriesMoreThanItsShare) {
  EXPECT_NEAR(expected_worst_load(4, 4), 2.125, 0.0005);
  EXPECT_NEAR(expected_worst_load(8, 8), 2.597, 0.0005);
  EXPECT_NEAR(expected_worst_load(16, 16), 3.078, 0.0005);
  EXPECT_NEAR(expected_worst_load(32, 32), 3.533, 0.0005);
  EXPECT_NEAR(expected_worst_load(8, 16), 2.063, 0.0005);
  EXPECT_NEAR(expected_worst_load(16, 8), 4.201, 0.0005);
  EXPECT_NEAR(expected_worst_load(32, 16), 4.830, 0.0005);
  EXPECT_DOUBLE_EQ(expected_worst_load(5, 1), 5.0);
  EXPECT_DOUBLE_EQ(expected_worst_load(1, 9), 1.0);
}

TEST(HashCollisions, TheFormulaForManyFlowsJoinsTheExactOne) {
  const double exact = expected_worst_load(64, 64);
  const double many = expected_worst_load(65, 65);
  EXPECT_NEAR(many / exact, 1.0, 0.03);
}

}  // namespace
}  // namespace orrery::cost
