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
