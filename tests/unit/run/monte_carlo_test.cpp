#include "sim/run/monte_carlo.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

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
