#include "sim/base/random.hpp"

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "sim/base/parallel.hpp"
#include "sim/base/quantile.hpp"

// Moments of the distributions against their closed forms, within four standard errors:
//   standard error of a mean = sigma / sqrt(n)
//   standard error of a variance = sigma^2 sqrt((kurtosis - 1) / n), kurtosis = mu_4 / sigma^4

namespace orrery {
namespace {

constexpr std::uint64_t kSeed = 20261121;

using Counter = r123::Philox4x32::ctr_type;
using Key = r123::Philox4x32::key_type;

struct KnownAnswer {
  Counter counter;
  Key key;
  Counter out;
};

// Published with Random123 (Salmon et al., SC11): philox4x32 with 10 rounds.
const std::array<KnownAnswer, 3> kKnownAnswers = {{
    {{{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
    {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
     {{0xffffffff, 0xffffffff}},
     {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
    {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
     {{0xa4093822, 0x299f31d0}},
     {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
}};

std::vector<double> uniforms(RandomStream stream, int n) {
  std::vector<double> draws;
  draws.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    draws.push_back(stream.uniform01());
  }
  return draws;
}

TEST(Philox, GivesThePublishedKnownAnswers) {
  for (const KnownAnswer& known : kKnownAnswers) {
    EXPECT_EQ(r123::Philox4x32()(known.counter, known.key), known.out);
  }
}

TEST(RandomStream, ZeroStreamStartsWithTheFirstKnownAnswer) {
  // Counter (block 0, entity 0, trial 0, purpose 0), key 0: low word first.
  RandomStream stream(0, 0, Purpose{0}, 0);
  EXPECT_EQ(stream.next_u64(), 0xe169c58d6627e8d5U);
  EXPECT_EQ(stream.next_u64(), 0x9b00dbd8bc57ac4cU);
}

TEST(RandomStream, IsPhiloxOfSeedAndBlockEntityTrialPurpose) {
  constexpr std::uint64_t kKey = 0x299f31d0a4093822;
  RandomStream stream(kKey, 0x13198a2e, Purpose{0x03707344}, 0x85a308d3);
  for (std::uint32_t block = 0; block < 5; ++block) {
    const Counter out = r123::Philox4x32()(Counter{{block, 0x85a308d3, 0x13198a2e, 0x03707344}},
                                           Key{{0xa4093822, 0x299f31d0}});
    EXPECT_EQ(stream.next_u64(), (std::uint64_t{out[1]} << 32U) | out[0]) << "block " << block;
    EXPECT_EQ(stream.next_u64(), (std::uint64_t{out[3]} << 32U) | out[2]) << "block " << block;
  }
}

TEST(RandomStream, SameNameGivesSameDraws) {
  const RandomStream stream(kSeed, 3, Purpose::repair, 5);
  EXPECT_EQ(uniforms(stream, 100), uniforms(RandomStream(kSeed, 3, Purpose::repair, 5), 100));
}

// Streams that differ in one part of their name share no draw and are uncorrelated:
// the correlation of n independent uniform pairs has standard deviation 1/sqrt(n).
TEST(RandomStream, NeighbouringStreamsAreIndependent) {
  constexpr int kDraws = 40000;
  const std::vector<RandomStream> streams = {
      RandomStream(kSeed, 1, Purpose::failure_time, 1),
      RandomStream(kSeed + 1, 1, Purpose::failure_time, 1),
      RandomStream(kSeed + (std::uint64_t{1} << 32U), 1, Purpose::failure_time, 1),
      RandomStream(kSeed, 2, Purpose::failure_time, 1),
      RandomStream(kSeed, 1, Purpose::failure_cause, 1),
      RandomStream(kSeed, 1, Purpose::failure_time, 2),
  };
  std::vector<std::vector<double>> draws;
  std::set<double> distinct;
  for (const RandomStream& stream : streams) {
    draws.push_back(uniforms(stream, kDraws));
    distinct.insert(draws.back().begin(), draws.back().begin() + 1000);
  }
  EXPECT_EQ(distinct.size(), streams.size() * 1000);
  for (std::size_t a = 0; a < draws.size(); ++a) {
    for (std::size_t b = a + 1; b < draws.size(); ++b) {
      double covariance = 0.0;
      for (std::size_t i = 0; i < kDraws; ++i) {
        covariance += (draws[a][i] - 0.5) * (draws[b][i] - 0.5);
      }
      const double correlation = 12.0 * covariance / kDraws;
      EXPECT_LT(std::abs(correlation), 4.0 / std::sqrt(kDraws)) << "streams " << a << ", " << b;
    }
  }
}

TEST(RandomStream, UniformFillsSixtyFourBinsEvenly) {
  // Chi-square with 63 degrees of freedom: mean 63, standard deviation sqrt(126) = 11.2.
  constexpr int kBins = 64;
  constexpr int kPerBin = 4000;
  std::array<int, kBins> counts{};
  RandomStream stream(kSeed, 0, Purpose::property_test);
  double sum = 0.0;
  for (int i = 0; i < kBins * kPerBin; ++i) {
    const double u = stream.uniform01();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    ++counts[static_cast<std::size_t>(u * kBins)];
  }
  double chi_square = 0.0;
  for (const int count : counts) {
    chi_square += (count - kPerBin) * static_cast<double>(count - kPerBin) / kPerBin;
  }
  EXPECT_NEAR(chi_square, kBins - 1, 4.0 * std::sqrt(2.0 * (kBins - 1))) << "seed " << kSeed;
  constexpr double kDraws = kBins * kPerBin;
  EXPECT_NEAR(sum / kDraws, 0.5, 4.0 * std::sqrt(1.0 / 12.0 / kDraws)) << "seed " << kSeed;
}

TEST(RandomStream, OpenUniformNeverReachesZero) {
  RandomStream stream(kSeed, 1, Purpose::property_test);
  for (int i = 0; i < 100000; ++i) {
    const double u = stream.uniform01_open_zero();
    ASSERT_GT(u, 0.0);
    ASSERT_LE(u, 1.0);
  }
}

TEST(UniformInt, GivesEveryValueOfASmallRangeEquallyOften) {
  constexpr std::uint64_t kBound = 7;
  constexpr int kPerValue = 10000;
  std::array<int, kBound> counts{};
  RandomStream stream(kSeed, 2, Purpose::property_test);
  for (std::uint64_t i = 0; i < kBound * kPerValue; ++i) {
    ++counts.at(stream.uniform_int(kBound));
  }
  double chi_square = 0.0;
  for (const int count : counts) {
    chi_square += (count - kPerValue) * static_cast<double>(count - kPerValue) / kPerValue;
  }
  EXPECT_LT(chi_square, 6.0 + 4.0 * std::sqrt(12.0)) << "seed " << kSeed;
}

TEST(UniformInt, HasNoModuloBias) {
  // bound = 3 x 2^62: the plain remainder of a 64-bit draw would land below 2^62 in 1/2 of all
  // draws, because values below 2^62 are hit twice; without bias it is 1/3.
  constexpr std::uint64_t kQuarter = std::uint64_t{1} << 62U;
  constexpr int kDraws = 40000;
  RandomStream stream(kSeed, 3, Purpose::property_test);
  int below = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t draw = stream.uniform_int(3 * kQuarter);
    ASSERT_LT(draw, 3 * kQuarter);
    below += draw < kQuarter ? 1 : 0;
  }
  const double sigma = std::sqrt(1.0 / 3.0 * 2.0 / 3.0 / kDraws);
  EXPECT_NEAR(static_cast<double>(below) / kDraws, 1.0 / 3.0, 4.0 * sigma) << "seed " << kSeed;
}

TEST(UniformInt, OneValueLeavesNoChoice) {
  RandomStream stream(kSeed, 4, Purpose::property_test);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(stream.uniform_int(1), 0U);
  }
}

TEST(UniformIntDeathTest, AnEmptyRangeIsAProgrammingError) {
  RandomStream stream(kSeed, 5, Purpose::property_test);
  EXPECT_DEATH((void)stream.uniform_int(0), "uniform_int needs a bound of at least 1");
}

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

// Definition 7 by hand: of 1, 2, 4, 8 the share 0.9 lies at rank 2.7, 0.7 of the way from 4 to 8.
TEST(Quantile, IsLinearBetweenOrderStatistics) {
  constexpr std::array kValues = {1.0, 2.0, 4.0, 8.0};
  EXPECT_DOUBLE_EQ(quantile_of_sorted(kValues, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(kValues, 0.5), 3.0);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(kValues, 0.9), 6.8);
  EXPECT_DOUBLE_EQ(quantile_of_sorted(kValues, 1.0), 8.0);
}

TEST(Quantile, TakesTheNearestRankInside) {
  constexpr std::array kValues = {3.0, 5.0};
  EXPECT_DOUBLE_EQ(value_at_rank(kValues, -2.0), 3.0);
  EXPECT_DOUBLE_EQ(value_at_rank(kValues, 0.25), 3.5);
  EXPECT_DOUBLE_EQ(value_at_rank(kValues, 7.0), 5.0);
}

TEST(Quantile, MedianNeedsNoOrder) {
  EXPECT_DOUBLE_EQ(median_of({9.0}), 9.0);
  EXPECT_DOUBLE_EQ(median_of({9.0, 1.0, 4.0}), 4.0);
  EXPECT_DOUBLE_EQ(median_of({9.0, 1.0, 4.0, 2.0}), 3.0);
}

}  // namespace
}  // namespace orrery
