// Verdicts of expectations: point values, quantiles with their intervals, three-valued logic.

#include <gtest/gtest.h>

#include <variant>

#include "sim/answer/report/expect.hpp"

namespace orrery::report {
namespace {

// mfu is 0.4; goodput takes 0.01, 0.02 ... 1.00 over 100 trials.
MetricSet metrics() {
  MetricSet set;
  set.set({.id = MetricId::mfu, .value = 0.4, .trials = std::nullopt});
  std::vector<double> values;
  for (int i = 1; i <= 100; ++i) {
    values.push_back(i / 100.0);
  }
  run::Distribution trials(std::move(values));
  const double mean = trials.mean();
  set.set({.id = MetricId::goodput, .value = mean, .trials = std::move(trials)});
  return set;
}

ExpectationResult judged(std::string_view text, bool fits = true, bool point = false) {
  const MetricSet set = metrics();
  const auto parsed = parse_expectation(text);
  EXPECT_TRUE(std::holds_alternative<ExpectNode>(parsed)) << text;
  return judge_expectation(std::get<ExpectNode>(parsed),
                           {.metrics = set, .fits_memory = fits, .decide_point = point});
}

TEST(ExpectJudge, PointValuesAreComparedExactly) {
  EXPECT_EQ(judged("mfu >= 0.4").verdict, Verdict::pass);
  EXPECT_EQ(judged("mfu > 0.4").verdict, Verdict::fail);
  EXPECT_EQ(judged("mfu == 0.4").verdict, Verdict::pass);
  EXPECT_EQ(judged("mfu != 0.4").verdict, Verdict::fail);
  EXPECT_EQ(judged("mfu < 0.5").verdict, Verdict::pass);
  EXPECT_EQ(judged("mfu <= 0.3").verdict, Verdict::fail);
}

TEST(ExpectJudge, FailureSaysWhatWasFoundAndNeeded) {
  const ExpectationResult result = judged("mfu >= 0.45");
  EXPECT_EQ(result.detail, "mfu is 40.0%, at least 45.0% is needed");
  ASSERT_TRUE(result.value.has_value());
  EXPECT_DOUBLE_EQ(*result.value, 0.4);
}

TEST(ExpectJudge, MetricThatTheScenarioDoesNotAskForFails) {
  const ExpectationResult result = judged("step_time <= 5s");
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_EQ(result.detail, "step_time is not known: the scenario does not ask for it");
  EXPECT_FALSE(result.value.has_value());
}

TEST(ExpectJudge, IntervalThatStraddlesTheBoundIsUndecided) {
  // Median 0.505, its 95 % interval by order statistics lies within 0.40 ... 0.61.
  EXPECT_EQ(judged("p50(goodput) >= 0.30").verdict, Verdict::pass);
  EXPECT_EQ(judged("p50(goodput) >= 0.70").verdict, Verdict::fail);
  const ExpectationResult close = judged("p50(goodput) >= 0.50");
  EXPECT_EQ(close.verdict, Verdict::undecided);
  EXPECT_FALSE(close.passed());
  EXPECT_NE(close.detail.find("cannot be decided: 95 % interval"), std::string::npos);
}

TEST(ExpectJudge, DecidePointJudgesTheEstimate) {
  EXPECT_EQ(judged("p50(goodput) >= 0.50", true, true).verdict, Verdict::pass);
  EXPECT_EQ(judged("p50(goodput) >= 0.51", true, true).verdict, Verdict::fail);
}

TEST(ExpectJudge, ProbabilityCountsTheTrials) {
  // 81 of the 100 values are at least 0.20.
  const ExpectationResult result = judged("probability(goodput >= 0.2) >= 50%");
  EXPECT_EQ(result.verdict, Verdict::pass);
  ASSERT_TRUE(result.value.has_value());
  EXPECT_DOUBLE_EQ(*result.value, 0.81);
  EXPECT_EQ(judged("probability(goodput >= 0.2) >= 80%").verdict, Verdict::undecided);
  EXPECT_EQ(judged("probability(goodput >= 0.2) >= 95%").verdict, Verdict::fail);
}

TEST(ExpectJudge, FitsMemoryIsTheAnswerOfTheStep) {
  EXPECT_EQ(judged("fits_memory", true).verdict, Verdict::pass);
  EXPECT_EQ(judged("fits_memory", false).verdict, Verdict::fail);
  EXPECT_EQ(judged("not fits_memory", false).verdict, Verdict::pass);
}

// Kleene's three-valued logic, complete: T = true, F = false, U = undecided.
TEST(ExpectJudge, LogicIsKleenes) {
  const std::string_view t = "mfu > 0.1";
  const std::string_view f = "mfu > 0.9";
  const std::string_view u = "p50(goodput) >= 0.50";

  struct Row {
    std::string_view a;
    std::string_view b;
    Verdict both;
    Verdict either;
  };

  const Row rows[] = {
      {t, t, Verdict::pass, Verdict::pass},          {t, f, Verdict::fail, Verdict::pass},
      {t, u, Verdict::undecided, Verdict::pass},     {f, t, Verdict::fail, Verdict::pass},
      {f, f, Verdict::fail, Verdict::fail},          {f, u, Verdict::fail, Verdict::undecided},
      {u, t, Verdict::undecided, Verdict::pass},     {u, f, Verdict::fail, Verdict::undecided},
      {u, u, Verdict::undecided, Verdict::undecided}};
  for (const Row& row : rows) {
    const std::string a(row.a);
    const std::string b(row.b);
    EXPECT_EQ(judged(a + " and " + b).verdict, row.both) << a << " and " << b;
    EXPECT_EQ(judged(a + " or " + b).verdict, row.either) << a << " or " << b;
  }
  EXPECT_EQ(judged("not " + std::string(u)).verdict, Verdict::undecided);
  EXPECT_EQ(judged("not " + std::string(t)).verdict, Verdict::fail);
  EXPECT_EQ(judged("not " + std::string(f)).verdict, Verdict::pass);
}

TEST(ExpectJudge, ThePartThatDecidesIsTheOneExplained) {
  const ExpectationResult result = judged("mfu > 0.1 and mfu > 0.9");
  EXPECT_EQ(result.detail, "mfu is 40.0%, above 90.0% is needed");
}

}  // namespace
}  // namespace orrery::report
