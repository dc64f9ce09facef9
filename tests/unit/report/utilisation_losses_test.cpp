// The waterfall from the peak to the utilisation adds up, and its parts are those of the ledgers.

#include "sim/answer/report/utilisation_losses.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::report {
namespace {

const UtilisationRow& row_of(const std::vector<UtilisationRow>& rows, std::string_view category) {
  for (const UtilisationRow& row : rows) {
    if (row.category == category) {
      return row;
    }
  }
  ADD_FAILURE() << "no row " << category;
  return rows.front();
}

// To the last bit: bars hang at the end of the bar before them.
void expect_unbroken(const std::vector<UtilisationRow>& rows) {
  ASSERT_GE(rows.size(), 2U);
  double level = rows.front().after;
  for (std::size_t i = 1; i + 1 < rows.size(); ++i) {
    EXPECT_EQ(rows[i].before, level) << rows[i].category;
    EXPECT_EQ(rows[i].size, std::abs(rows[i].after - rows[i].before)) << rows[i].category;
    level = rows[i].after;
  }
  EXPECT_EQ(rows.back().kind, UtilisationRowKind::total);
  EXPECT_NEAR(rows.back().after, level, 1e-15);
}

// The sample: 75 % compute, 12.5 % bubble, 10 % tensor communication, 2.5 % optimizer, MFU 40 %.
// Kernels lose 75 % - 40 % = 35 %.
TEST(UtilisationLosses, OfAStepGoFromThePeakToTheMfu) {
  const auto rows = step_utilisation_rows(testing::sample_step_evaluation());
  expect_unbroken(rows);
  EXPECT_EQ(rows.front().category, "peak");
  EXPECT_EQ(rows.front().after, 1.0);
  EXPECT_EQ(rows.back().category, "mfu");
  EXPECT_EQ(rows.back().after, 0.4);
  EXPECT_NEAR(row_of(rows, "bubble").size, 0.125, 1e-15);
  EXPECT_NEAR(row_of(rows, "exposed_tensor").size, 0.1, 1e-15);
  EXPECT_NEAR(row_of(rows, "optimizer").size, 0.025, 1e-15);
  EXPECT_NEAR(row_of(rows, "kernels").size, 0.35, 1e-15);
  EXPECT_EQ(rows.size(), 6U) << "categories without time have no row, nor has compute";
}

// MFU counts all of the attention, the kernels compute half of it: 40 % of which 37 % are computed.
TEST(UtilisationLosses, GiveBackTheAttentionThatTheMaskSkips) {
  Evaluation evaluation = testing::sample_step_evaluation();
  evaluation.metrics.set({.id = MetricId::mfu_causal, .value = 0.37, .trials = std::nullopt});
  const auto rows = step_utilisation_rows(evaluation);
  expect_unbroken(rows);
  EXPECT_NEAR(row_of(rows, "kernels").size, 0.75 - 0.37, 1e-15);
  EXPECT_EQ(row_of(rows, "mask").kind, UtilisationRowKind::gain);
  EXPECT_NEAR(row_of(rows, "mask").size, 0.03, 1e-15);
}

// Of 212 allocated GPU-days of 8 GPUs 96 h of 212 h trained: 40 % x 96 / 212.
TEST(UtilisationLosses, OfTheRunTakeTheirShareOfTheUtilisation) {
  const auto rows = run_utilisation_rows(testing::sample_evaluation());
  expect_unbroken(rows);
  EXPECT_EQ(rows.front().after, 0.4);
  EXPECT_NEAR(row_of(rows, "lost_work").size, 0.4 * 6.0 / 212.0, 1e-12);
  EXPECT_NEAR(row_of(rows, "spare_idle").size, 0.4 * 90.0 / 212.0, 1e-12);
  EXPECT_NEAR(rows.back().after, 0.4 * 96.0 / 212.0, 1e-12);
}

TEST(UtilisationLosses, AreUnknownWhereTheStepTimeIsStatedOrNothingRuns) {
  Evaluation evaluation = testing::sample_step_evaluation();
  EXPECT_TRUE(run_utilisation_rows(evaluation).empty());
  evaluation.step.given = true;
  EXPECT_TRUE(step_utilisation_rows(evaluation).empty());
}

}  // namespace
}  // namespace orrery::report
