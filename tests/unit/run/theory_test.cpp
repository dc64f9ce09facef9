#include "sim/run/theory/theory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/oracle/run_times.hpp"

// Published figures and closed forms are rows of tests/oracle/reliability/cases.yaml.

namespace orrery::run {
namespace {

void expect_relative(double value, double expected, double tolerance) {
  EXPECT_NEAR(value, expected, tolerance * std::abs(expected));
}

TEST(Theory, YoungsHandCheckIsAThousandSeconds) {
  // sqrt(2 * 20 * 25,000) = sqrt(10^6) = 1,000.
  EXPECT_DOUBLE_EQ(in_seconds(young_interval({seconds(20.0), seconds(25000.0)})), 1000.0);
}

TEST(Theory, HigherOrderIntervalIsTheMtbfWhereSavesAreTwiceAsLong) {
  EXPECT_EQ(daly_higher_order_interval({minutes(40.0), minutes(15.0)}), minutes(15.0));
}

TEST(Theory, NoStandbyIsNeededWhereNothingFailsAndAllWhereEverythingDoes) {
  EXPECT_EQ(binomial_quantile(10, 0.0, 0.99), 0);
  EXPECT_EQ(binomial_quantile(10, 1.0, 0.01), 10);
}

TEST(Theory, ExactOptimumSolvesItsEquationForAnyRatio) {
  // u = tau / M solves -ln(1 - u) - u = C / M; for small c, u = sqrt(2c) - 2c/3 + O(c^1.5).
  for (double c = 1e-14; c < 30.0; c *= 3.0) {
    const double u = optimal_interval({seconds(c), seconds(1.0)}) / seconds(1.0);
    if (c < 1e-8) {
      expect_relative(u, std::sqrt(2.0 * c) - 2.0 * c / 3.0, 1e-8);
    } else if (c < 5.0) {
      expect_relative(-std::log1p(-u) - u, c, 1e-8);
    }
    EXPECT_GT(u, 0.0);
    EXPECT_LE(u, 1.0);
  }
  EXPECT_EQ(optimal_interval({seconds(0.0), seconds(1.0)}), seconds(0.0));
}

TEST(Theory, ExactOptimumMinimisesTheExactRunTime) {
  for (const double ratio : {0.001, 0.01, 0.1, 0.5, 1.0}) {
    const CheckpointCost cost{seconds(ratio), seconds(1.0)};
    const Seconds best = optimal_interval(cost);
    const auto run_time = [&](Seconds interval) {
      return daly_run_time({seconds(1.0), interval, cost.checkpoint, seconds(0.3), cost.mtbf});
    };
    EXPECT_LT(run_time(best), run_time(0.99 * best));
    EXPECT_LT(run_time(best), run_time(1.01 * best));
  }
}

TEST(Theory, MetasEttrStatementOn12000GpusHolds) {
  // wr-rsc-ettr: Young interval sqrt(2 w / (N r)), 5 min restart.
  struct Case {
    double rate;
    double write;
    double ettr;
  };

  for (const Case& c : {Case{1.0, 300.0, 0.898}, Case{6.5, 10.0, 0.921}, Case{6.5, 300.0, 0.740}}) {
    const PerSecond rate = per_day(c.rate / 1000.0);
    const Seconds interval = young_interval({seconds(c.write), job_mtbf(1500.0, rate)});
    EXPECT_NEAR(expected_ettr({1500.0, rate, minutes(5.0), interval, seconds(c.write)}), c.ettr,
                0.001);
  }
}

TEST(Theory, JobRateAddsToTheNodeRate) {
  EXPECT_DOUBLE_EQ(in_hours(job_mtbf(12.0, per_day(1.0), per_day(12.0))), 1.0);
}

TEST(Theory, ApertusIntervalWastesTwiceTheOptimum) {
  // wr-apertus-young: C = 5 s, M = 4 h; the run saved every 1,477 s.
  const CheckpointCost cost{seconds(5.0), hours(4.0)};
  EXPECT_NEAR(in_seconds(young_interval(cost)), 379.0, 0.5);
  EXPECT_NEAR(first_order_waste(cost, seconds(1477.0)), 0.0547, 5e-5);
  EXPECT_NEAR(first_order_waste(cost, young_interval(cost)), 0.0264, 5e-5);
}

TEST(Theory, QuantilesAreTheLeastIntegersThatReachTheProbability) {
  // Direct sums of the probability masses.
  for (const double mean : {0.1, 1.0, 7.7, 40.0}) {
    for (const double q : {0.01, 0.5, 0.9, 0.99}) {
      double mass = std::exp(-mean);
      double sum = mass;
      std::int64_t k = 0;
      while (sum < q) {
        ++k;
        mass *= mean / static_cast<double>(k);
        sum += mass;
      }
      EXPECT_EQ(poisson_quantile(mean, q), k) << "mean " << mean << " q " << q;
    }
  }
}

TEST(Theory, QuantilesOfRatesBeyondAllReasonAreFound) {
  // At a mean of 4e10 the P99 is mean + 2.3263 sqrt(mean) = 4e10 + 465,270.
  EXPECT_NEAR(static_cast<double>(poisson_quantile(4e10, 0.99)), 4e10 + 465'269.6, 2.0);
  EXPECT_EQ(poisson_quantile(1e300, 0.99), std::int64_t{1} << 62U);
}

}  // namespace
}  // namespace orrery::run
