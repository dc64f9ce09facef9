#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/base/random.hpp"

// Moments of the distributions against their closed forms, within four standard errors:
//   standard error of a mean = sigma / sqrt(n)
//   standard error of a variance = sigma^2 sqrt((kurtosis - 1) / n), kurtosis = mu_4 / sigma^4

namespace orrery {
namespace {

constexpr std::uint64_t kMomentsSeed = 20261121;
constexpr int kDraws = 200000;

std::vector<double> sample(std::uint32_t trial, const std::function<double(RandomStream&)>& draw) {
  RandomStream stream(kMomentsSeed, trial, Purpose::property_test);
  std::vector<double> values;
  values.reserve(kDraws);
  for (int i = 0; i < kDraws; ++i) {
    values.push_back(draw(stream));
  }
  return values;
}

// Mean of (x - centre)^power.
double moment(const std::vector<double>& values, double centre, int power) {
  double sum = 0.0;
  for (const double value : values) {
    sum += std::pow(value - centre, power);
  }
  return sum / static_cast<double>(values.size());
}

double fraction_above(const std::vector<double>& values, double bound) {
  int above = 0;
  for (const double value : values) {
    above += value > bound ? 1 : 0;
  }
  return static_cast<double>(above) / static_cast<double>(values.size());
}

void expect_within_four_sigma(double actual, double expected, double standard_error) {
  EXPECT_NEAR(actual, expected, 4.0 * standard_error) << "seed " << kMomentsSeed;
}

void expect_probability(double actual, double p) {
  expect_within_four_sigma(actual, p, std::sqrt(p * (1.0 - p) / kDraws));
}

TEST(Exponential, MomentsAndTail) {
  // mean m, variance m^2, kurtosis 9, P(x > t) = exp(-t/m)
  const double m = 3.09;
  const auto x =
      sample(1, [m](RandomStream& random) { return in_hours(random.exponential(hours(m))); });
  expect_within_four_sigma(moment(x, 0.0, 1), m, m / std::sqrt(kDraws));
  expect_within_four_sigma(moment(x, m, 2), m * m, m * m * std::sqrt(8.0 / kDraws));
  expect_probability(fraction_above(x, m), std::exp(-1.0));
  expect_probability(fraction_above(x, 3.0 * m), std::exp(-3.0));
}

TEST(Weibull, MomentsAndTail) {
  // mean s G(1+1/k), variance s^2 (G(1+2/k) - G(1+1/k)^2), P(x > t) = exp(-(t/s)^k)
  for (const double k : {0.7, 1.0, 2.5}) {
    const double s = 10.0;
    const auto x =
        sample(2, [s, k](RandomStream& random) { return in_hours(random.weibull(hours(s), k)); });
    const double g1 = std::tgamma(1.0 + 1.0 / k);
    const double variance = s * s * (std::tgamma(1.0 + 2.0 / k) - g1 * g1);
    expect_within_four_sigma(moment(x, 0.0, 1), s * g1, std::sqrt(variance / kDraws));
    expect_probability(fraction_above(x, s), std::exp(-1.0));
    expect_probability(fraction_above(x, 2.0 * s), std::exp(-std::pow(2.0, k)));
  }
}

TEST(Weibull, ShapeOneIsTheExponentialDrawForDraw) {
  RandomStream a(kMomentsSeed, 3, Purpose::property_test);
  RandomStream b(kMomentsSeed, 3, Purpose::property_test);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(a.weibull(hours(5.0), 1.0), b.exponential(hours(5.0)));
  }
}

TEST(Normal, FirstFourMoments) {
  // mean 0 +- 1/sqrt(n), variance 1 +- sqrt(2/n), third 0 +- sqrt(15/n), fourth 3 +- sqrt(96/n)
  const auto x = sample(4, [](RandomStream& random) { return random.normal(); });
  expect_within_four_sigma(moment(x, 0.0, 1), 0.0, std::sqrt(1.0 / kDraws));
  expect_within_four_sigma(moment(x, 0.0, 2), 1.0, std::sqrt(2.0 / kDraws));
  expect_within_four_sigma(moment(x, 0.0, 3), 0.0, std::sqrt(15.0 / kDraws));
  expect_within_four_sigma(moment(x, 0.0, 4), 3.0, std::sqrt(96.0 / kDraws));
}

TEST(Normal, QuantilesMatchTheErrorFunction) {
  const auto x = sample(5, [](RandomStream& random) { return random.normal(); });
  for (const double z : {-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0}) {
    expect_probability(fraction_above(x, z), 0.5 * std::erfc(z / std::sqrt(2.0)));
  }
}

TEST(Normal, IsAlwaysFinite) {
  const auto x = sample(6, [](RandomStream& random) { return random.normal(); });
  for (const double value : x) {
    ASSERT_TRUE(std::isfinite(value));
  }
}

TEST(Lognormal, MedianMeanAndSpreadOfTheLogarithm) {
  // P(x > median) = 1/2, mean = median exp(s^2/2), variance = mean^2 (exp(s^2) - 1),
  // standard deviation of log x = s
  const double median = 8.0;
  const double s = 0.6;
  const auto x = sample(7, [median, s](RandomStream& random) {
    return in_minutes(random.lognormal(minutes(median), s));
  });
  const double mean = median * std::exp(s * s / 2.0);
  const double variance = mean * mean * (std::exp(s * s) - 1.0);
  expect_probability(fraction_above(x, median), 0.5);
  expect_within_four_sigma(moment(x, 0.0, 1), mean, std::sqrt(variance / kDraws));
  std::vector<double> logs;
  logs.reserve(x.size());
  for (const double value : x) {
    logs.push_back(std::log(value / median));
  }
  expect_within_four_sigma(moment(logs, 0.0, 1), 0.0, s / std::sqrt(kDraws));
  expect_within_four_sigma(moment(logs, 0.0, 2), s * s, s * s * std::sqrt(2.0 / kDraws));
}

}  // namespace
}  // namespace orrery
