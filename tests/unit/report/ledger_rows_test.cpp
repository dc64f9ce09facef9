// Ledger rows: shares of one, dollars that add up to the cost of the run.

#include "sim/answer/report/text/ledger_rows.hpp"

#include <gtest/gtest.h>

#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::report {
namespace {

const LedgerRow& row_of(const std::vector<LedgerRow>& rows, std::string_view category) {
  for (const LedgerRow& row : rows) {
    if (row.category == category) {
      return row;
    }
  }
  ADD_FAILURE() << "no row " << category;
  return rows.front();
}

double dollars_of(const std::vector<LedgerRow>& rows) {
  double sum = 0.0;
  for (const LedgerRow& row : rows) {
    sum += in_dollars(row.dollars.value_or(Dollars{}));
  }
  return sum;
}

TEST(LedgerRows, StepSharesAddUpToOneAndCoverEveryCategory) {
  const auto rows = step_ledger_rows(testing::sample_evaluation());
  ASSERT_EQ(rows.size(), step::kStepCategories);
  double sum = 0.0;
  for (const LedgerRow& row : rows) {
    sum += row.share;
  }
  EXPECT_NEAR(sum, 1.0, 1e-12);
  EXPECT_DOUBLE_EQ(row_of(rows, "compute").share, 0.75);
  // 8 GPUs x 10 s x 12.5 % = 10 GPU s.
  EXPECT_DOUBLE_EQ(in_seconds(row_of(rows, "bubble").gpu_time), 10.0);
}

TEST(LedgerRows, StepDollarsAreThePriceOfTheGpuTime) {
  // 80 GPU s at $2 per GPU-hour.
  EXPECT_NEAR(dollars_of(step_ledger_rows(testing::sample_evaluation())), 2.0 * 80 / 3600, 1e-12);
  for (const LedgerRow& row : step_ledger_rows(testing::sample_step_evaluation())) {
    EXPECT_FALSE(row.dollars.has_value());
  }
}

TEST(LedgerRows, RunRowsAreMeansOverTheTrials) {
  const auto rows = run_ledger_rows(testing::sample_evaluation());
  // 96 h on 8 GPUs in four trials: 192 GPU-hours each, of 424 allocated ones.
  EXPECT_NEAR(in_hours(row_of(rows, "productive").gpu_time), 192.0, 1e-9);
  EXPECT_NEAR(row_of(rows, "productive").share, 192.0 / 424.0, 1e-12);
  EXPECT_TRUE(run_ledger_rows(testing::sample_step_evaluation()).empty());
}

TEST(LedgerRows, DollarsOfTheRunAreItsCostWithSparesBilled) {
  // 16 GPUs x 26.5 h in the mean x $2.
  EXPECT_NEAR(dollars_of(run_ledger_rows(testing::sample_evaluation())), 16 * 26.5 * 2.0, 1e-9);
}

TEST(LedgerRows, DollarsOfTheRunAreItsCostWithoutSpares) {
  Evaluation evaluation = testing::sample_evaluation();
  evaluation.plan->pricing.bill_spares = false;
  const auto rows = run_ledger_rows(evaluation);
  EXPECT_NEAR(dollars_of(rows), 8 * 26.5 * 2.0, 1e-9);
  EXPECT_DOUBLE_EQ(in_dollars(*row_of(rows, "spare_idle").dollars), 0.0);
}

TEST(LedgerRows, NodesOutForRepairAreBilledLikeSpares) {
  Evaluation evaluation = testing::sample_evaluation();
  // Four trials wait one hour in all for one missing node: its 8 GPUs are out for repair.
  evaluation.run->ledger_sum.book(run::RunCategory::restart_load, -8, to_sim_time(hours(1.0)));
  evaluation.run->ledger_sum.book(run::RunCategory::repair, 8, to_sim_time(hours(1.0)));
  // 128 GPU-hours were out before, in four trials.
  EXPECT_NEAR(in_dollars(*row_of(run_ledger_rows(evaluation), "repair").dollars),
              (128.0 + 8.0) / 4.0 * 2.0, 1e-9);
  evaluation.plan->pricing.bill_spares = false;
  const auto rows = run_ledger_rows(evaluation);
  EXPECT_DOUBLE_EQ(in_dollars(*row_of(rows, "repair").dollars), 0.0);
  EXPECT_NEAR(dollars_of(rows), (8 * 26.5 - 2.0) * 2.0, 1e-9);
}

TEST(LedgerRows, MemoryTermsAddUpToThePeak) {
  const step::StageMemory stage = testing::sample_evaluation().step.memory.front();
  Bytes sum;
  for (const MemoryTerm& term : memory_terms(stage)) {
    sum += term.value;
  }
  EXPECT_DOUBLE_EQ(in_bytes(sum), in_bytes(stage.peak()));
}

TEST(Trust, SharesAreOfTheStepTime) {
  const Trust trust = trust_of(testing::sample_evaluation().step);
  EXPECT_DOUBLE_EQ(trust.share[static_cast<std::size_t>(SourceKind::datasheet)], 0.75);
  EXPECT_DOUBLE_EQ(trust.share[static_cast<std::size_t>(SourceKind::assumed)], 0.25);
  EXPECT_DOUBLE_EQ(trust.extrapolated, 0.05);
}

TEST(Trust, AStepWithoutTimeRestsOnNothing) {
  const Trust trust = trust_of(step::StepResult{});
  for (const double share : trust.share) {
    EXPECT_DOUBLE_EQ(share, 0.0);
  }
}

TEST(CauseRows, AddUpWhatHasNoRowOfItsOwn) {
  Evaluation evaluation = testing::sample_evaluation();
  const run::PlannedCause first = evaluation.plan->causes.front();
  const Int128 hour = static_cast<Int128>(to_sim_time(hours(1.0)).ns);
  evaluation.plan->causes.assign(4, first);
  evaluation.run->failures_by_cause = {1.0, 2.0, 3.0, 4.0};
  evaluation.run->gpu_time_by_cause = {40 * hour, 30 * hour, 20 * hour, 10 * hour};
  const auto all = cause_rows(evaluation);
  const auto few = main_cause_rows(evaluation, 2);
  ASSERT_EQ(few.size(), 2U);
  EXPECT_EQ(few[0].failures, all[0].failures);
  EXPECT_EQ(few[1].cause, "all others");
  EXPECT_EQ(few[1].failures, 9.0);
  EXPECT_NEAR(in_hours(few[1].gpu_time), 60.0 / 4.0, 1e-9) << "mean of four trials";
  ASSERT_TRUE(few[1].dollars);
  EXPECT_NEAR(in_dollars(*few[1].dollars),
              in_dollars(*all[1].dollars + *all[2].dollars + *all[3].dollars), 1e-9);
  EXPECT_EQ(main_cause_rows(evaluation, 4).size(), 4U);
}

// A node that is slow for a while ends no job: it is an event, and no failure.
TEST(CauseRows, CountAsFailuresWhatEndsAJob) {
  Evaluation evaluation = testing::sample_evaluation();
  const run::PlannedCause first = evaluation.plan->causes.front();
  evaluation.plan->causes.assign(2, first);
  evaluation.plan->causes[1].effect = run::StrikeEffect::slowdown;
  evaluation.run->failures_by_cause = {1.0, 2.0};
  evaluation.run->gpu_time_by_cause = {40, 30};
  const auto rows = cause_rows(evaluation);
  EXPECT_EQ(rows[0].failures, 1.0);
  EXPECT_EQ(rows[1].events, 2.0);
  EXPECT_EQ(rows[1].failures, 0.0);
}

}  // namespace
}  // namespace orrery::report
