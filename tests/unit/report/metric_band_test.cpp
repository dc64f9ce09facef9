// The band of a figure holds the error of the step and the luck of the run.

#include "sim/answer/report/metric_band.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace orrery::report::test {
namespace {

constexpr double kError = 0.1;
const double kTenth = std::log(5.0);  // spreads of a Laplace law beyond which a tenth lies

Evaluation with_band(bool window) {
  Evaluation evaluation;
  evaluation.band = StepBand{.novelty = Novelty::none,
                             .error = kError,
                             .low = 10.0 * std::exp(-kTenth * kError),
                             .high = 10.0 * std::exp(kTenth * kError)};
  evaluation.plan.emplace();
  if (!window) {
    evaluation.plan->target_steps = 100;
  }
  return evaluation;
}

void set(Evaluation& evaluation, MetricId id, std::vector<double> trials) {
  const run::Distribution spread(std::move(trials));
  evaluation.metrics.set({id, spread.mean(), spread});
}

TEST(MetricBand, OfAFigureWithoutLuckIsThatOfTheStep) {
  Evaluation evaluation = with_band(false);
  evaluation.metrics.set({MetricId::step_time, 10.0, {}});
  evaluation.metrics.set({MetricId::mfu, 0.4, {}});
  const auto step = metric_band(evaluation, MetricId::step_time);
  ASSERT_TRUE(step);
  EXPECT_NEAR(step->low, evaluation.band->low, 1e-9);
  EXPECT_NEAR(step->high, evaluation.band->high, 1e-9);
  const auto mfu = metric_band(evaluation, MetricId::mfu);
  ASSERT_TRUE(mfu);
  EXPECT_NEAR(mfu->high, 0.4 * 10.0 / evaluation.band->low, 1e-9);
}

// Two trials, ln apart by 2 a, and a Laplace law of spread b: the closed form of the mixture's
// tail, (exp(-(x - a) / b) + exp(-(x + a) / b)) / 4 = 0.1 for x > a.
TEST(MetricBand, OfTwoTrialsIsTheQuantileOfTheMixture) {
  constexpr double kHalf = 0.05;
  Evaluation evaluation = with_band(false);
  std::vector<double> trials;
  for (int i = 0; i < 2000; ++i) {
    trials.push_back(std::exp(i % 2 == 0 ? kHalf : -kHalf));
  }
  set(evaluation, MetricId::cost, trials);
  const double expected = kError * std::log(5.0 * std::cosh(kHalf / kError));
  const auto band = metric_band(evaluation, MetricId::cost);
  ASSERT_TRUE(band);
  EXPECT_NEAR(std::log(band->high), expected, 1e-3);
  EXPECT_NEAR(std::log(band->low), -expected, 1e-3);
}

TEST(MetricBand, IsNotNarrowerThanEitherOfItsCauses) {
  Evaluation evaluation = with_band(false);
  std::vector<double> trials;
  for (int i = 0; i < 1000; ++i) {
    trials.push_back(100.0 + i);
  }
  set(evaluation, MetricId::finish_time, trials);
  const auto band = metric_band(evaluation, MetricId::finish_time);
  ASSERT_TRUE(band);
  EXPECT_LT(band->low, evaluation.metrics.find(MetricId::finish_time)->trials->quantile(0.1));
  EXPECT_GT(band->high, evaluation.metrics.find(MetricId::finish_time)->trials->quantile(0.9));
}

// The ends of the band hold a tenth and nine tenths; of one trial F(x_t exp(b)) = 1 - exp(-1) / 2.
TEST(MetricBand, TheShareUpToABoundIsTheDistributionWhoseQuantilesItsEndsAre) {
  Evaluation evaluation = with_band(false);
  set(evaluation, MetricId::finish_time, {1000.0, 1100.0, 1300.0});
  set(evaluation, MetricId::finish_date, {501000.0, 501100.0, 501300.0});
  const auto band = metric_band(evaluation, MetricId::finish_time);
  ASSERT_TRUE(band);
  EXPECT_NEAR(*share_at_most(evaluation, MetricId::finish_time, band->low), 0.1, 1e-9);
  EXPECT_NEAR(*share_at_most(evaluation, MetricId::finish_time, band->high), 0.9, 1e-9);
  EXPECT_NEAR(*share_at_most(evaluation, MetricId::finish_date, 500000.0 + band->high), 0.9, 1e-9);
  EXPECT_EQ(share_at_most(evaluation, MetricId::finish_time, -1.0), 0.0);
  set(evaluation, MetricId::cost, {100.0});
  EXPECT_NEAR(*share_at_most(evaluation, MetricId::cost, 100.0 * std::exp(kError)),
              1.0 - 0.5 * std::exp(-1.0), 1e-9);
  evaluation.band.reset();
  EXPECT_FALSE(share_at_most(evaluation, MetricId::cost, 100.0));
}

TEST(MetricBand, OfADateIsThatOfTheTimeToFinish) {
  Evaluation evaluation = with_band(false);
  set(evaluation, MetricId::finish_time, {1000.0, 1100.0});
  set(evaluation, MetricId::finish_date, {501000.0, 501100.0});
  const auto time = metric_band(evaluation, MetricId::finish_time);
  const auto date = metric_band(evaluation, MetricId::finish_date);
  ASSERT_TRUE(time && date);
  EXPECT_NEAR(date->low, 500000.0 + time->low, 1e-6);
  EXPECT_NEAR(date->high, 500000.0 + time->high, 1e-6);
}

// In a window the work follows the step, with a target the time and the dollars do.
TEST(MetricBand, FollowsWhatTheRunLeavesOpen) {
  for (const bool window : {false, true}) {
    Evaluation evaluation = with_band(window);
    for (const MetricId id : {MetricId::finish_time, MetricId::cost, MetricId::tokens_trained,
                              MetricId::cost_per_million_tokens, MetricId::goodput}) {
      set(evaluation, id, {0.5, 0.6});
    }
    EXPECT_EQ(metric_band(evaluation, MetricId::finish_time).has_value(), !window);
    EXPECT_EQ(metric_band(evaluation, MetricId::cost).has_value(), !window);
    EXPECT_EQ(metric_band(evaluation, MetricId::tokens_trained).has_value(), window);
    EXPECT_TRUE(metric_band(evaluation, MetricId::cost_per_million_tokens));
    EXPECT_FALSE(metric_band(evaluation, MetricId::goodput));
  }
}

TEST(MetricBand, IsAbsentWithoutABandOfTheStepOrWhereACountMayBeZero) {
  Evaluation evaluation = with_band(false);
  set(evaluation, MetricId::failures, {0.0, 3.0});
  EXPECT_FALSE(metric_band(evaluation, MetricId::failures));
  EXPECT_FALSE(metric_band(evaluation, MetricId::cost));
  set(evaluation, MetricId::cost, {1.0, 2.0});
  evaluation.band.reset();
  EXPECT_FALSE(metric_band(evaluation, MetricId::cost));
}

}  // namespace
}  // namespace orrery::report::test
