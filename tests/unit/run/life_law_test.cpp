// Laws of lives: probabilities and quantiles undo one another, whatever the age, and agree with
// closed forms.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/run/theory/time_law.hpp"

namespace orrery::run {
namespace {

constexpr std::uint64_t kLivesSeed = 20261121;
const InitialAge kFresh = {AgeKind::fresh, Seconds{}};
const InitialAge kStationary = {AgeKind::stationary, Seconds{}};

InitialAge aged(Seconds age) { return {AgeKind::given, age}; }

// Mean of a life by the midpoints of `count` equal shares.
double mean_by_quantiles(const RemainingLife& life, int count) {
  double sum = 0.0;
  for (int i = 0; i < count; ++i) {
    sum += in_seconds(life.quantile((i + 0.5) / count));
  }
  return sum / count;
}

TEST(LifeLaw, QuantilesUndoProbabilities) {
  RandomStream stream(kLivesSeed, 0, Purpose::property_test);
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE("seed " + std::to_string(kLivesSeed) + ", case " + std::to_string(i));
    const double shape = 0.4 + 3.0 * stream.uniform01();
    const double sigma = 0.2 + 2.0 * stream.uniform01();
    const Seconds scale = days(1.0 + 99.0 * stream.uniform01());
    const Seconds age = 1.5 * stream.uniform01() * scale;
    for (const LifeLaw& law : {LifeLaw(ExponentialLaw{scale}), LifeLaw(WeibullLaw{shape, scale}),
                               LifeLaw(LognormalLaw{scale, sigma})}) {
      for (const InitialAge& start : {kFresh, kStationary, aged(age)}) {
        const RemainingLife life(law, start);
        const double u = 0.001 + 0.998 * stream.uniform01();
        EXPECT_NEAR(life.probability(life.quantile(u)), u, 1e-9);
        EXPECT_EQ(life.probability(Seconds{}), 0.0);
      }
    }
  }
}

TEST(LifeLaw, MeansAreTheClosedForms) {
  // Weibull of shape 1/2: scale * Gamma(3) = 2 scales. Lognormal: median * exp(sigma^2 / 2).
  EXPECT_NEAR(in_days(mean(WeibullLaw{0.5, days(3.0)})), 6.0, 1e-12);
  EXPECT_NEAR(in_days(mean(LifeLaw(LognormalLaw{days(2.0), 1.2}))), 2.0 * std::exp(0.72), 1e-12);
  EXPECT_NEAR(in_days(mean(LifeLaw(EmpiricalLaw{{days(1.0), days(5.0)}}))), 3.0, 1e-12);
  EXPECT_NEAR(in_days(mean(weibull_of_mean(0.8, days(100.0)))), 100.0, 1e-9);
  EXPECT_NEAR(in_days(mean(LifeLaw(lognormal_of_mean(days(100.0), 1.7)))), 100.0, 1e-9);
  EXPECT_NEAR(in_days(mean(scaled(WeibullLaw{0.5, days(3.0)}, 2.0))), 12.0, 1e-12);
}

TEST(LifeLaw, AWeibullLifeOfShapeOneDoesNotRemember) {
  const LifeLaw law = WeibullLaw{1.0, days(10.0)};
  const RemainingLife memoryless(ExponentialLaw{days(10.0)}, kFresh);
  for (const InitialAge& start : {kFresh, kStationary, aged(days(30.0))}) {
    const RemainingLife life(law, start);
    for (const double u : {0.01, 0.3, 0.9, 0.999}) {
      EXPECT_NEAR(in_days(life.quantile(u)), in_days(memoryless.quantile(u)), 1e-9);
    }
  }
}

TEST(LifeLaw, AnAgedWeibullLifeIsTheConditionalOne) {
  // S(a + x) / S(a) with shape 2, scale 10 d, a = 5 d, x = 10 d: exp(0.25 - 2.25) = exp(-2).
  const RemainingLife life(WeibullLaw{2.0, days(10.0)}, aged(days(5.0)));
  EXPECT_NEAR(life.probability(days(10.0)), 1.0 - std::exp(-2.0), 1e-12);
  EXPECT_NEAR(in_days(life.quantile(1.0 - std::exp(-2.0))), 10.0, 1e-9);
}

TEST(LifeLaw, AStationaryLifeHasTheMeanOfTheInspectionParadox) {
  // E[remaining] = E[X^2] / (2 E[X]). Weibull: scale Gamma(1 + 2/k) / (2 Gamma(1 + 1/k)).
  for (const double shape : {0.8, 1.5, 2.64}) {
    const RemainingLife life(WeibullLaw{shape, days(7.0)}, kStationary);
    const double expected =
        7.0 * std::tgamma(1.0 + 2.0 / shape) / (2.0 * std::tgamma(1.0 + 1.0 / shape));
    EXPECT_NEAR(mean_by_quantiles(life, 20'000) / in_seconds(days(expected)), 1.0, 2e-3) << shape;
  }
  // Lognormal: median exp(2 sigma^2) / (2 exp(sigma^2 / 2)).
  const RemainingLife life(LognormalLaw{days(7.0), 0.6}, kStationary);
  const double expected = 7.0 * std::exp(2.0 * 0.36) / (2.0 * std::exp(0.18));
  EXPECT_NEAR(mean_by_quantiles(life, 20'000) / in_seconds(days(expected)), 1.0, 2e-3);
}

TEST(LifeLaw, AListIsDrawnFromAsItStands) {
  const LifeLaw law = EmpiricalLaw{{days(30.0), days(10.0), days(20.0), days(40.0)}};
  const RemainingLife fresh(law, kFresh);
  EXPECT_EQ(fresh.quantile(0.0), days(10.0));
  EXPECT_EQ(fresh.quantile(0.26), days(20.0));
  EXPECT_EQ(fresh.quantile(0.99), days(40.0));
  // At 15 days the component is one of the three that live longer.
  const RemainingLife older(law, aged(days(15.0)));
  EXPECT_NEAR(in_days(older.quantile(0.0)), 5.0, 1e-9);
  EXPECT_NEAR(in_days(older.quantile(0.34)), 15.0, 1e-9);
  EXPECT_NEAR(in_days(older.quantile(0.99)), 25.0, 1e-9);
  // Stationary: integral of S / mean; at 20 days (10 + 20 + 20 + 20) / 4 / 25 = 0.7.
  const RemainingLife stationary(law, kStationary);
  EXPECT_NEAR(stationary.probability(days(20.0)), 0.7, 1e-12);
  EXPECT_NEAR(in_days(stationary.quantile(0.7)), 20.0, 1e-6);
}

TEST(LifeLaw, WhatIsNoLawIsSaid) {
  EXPECT_EQ(problem_of(LifeLaw(ExponentialLaw{Seconds{}})), "the mean life must be positive");
  EXPECT_EQ(problem_of(WeibullLaw{0.0, days(1.0)}), "the shape must be at least 0.05");
  EXPECT_EQ(problem_of(WeibullLaw{1.0, Seconds{}}), "the mean life must be positive");
  EXPECT_EQ(problem_of(LifeLaw(LognormalLaw{days(1.0), 0.0})), "sigma must be positive");
  EXPECT_EQ(problem_of(LifeLaw(LognormalLaw{Seconds{}, 1.0})), "the median must be positive");
  EXPECT_EQ(problem_of(LifeLaw(EmpiricalLaw{})), "the list needs times above 0");
  EXPECT_EQ(problem_of(WeibullLaw{0.8, days(1.0)}), std::nullopt);
  const LifeLaw list = EmpiricalLaw{{days(10.0)}};
  EXPECT_EQ(problem_of(list, aged(days(10.0))), "no component reaches the stated age");
  EXPECT_EQ(problem_of(list, aged(days(9.0))), std::nullopt);
  EXPECT_EQ(problem_of(list, aged(days(-1.0))), "the age must not be negative");
}

}  // namespace
}  // namespace orrery::run
