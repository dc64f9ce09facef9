// The answer in one sentence: what stands, what is lost most, and how much of it the step takes.

#include "sim/answer/report/text/verdict.hpp"

#include <gtest/gtest.h>

#include "sim/answer/report/text/ledger_rows.hpp"
#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::report {
namespace {

// 12.5 % of every step is bubble.
TEST(Verdict, AStepAloneNamesItsLargestLoss) {
  const Evaluation evaluation = testing::sample_step_evaluation();
  const std::optional<Loss> loss = largest_loss(evaluation);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->label, "pipeline bubble");
  EXPECT_DOUBLE_EQ(loss->share, 0.125);
  EXPECT_FALSE(loss->dollars);
  const Outcome outcome = outcome_of(evaluation);
  EXPECT_EQ(outcome.standing, Standing::fine);
  EXPECT_NE(outcome.sentence.find("largest loss: pipeline bubble, 12.5% of the step"),
            std::string::npos)
      << outcome.sentence;
}

TEST(Verdict, LossesOfTheStepCountAsFarAsTheRunIsProductive) {
  Evaluation evaluation = testing::sample_evaluation();
  evaluation.run->ledger_sum = {};
  constexpr std::int64_t kGpus = 8;
  evaluation.run->ledger_sum.book(run::RunCategory::productive, kGpus, to_sim_time(hours(9.0)));
  evaluation.run->ledger_sum.book(run::RunCategory::detection, kGpus, to_sim_time(hours(1.0)));
  double productive = 0.0;
  for (const LedgerRow& row : run_ledger_rows(evaluation)) {
    productive += row.label == label_of(run::RunCategory::productive) ? row.share : 0.0;
  }
  const std::optional<Loss> loss = largest_loss(evaluation);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->label, "pipeline bubble");
  EXPECT_DOUBLE_EQ(productive, 0.9);
  EXPECT_DOUBLE_EQ(loss->share, 0.125 * productive);
  EXPECT_TRUE(loss->dollars);
}

TEST(Verdict, GivesTheMedianOfTheTrials) {
  Evaluation evaluation = testing::sample_evaluation();
  const run::Distribution skewed(std::vector<double>{100.0, 101.0, 102.0, 103.0, 600.0});
  evaluation.metrics.set({MetricId::cost, skewed.mean(), skewed});
  EXPECT_NE(outcome_of(evaluation).headline.find("for $102"), std::string::npos)
      << outcome_of(evaluation).headline;
}

TEST(Verdict, AStatedStepHasNoLossesOfItsOwn) {
  Evaluation evaluation = testing::sample_evaluation();
  evaluation.step.given = true;
  const std::optional<Loss> loss = largest_loss(evaluation);
  ASSERT_TRUE(loss);
  EXPECT_NE(loss->label, "pipeline bubble");
}

TEST(Verdict, StandingFollowsMemoryTrialsAndGoodput) {
  Evaluation evaluation = testing::sample_evaluation();
  evaluation.step.feasibility.headroom = gibibytes(1.0);
  evaluation.echo.memory_error = 0.05;
  EXPECT_EQ(outcome_of(evaluation).standing, Standing::tight);
  EXPECT_EQ(outcome_of(evaluation).brief, "fits tightly");
  evaluation.run->finished = 3;
  EXPECT_EQ(outcome_of(evaluation).standing, Standing::bad);
  evaluation.run->finished = 0;
  EXPECT_EQ(outcome_of(evaluation).standing, Standing::impossible);
  evaluation.run->finished = 4;
  evaluation.metrics.set({.id = MetricId::goodput, .value = 0.4, .trials = std::nullopt});
  EXPECT_EQ(outcome_of(evaluation).standing, Standing::bad);
  evaluation.feasible = false;
  evaluation.step.feasibility = {.fits = false, .worst_stage = 1, .headroom = -gibibytes(3.0)};
  const Outcome outcome = outcome_of(evaluation);
  EXPECT_EQ(outcome.standing, Standing::impossible);
  EXPECT_EQ(outcome.reason,
            "does not fit: 3.00 GiB too much per GPU on pipeline stage 1; the figures below are "
            "those of GPUs with more memory");
  evaluation.echo.memory_error = 1.0;
  EXPECT_EQ(outcome_of(evaluation).reason,
            "does not fit: 3.00 GiB too much per GPU on pipeline stage 1, less than the 100% that "
            "a predicted peak may be off; the figures below are those of GPUs with more memory");
}

}  // namespace
}  // namespace orrery::report
