#include "sim/run/monte_carlo.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "sim/run/distribution.hpp"
#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run {
namespace {

using testing::fail_every;
using testing::plan_of;
using testing::saving_spec;
using testing::steps_of;

TEST(DistributionTest, QuantilesInterpolateBetweenOrderStatistics) {
  const Distribution d({40.0, 10.0, 30.0, 20.0});
  EXPECT_DOUBLE_EQ(d.quantile(0.0), 10.0);
  EXPECT_DOUBLE_EQ(d.quantile(1.0), 40.0);
  EXPECT_DOUBLE_EQ(d.quantile(0.5), 25.0);  // h = 1.5
  EXPECT_DOUBLE_EQ(d.quantile(0.9), 37.0);  // h = 2.7
  EXPECT_DOUBLE_EQ(d.mean(), 25.0);
  EXPECT_DOUBLE_EQ(d.standard_deviation(), std::sqrt(500.0 / 3.0));
  EXPECT_EQ(d.count_below(30.0), 2);
}

TEST(DistributionTest, MedianIntervalUsesTheTabulatedRanks) {
  // n = 100: P(Bin(100, 0.5) <= 39) = 0.0176, <= 40: 0.0284; so ranks 40 and 61.
  std::vector<double> values;
  for (int i = 1; i <= 100; ++i) {
    values.push_back(static_cast<double>(i));
  }
  const Interval ci = Distribution(values).ci95_of_quantile(0.5);
  EXPECT_EQ(ci, (Interval{40.0, 61.0}));
}

TEST(DistributionTest, QuantileIntervalsCoverTheTruth) {
  // Exponential samples of 50: the interval of the 0.9 quantile, ln 10, must hold in >= 95 %.
  constexpr int kRepeats = 4000;
  int covered = 0;
  for (std::uint32_t r = 0; r < kRepeats; ++r) {
    RandomStream stream(11, r, Purpose::property_test);
    std::vector<double> values;
    for (int i = 0; i < 50; ++i) {
      values.push_back(in_seconds(stream.exponential(seconds(1.0))));
    }
    const Interval ci = Distribution(std::move(values)).ci95_of_quantile(0.9);
    covered += ci.low <= std::log(10.0) && std::log(10.0) <= ci.high ? 1 : 0;
  }
  // 3 sigma of 4,000 at 0.95 is 0.010; the interval is conservative, so only the lower side counts.
  // Rank 51 of 50 is clamped to the largest value, which costs P(B = 50) = 0.5 % here.
  EXPECT_GE(covered / static_cast<double>(kRepeats), 0.95 - 0.011);
}

TEST(DistributionTest, MeanIntervalIsStudents) {
  // t(0.975, 3) = 3.182446305; s / sqrt(n) = sqrt(500/3) / 2.
  const Interval ci = Distribution({10.0, 20.0, 30.0, 40.0}).ci95_of_mean();
  EXPECT_NEAR(ci.high - 25.0, 3.182446305 * std::sqrt(500.0 / 3.0) / 2.0, 1e-8);
  EXPECT_NEAR(25.0 - ci.low, ci.high - 25.0, 1e-12);
}

TEST(DistributionTest, FractionIntervalIsClopperPearson) {
  // 0 of n: high = 1 - 0.025^(1/n); n of n: low = 0.025^(1/n).
  EXPECT_DOUBLE_EQ(ci95_of_fraction(0, 20).low, 0.0);
  EXPECT_NEAR(ci95_of_fraction(0, 20).high, 1.0 - std::pow(0.025, 1.0 / 20.0), 1e-12);
  EXPECT_NEAR(ci95_of_fraction(20, 20).low, std::pow(0.025, 1.0 / 20.0), 1e-12);
  EXPECT_DOUBLE_EQ(ci95_of_fraction(20, 20).high, 1.0);
}

TEST(DistributionTest, OfCountsIsThatOfTheValues) {
  const std::vector<double> values = {3.0, 1.0, 2.0, 3.0, 3.0, 1.0, 7.0};
  Moments moments;
  for (const double value : values) {
    moments.add(value);
  }
  const Distribution each(values);
  const Distribution counted({{7.0, 1}, {1.0, 2}, {3.0, 3}, {2.0, 1}}, moments);
  EXPECT_EQ(counted.count(), 7);
  EXPECT_DOUBLE_EQ(counted.mean(), each.mean());
  EXPECT_DOUBLE_EQ(counted.standard_deviation(), each.standard_deviation());
  for (const double q : {0.0, 0.1, 0.25, 0.5, 0.6, 0.9, 1.0}) {
    EXPECT_DOUBLE_EQ(counted.quantile(q), each.quantile(q)) << q;
    EXPECT_EQ(counted.ci95_of_quantile(q), each.ci95_of_quantile(q)) << q;
  }
  for (const double x : {0.0, 1.0, 2.5, 3.0, 8.0}) {
    EXPECT_EQ(counted.count_below(x), each.count_below(x)) << x;
  }
  const auto is_odd = [](double x) { return std::fmod(x, 2.0) == 1.0; };
  EXPECT_EQ(counted.count_if(is_odd), each.count_if(is_odd));
  const auto falls = [](double x) { return 10.0 - x; };
  EXPECT_DOUBLE_EQ(counted.mapped(falls).quantile(0.3), each.mapped(falls).quantile(0.3));
}

TEST(DistributionTest, MomentsOfTwoPartsAreThoseOfAll) {
  Moments all;
  Moments first;
  Moments second;
  for (int i = 0; i < 50; ++i) {
    const double value = 1e6 + static_cast<double>(i * i % 17);
    all.add(value);
    (i < 20 ? first : second).add(value);
  }
  first.add(second);
  EXPECT_EQ(first.count, all.count);
  EXPECT_NEAR(first.mean, all.mean, 1e-9);
  EXPECT_NEAR(first.squares, all.squares, 1e-6);
}

// More trials than are kept one by one: quantiles are off by at most 2^-15 of themselves, whole
// numbers and the moments not at all, whoever puts the chunks in and in whatever order.
TEST(TrialSpreadTest, CountsBeyondTheMostExactTrialsStayWithinTheirAccuracy) {
  constexpr std::int64_t kAll = TrialSpread::kMostExact + 1000;
  std::vector<double> wall;
  std::vector<double> failures;
  RandomStream random(5, 5, Purpose::property_test);
  for (std::int64_t i = 0; i < kAll; ++i) {
    wall.push_back(4e6 + in_seconds(random.exponential(seconds(3e5))));
    failures.push_back(static_cast<double>(300 + random.uniform_int(200)));
  }
  const auto fill = [&](TrialSpread& spread, bool backwards) {
    for (std::int64_t i = 0; i < spread.chunks(); ++i) {
      const std::int64_t chunk = backwards ? spread.chunks() - 1 - i : i;
      std::vector<double> values;
      const std::int64_t begin = chunk * spread.chunk_size();
      for (std::int64_t t = begin; t < std::min(begin + spread.chunk_size(), kAll); ++t) {
        values.push_back(wall[static_cast<std::size_t>(t)]);
        values.push_back(failures[static_cast<std::size_t>(t)]);
        values.push_back(TrialSpread::kNone);
      }
      spread.put(chunk, values);
    }
  };
  TrialSpread forwards(kAll, 3);
  TrialSpread backwards(kAll, 3);
  fill(forwards, false);
  fill(backwards, true);
  const Distribution exact(wall);
  const Distribution counted = forwards.distribution(0).value();
  EXPECT_EQ(counted, backwards.distribution(0).value());
  EXPECT_EQ(counted.count(), kAll);
  for (const double q : {0.0, 0.1, 0.5, 0.9, 0.999, 1.0}) {
    EXPECT_NEAR(counted.quantile(q), exact.quantile(q), exact.quantile(q) * std::ldexp(1.0, -15));
  }
  EXPECT_NEAR(counted.mean(), exact.mean(), 1e-9 * exact.mean());
  EXPECT_NEAR(counted.standard_deviation(), exact.standard_deviation(),
              1e-9 * exact.standard_deviation());
  const Distribution whole = forwards.distribution(1).value();
  EXPECT_EQ(whole.sorted().size(), 200U);
  EXPECT_EQ(whole.quantile(0.9), Distribution(failures).quantile(0.9));
  EXPECT_FALSE(forwards.distribution(2).has_value());
}

RunSpec stormy_spec(std::int64_t trials) {
  RunSpec spec = saving_spec(500, 5, seconds(3.0));
  fail_every(spec, seconds(700.0));
  testing::restart_after(spec, seconds(40.0));
  spec.simulation.trials = trials;
  return spec;
}

TEST(MonteCarlo, ReducesTheTrialsItWouldRunOneByOne) {
  const RunPlan plan = plan_of(stormy_spec(40), steps_of(seconds(10.0)));
  const std::optional<MonteCarloResult> all = simulate(plan);
  ASSERT_TRUE(all.has_value());
  RunSimulator simulator(plan);
  RunLedger sum;
  double wall = 0.0;
  for (std::uint32_t trial = 0; trial < 40; ++trial) {
    const RunResult one = simulator.run({.trial = trial});
    sum += one.ledger;
    wall += in_seconds(to_seconds(one.wall));
  }
  EXPECT_EQ(all->trials, 40);
  EXPECT_EQ(all->finished, 40);
  EXPECT_FALSE(all->gave_up.has_value());
  EXPECT_TRUE(all->ledger_sum == sum);
  EXPECT_DOUBLE_EQ(all->wall.mean(), wall / 40.0);
  EXPECT_DOUBLE_EQ(all->tokens.quantile(0.5), 500.0 * 1000.0);
}

TEST(MonteCarlo, ReportsProgressUpToTheLastTrial) {
  const RunPlan plan = plan_of(stormy_spec(100), steps_of(seconds(10.0)));
  std::int64_t calls = 0;
  std::int64_t last = 0;
  MonteCarloOptions options;
  options.threads = 2;
  options.progress = [&](std::int64_t done, std::int64_t all) {
    ++calls;
    EXPECT_GT(done, last);
    EXPECT_EQ(all, 100);
    last = done;
  };
  EXPECT_TRUE(simulate(plan, options).has_value());
  EXPECT_EQ(last, 100);
  EXPECT_GE(calls, 2);
}

TEST(MonteCarlo, StopRequestEndsWithoutAResult) {
  const RunPlan plan = plan_of(stormy_spec(1000), steps_of(seconds(10.0)));
  std::stop_source source;
  MonteCarloOptions options;
  options.stop = source.get_token();
  options.progress = [&](std::int64_t, std::int64_t) { source.request_stop(); };
  EXPECT_FALSE(simulate(plan, options).has_value());
}

TEST(MonteCarlo, SaysWhyTrialsGaveUp) {
  RunSpec spec = stormy_spec(10);
  spec.simulation.max_wall = seconds(1000.0);
  const RunPlan plan = plan_of(spec, steps_of(seconds(10.0)));
  const std::optional<MonteCarloResult> all = simulate(plan);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->finished, 0);
  EXPECT_EQ(all->gave_up, StopReason::horizon);
}

}  // namespace
}  // namespace orrery::run
