// The statistics of a validation against values worked out by hand.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/validate/validation.hpp"

namespace orrery::validate {
namespace {

ValidationRow row(const std::string& group, double predicted, double measured) {
  return {.id = group,
          .group = group,
          .quantity = "step_time",
          .unit = "s",
          .predicted = predicted,
          .measured = measured,
          .format = "measured-runs/2"};
}

ValidationRow skipped(const std::string& group) {
  ValidationRow result = row(group, 0.0, 1.0);
  result.skipped = "no profile";
  return result;
}

// Errors +10 %, -20 %, +30 %, -40 %, +50 %: sizes 0.1 to 0.5, mean 0.3, median 0.3,
// p90 = 0.4 + 0.6 * 0.1 = 0.46 (linear between order statistics), bias 0.3 / 5 = 0.06.
TEST(Statistics, AreThoseOfTheRelativeErrors) {
  Validation validation;
  validation.rows = {row("a", 1.1, 1.0), row("a", 0.8, 1.0), row("a", 1.3, 1.0), row("a", 0.6, 1.0),
                     row("a", 1.5, 1.0)};
  summarize(validation);
  ASSERT_EQ(validation.groups.size(), 1U);
  const Statistics& all = validation.groups.front().all;
  EXPECT_EQ(all.n, 5U);
  EXPECT_EQ(all.skipped, 0U);
  EXPECT_NEAR(all.mape, 0.3, 1e-12);
  EXPECT_NEAR(all.median, 0.3, 1e-12);
  EXPECT_NEAR(all.p90, 0.46, 1e-12);
  EXPECT_NEAR(all.worst, 0.5, 1e-12);
  EXPECT_NEAR(all.bias, 0.06, 1e-12);
}

// One row of 10 % and one skipped: mean (0.1 + 1) / 2; the bias is that of the row that has one.
TEST(Statistics, CountASkippedRowAsHundredPercent) {
  Validation validation;
  validation.rows = {row("a", 0.9, 1.0), skipped("a")};
  summarize(validation);
  const Statistics& all = validation.overall.all;
  EXPECT_EQ(all.n, 2U);
  EXPECT_EQ(all.skipped, 1U);
  EXPECT_NEAR(all.mape, 0.55, 1e-12);
  EXPECT_NEAR(all.worst, 1.0, 1e-12);
  EXPECT_NEAR(all.bias, -0.1, 1e-12);
}

// Group a: three rows of 10 %; group b: one of 50 %. Pooled 0.2, mean over groups 0.3.
TEST(Statistics, WeighEveryGroupTheSameInTheMeanOverGroups) {
  Validation validation;
  validation.rows = {row("a", 1.1, 1.0), row("b", 1.5, 1.0), row("a", 1.1, 1.0),
                     row("a", 1.1, 1.0)};
  summarize(validation);
  EXPECT_NEAR(validation.overall.all.mape, 0.2, 1e-12);
  EXPECT_NEAR(validation.overall.mape_groups, 0.3, 1e-12);
  ASSERT_EQ(validation.groups.size(), 2U);
  EXPECT_EQ(validation.groups[0].name, "a");
  EXPECT_EQ(validation.groups[1].name, "b");
}

TEST(Statistics, ScoreSuspiciousRowsBothWays) {
  Validation validation;
  validation.rows = {row("a", 1.1, 1.0), row("a", 1.9, 1.0)};
  validation.rows[1].suspicious = "outlier";
  summarize(validation);
  EXPECT_NEAR(validation.overall.all.mape, 0.5, 1e-12);
  EXPECT_NEAR(validation.overall.without_suspicious.mape, 0.1, 1e-12);
  EXPECT_NEAR(validation.overall.mape_groups_without_suspicious, 0.1, 1e-12);
}

TEST(Statistics, KeepSecondaryQuantitiesOutOfTheOverall) {
  Validation validation;
  validation.rows = {row("a", 1.1, 1.0), row("a", 2.0, 1.0)};
  validation.rows[1].quantity = "peak_memory";
  validation.rows[1].secondary = true;
  summarize(validation);
  ASSERT_EQ(validation.groups.size(), 2U);
  EXPECT_TRUE(validation.groups[1].secondary);
  EXPECT_NEAR(validation.groups[1].all.mape, 1.0, 1e-12);
  EXPECT_EQ(validation.overall.all.n, 1U);
  EXPECT_NEAR(validation.overall.all.mape, 0.1, 1e-12);
}

TEST(Statistics, TakeAMismatchForAnErrorOfOne) {
  Validation validation;
  validation.rows = {row("a", 0.0, 0.0), row("a", 0.0, 0.0)};
  validation.rows[0].match = true;
  validation.rows[1].match = false;
  summarize(validation);
  EXPECT_NEAR(validation.overall.all.mape, 0.5, 1e-12);
}

TEST(Statistics, OfNoRowsAreZero) {
  Validation validation;
  summarize(validation);
  EXPECT_EQ(validation.overall.all.n, 0U);
  EXPECT_EQ(validation.overall.all.mape, 0.0);
  EXPECT_TRUE(validation.groups.empty());
}

}  // namespace
}  // namespace orrery::validate
