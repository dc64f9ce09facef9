// Tests the verdicts on whether a metric has moved since it was accepted, and the signature.

#include "sim/answer/report/files/baseline.hpp"

#include <gtest/gtest.h>

#include "sim/answer/report/files/figures.hpp"
#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::report {
namespace {

BaselineScenario scenario(std::vector<BaselineMetric> metrics) {
  return {.file = "a.yaml", .sha256 = "1", .trials = 10, .metrics = std::move(metrics)};
}

Baseline baseline(std::vector<BaselineMetric> metrics) {
  Baseline kept;
  kept.scenarios.push_back(scenario(std::move(metrics)));
  return kept;
}

MetricChange only(const Baseline& kept, BaselineMetric now) {
  const ScenarioChange change = compare_with(kept, scenario({std::move(now)}));
  EXPECT_EQ(change.metrics.size(), 1U);
  return change.metrics.at(0);
}

// 0.1 % of 10 s is 10 ms.
TEST(Baseline, AnExactMetricMayMoveByATenthOfAPercent) {
  const Baseline kept = baseline({{"step_time_s", 10.0, {}}});
  EXPECT_EQ(only(kept, {"step_time_s", 10.0099, {}}).kind, ChangeKind::same);
  EXPECT_EQ(only(kept, {"step_time_s", 9.9901, {}}).kind, ChangeKind::same);
  const MetricChange moved = only(kept, {"step_time_s", 10.2, {}});
  EXPECT_EQ(moved.kind, ChangeKind::moved);
  EXPECT_TRUE(moved.failed());
  EXPECT_EQ(change_text(moved), "step_time_s moved from 10 to 10.2 (+2 %), tolerance 0.1 %");
}

// Allowed 0.5 % of 100 = 0.5; noise hypot(3, 4) = 5: from 5.5 on it has moved.
TEST(Baseline, AMetricOverTrialsMovesWhenChanceDoesNotExplainIt) {
  const Baseline kept = baseline({{"finish_time_s", 100.0, run::Interval{97.0, 103.0}}});
  const auto at = [&](double value) {
    return only(kept, {"finish_time_s", value, run::Interval{value - 4.0, value + 4.0}});
  };
  EXPECT_EQ(at(100.4).kind, ChangeKind::same);
  EXPECT_EQ(at(105.4).kind, ChangeKind::chance);
  EXPECT_FALSE(at(105.4).failed());
  EXPECT_EQ(at(105.6).kind, ChangeKind::moved);
  EXPECT_EQ(at(94.4).kind, ChangeKind::moved);
  EXPECT_EQ(change_text(at(106.0)),
            "finish_time_s moved from 100 to 106 (+6 %), tolerance 0.5 %, chance alone gives up to "
            "5");
  Baseline point = kept;
  point.decide_point = true;
  EXPECT_EQ(compare_with(point, scenario({{"finish_time_s", 101.0, run::Interval{90.0, 110.0}}}))
                .metrics[0]
                .kind,
            ChangeKind::moved);
}

TEST(Baseline, StatedTolerancesComeBeforeUsualOnesAndTheScenariosBeforeTheFiles) {
  Baseline kept = baseline({{"mfu", 0.4, {}}, {"step_time_s", 10.0, {}}});
  kept.tolerances["mfu"] = {.relative = 0.1};
  kept.tolerances["step_time_s"] = {.relative = 0.01, .absolute = 2.0};
  const auto now = scenario({{"mfu", 0.43, {}}, {"step_time_s", 11.9, {}}});
  EXPECT_FALSE(compare_with(kept, now).failed());
  kept.scenarios[0].tolerances["mfu"] = {.relative = 0.01};
  const ScenarioChange change = compare_with(kept, now);
  EXPECT_TRUE(change.metrics[0].failed());
  EXPECT_FALSE(change.metrics[1].failed());
  kept.scenarios[0].tolerances["mfu"] = {.any = true};
  EXPECT_FALSE(compare_with(kept, now).failed());
  EXPECT_EQ(tolerance_text({.relative = 0.01, .absolute = 2.0}), "1 % or 2");
  EXPECT_EQ(tolerance_text({.absolute = 2.0}), "2");
}

// A date is seconds since 1970: a share of it means nothing, an hour does.
TEST(Baseline, ADateMayMoveByAnHour) {
  const Baseline kept = baseline({{"finish_date_unix_s", 1'700'000'000.0, {}}});
  EXPECT_EQ(only(kept, {"finish_date_unix_s", 1'700'003'500.0, {}}).kind, ChangeKind::same);
  EXPECT_EQ(only(kept, {"finish_date_unix_s", 1'700'003'700.0, {}}).kind, ChangeKind::moved);
}

TEST(Baseline, WhatIsGoneFailsAndWhatIsNewDoesNot) {
  const Baseline kept = baseline({{"mfu", 0.4, {}}});
  const ScenarioChange change = compare_with(kept, scenario({{"hfu", 0.5, {}}}));
  ASSERT_EQ(change.metrics.size(), 2U);
  EXPECT_EQ(change_text(change.metrics[0]), "mfu is gone, was 0.4");
  EXPECT_EQ(change_text(change.metrics[1]), "hfu is new: 0.5");
  EXPECT_TRUE(change.failed());
  EXPECT_EQ(change.count(ChangeKind::added), 1U);
}

TEST(Baseline, FromZeroAnyChangeIsAMove) {
  const Baseline kept = baseline({{"bubble_fraction", 0.0, {}}});
  EXPECT_EQ(only(kept, {"bubble_fraction", 1e-12, {}}).kind, ChangeKind::same);
  const MetricChange moved = only(kept, {"bubble_fraction", 0.01, {}});
  EXPECT_EQ(change_text(moved), "bubble_fraction moved from 0 to 0.01, tolerance 0.1 %");
}

TEST(Baseline, ValuesThatSixDigitsDoNotTellApartHaveAllOfThem) {
  Baseline kept = baseline({{"mfu", 0.4, {}}});
  kept.exact = 0.0;
  EXPECT_EQ(change_text(only(kept, {"mfu", 0.40000001, {}})),
            "mfu moved from 0.4 to 0.40000001 (+2.5e-06 %), tolerance 0 %");
}

TEST(Baseline, NewScenariosEditedFilesAndWhatNoLongerFitsAreSaid) {
  const Baseline kept = baseline({{"mfu", 0.4, {}}});
  BaselineScenario now = scenario({{"mfu", 0.4, {}}});
  now.file = "b.yaml";
  EXPECT_TRUE(compare_with(kept, now).is_new);
  EXPECT_FALSE(compare_with(kept, now).failed());
  now.file = "a.yaml";
  now.sha256 = "2";
  EXPECT_TRUE(compare_with(kept, now).edited);
  EXPECT_FALSE(compare_with(kept, now).failed());
  now.fits = false;
  EXPECT_TRUE(compare_with(kept, now).failed());
}

TEST(Baseline, AnAnswerComparedWithItselfHasNotMoved) {
  const Evaluation evaluation = testing::sample_evaluation();
  Baseline kept;
  kept.scenarios.push_back(baseline_of(evaluation, "a.yaml"));
  const ScenarioChange change = compare_with(kept, kept.scenarios[0]);
  EXPECT_FALSE(change.failed());
  EXPECT_EQ(change.count(ChangeKind::same), kept.scenarios[0].metrics.size());
  EXPECT_GT(kept.scenarios[0].metrics.size(), 5U);
}

TEST(Behaviour, TheSignatureFollowsValuesAndNotNames) {
  Evaluation evaluation = testing::sample_evaluation();
  const std::string text = behaviour_text(evaluation);
  EXPECT_EQ(signature_of(text).size(), 16U);
  EXPECT_NE(text.find("step_time_s 10\n"), std::string::npos);
  evaluation.echo.name = "another name";
  EXPECT_EQ(behaviour_text(evaluation), text);
  evaluation.metrics.set({.id = MetricId::step_time, .value = 10.0 + 1e-10, .trials = {}});
  EXPECT_EQ(behaviour_text(evaluation), text) << "nine digits";
  evaluation.metrics.set({.id = MetricId::step_time, .value = 10.0 + 1e-6, .trials = {}});
  EXPECT_NE(behaviour_text(evaluation), text);
}

}  // namespace
}  // namespace orrery::report
