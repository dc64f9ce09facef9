// Trial by trial the values are those that the Monte Carlo reduces, and pairs cancel what is
// common.

#include "sim/answer/plan/trial_values.hpp"

#include <cmath>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/scenario/load.hpp"
#include "tests/unit/plan_answer/plan_answer_fixture.hpp"

namespace orrery::plan::test {
namespace {

// d = {1, 2, 3}: mean 2, s = 1, t(0.975, 2) = 4.302653: half width 4.302653 / sqrt(3) = 2.484138.
TEST(PairedDifference, HasTheIntervalOfTheMeanOfTheDifferences) {
  const PairedDifference found = paired_difference({10.0, 20.0, 30.0}, {11.0, 22.0, 33.0});
  EXPECT_DOUBLE_EQ(found.mean, 2.0);
  EXPECT_NEAR(found.ci95.low, 2.0 - 2.484138, 1e-6);
  EXPECT_NEAR(found.ci95.high, 2.0 + 2.484138, 1e-6);
  EXPECT_TRUE(found.holds_zero());
}

// What is the same in both leaves no doubt about the sign, however much it varies.
TEST(PairedDifference, CancelsWhatIsCommon) {
  std::vector<double> first;
  std::vector<double> second;
  for (int i = 0; i < 50; ++i) {
    const double luck = 1000.0 * std::sin(static_cast<double>(i));
    first.push_back(luck);
    second.push_back(luck + 1.0 + 0.1 * std::cos(static_cast<double>(i)));
  }
  const PairedDifference found = paired_difference(first, second);
  EXPECT_GT(found.ci95.low, 0.9);
  EXPECT_LT(found.ci95.high, 1.1);
  EXPECT_FALSE(found.holds_zero());
}

TEST(TrialValues, AreThoseThatTheEvaluationReduces) {
  Diagnostics diagnostics;
  const auto scenario = scenario::load_text(small_text(), "small.yaml", diagnostics);
  ASSERT_TRUE(scenario) << to_string(diagnostics);
  evaluate::EvaluateOptions options;
  options.levers = false;
  options.search = profiles();
  const auto evaluation = evaluate::evaluate(*scenario, options, diagnostics);
  ASSERT_TRUE(evaluation) << to_string(diagnostics);
  const auto values = trial_values(*evaluation->plan, 3, {});
  ASSERT_TRUE(values);
  EXPECT_EQ(run::Distribution(values->wall), evaluation->run->wall);
  EXPECT_EQ(run::Distribution(values->cost), evaluation->run->cost);
  EXPECT_EQ(run::Distribution(values->tokens), evaluation->run->tokens);
  EXPECT_EQ(run::Distribution(values->held), evaluation->run->held);
  EXPECT_EQ(trial_values(*evaluation->plan, 1, {})->wall, values->wall);
}

}  // namespace
}  // namespace orrery::plan::test
