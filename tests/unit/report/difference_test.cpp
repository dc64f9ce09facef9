#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/answer/report/files/figures.hpp"
#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::report {
namespace {

const DifferenceRow* find(const std::vector<DifferenceRow>& rows, std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [name](const DifferenceRow& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

TEST(Difference, IsAgainstTheFirstEvaluation) {
  const Evaluation first = testing::sample_evaluation();
  Evaluation second = first;
  const double before = first.metrics.find(MetricId::step_time)->value;
  second.metrics.set({MetricId::step_time, before * 1.5, std::nullopt});
  const Figures both[] = {figures_of(first), figures_of(second)};
  const auto rows = differences(both);
  const DifferenceRow* step = find(rows, "step_time");
  ASSERT_NE(step, nullptr);
  EXPECT_FALSE(step->values[0].change.has_value());
  EXPECT_DOUBLE_EQ(*step->values[1].change, before / 2);
  EXPECT_DOUBLE_EQ(*step->values[1].relative, 0.5);
  EXPECT_EQ(*find(rows, "mfu")->values[1].change, 0.0);
}

TEST(Difference, LeavesOutWhatOneSideDoesNotHave) {
  const Evaluation run = testing::sample_evaluation();
  const Evaluation step = testing::sample_step_evaluation();
  const Figures both[] = {figures_of(run), figures_of(step)};
  const auto rows = differences(both);
  const DifferenceRow* goodput = find(rows, "goodput");
  ASSERT_NE(goodput, nullptr);
  EXPECT_TRUE(goodput->values[0].value.has_value());
  EXPECT_FALSE(goodput->values[1].value.has_value());
  EXPECT_FALSE(goodput->values[1].change.has_value());
  EXPECT_TRUE(differences({}).empty());
}

TEST(Difference, RowsOfALedgerAddUpToItsWhole) {
  const Evaluation first = testing::sample_evaluation();
  Evaluation second = first;
  const double before = first.metrics.find(MetricId::step_time)->value;
  second.metrics.set({MetricId::step_time, before * 1.5, std::nullopt});
  const Figures both[] = {figures_of(first), figures_of(second)};
  for (const std::string_view group : {"step ledger", "run ledger"}) {
    std::array<double, 2> sum{};
    std::array<double, 2> all{};
    for (const DifferenceRow& row : differences(both)) {
      for (std::size_t i = 0; i < sum.size() && row.group == group; ++i) {
        (row.name == "all" ? all : sum)[i] += row.values[i].value.value_or(0.0);
      }
    }
    EXPECT_GT(all[0], 0.0) << group;
    EXPECT_NEAR(sum[0], all[0], 1e-9 * all[0]) << group;
    EXPECT_NEAR(sum[1], all[1], 1e-9 * all[1]) << group;
  }
  EXPECT_EQ(step_change_words(both[0], both[0]), "");
  EXPECT_TRUE(step_change_words(both[0], both[1])
                  .starts_with(format_change(Dimension::time, before / 2) +
                               " a step; what changes most is "));
}

// Half as long a step with twice the tokens in the same window: each loss takes half of its time,
// and the same tokens cost half of the bill.
TEST(Difference, LossesAddUpToTheStepAndToTheBillForTheSameTokens) {
  const Evaluation first = testing::sample_evaluation();
  Evaluation second = first;
  const auto scale = [&](MetricId id, double by) {
    second.metrics.set({id, first.metrics.find(id)->value * by, std::nullopt});
  };
  scale(MetricId::step_time, 0.5);
  scale(MetricId::tokens_trained, 2.0);
  const Figures both[] = {figures_of(first), figures_of(second)};
  const Losses losses = losses_of(both);
  EXPECT_EQ(losses.bill, Dimension::dollars);
  const double step = first.metrics.find(MetricId::step_time)->value;
  const double cost = first.metrics.find(MetricId::cost)->value;
  EXPECT_DOUBLE_EQ(*losses.all.time[1].change, -step / 2);
  EXPECT_DOUBLE_EQ(*losses.all.bill[1].change, -cost / 2);
  double time = 0.0;
  double bill = 0.0;
  double before = cost;
  for (const LossRow& row : losses.rows) {
    time += row.time.empty() ? 0.0 : *row.time[1].change;
    bill += *row.bill[1].change;
    EXPECT_LE(-*row.bill[1].change, before) << row.label << " is larger than what leads it";
    before = -*row.bill[1].change;
  }
  EXPECT_NEAR(time, -step / 2, 1e-9 * step);
  EXPECT_NEAR(bill, -cost / 2, 1e-9 * cost);
  EXPECT_TRUE(
      step_change_words(both[0], both[1])
          .ends_with("; " + format_change(Dimension::dollars, -cost / 2) + " for the same tokens"));
  EXPECT_TRUE(losses_of({}).rows.empty());
}

// Figures that follow the step are told apart by more than the error, parts of a ledger by more
// than the whole may be off; what does not follow the step is what it is.
TEST(Difference, SaysWhatPredictionsDoNotTellApart) {
  const Evaluation first = testing::sample_evaluation();
  Evaluation second = first;
  const double before = first.metrics.find(MetricId::step_time)->value;
  second.metrics.set({MetricId::step_time, before * 1.05, std::nullopt});
  second.metrics.set({MetricId::peak_memory, 1.0, std::nullopt});
  const Figures both[] = {figures_of(first), figures_of(second)};
  const auto within = [&](double error, std::string_view name) {
    const std::optional<ChangeError> errors[] = {std::nullopt, ChangeError{error, "layouts"}};
    const auto rows = differences(both, errors);
    return find(rows, name)->values[1].within_error;
  };
  EXPECT_TRUE(within(0.06, "step_time"));
  EXPECT_FALSE(within(0.04, "step_time"));
  EXPECT_FALSE(within(0.06, "mfu")) << "which is the same";
  EXPECT_FALSE(within(10.0, "peak_memory")) << "which is no matter of time";
  EXPECT_TRUE(within(0.04, "compute")) << "5 % of a part of it";
  EXPECT_FALSE(within(0.0, "compute"));
  const ChangeError error{0.06, "layouts that differ in chunks"};
  const std::string change = format_change(Dimension::time, before * 0.05);
  EXPECT_TRUE(step_change_words(both[0], both[1], error)
                  .starts_with(change + " a step, within error; what changes most is "));
  EXPECT_TRUE(step_change_words(both[0], both[1], ChangeError{0.04, ""})
                  .starts_with(change + " a step; what changes most is "));
  EXPECT_EQ(error_words(both[0], both[1], error),
            "8 of 10 predicted changes between layouts that differ in chunks are off by less than "
            "6.00%, here 600 ms of a step");
  EXPECT_EQ(error_words(both[0], both[1], std::nullopt), "");
  EXPECT_EQ(error_words(both[0], both[1], ChangeError{}), "") << "equal steps";
}

TEST(Difference, ReadsWithItsSign) {
  EXPECT_EQ(format_change(Dimension::time, 1.5), "+1.50 s");
  EXPECT_EQ(format_change(Dimension::fraction, -0.0231), "-2.31 points");
  EXPECT_EQ(format_change(Dimension::fraction, -0.00001), "less than 0.01 points");
  EXPECT_EQ(format_change(Dimension::dollars, -2.0e6), "-$2.00M");
  EXPECT_EQ(format_change(Dimension::date, 3.0 * 86400), "+3.00 d");
  EXPECT_EQ(format_change(Dimension::count, 0.0), "no change");
}

}  // namespace
}  // namespace orrery::report
