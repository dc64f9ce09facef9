#include "sim/run/theory/theory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/oracle/run_times.hpp"

// Names in comments are those of the reliability cases of tests/oracle.

namespace orrery::run {
namespace {

constexpr double kTight = 1e-9;  // relative

CheckpointCost cost_of(double checkpoint_minutes, double mtbf_minutes) {
  return {minutes(checkpoint_minutes), minutes(mtbf_minutes)};
}

void expect_relative(double value, double expected, double tolerance = kTight) {
  EXPECT_NEAR(value, expected, tolerance * std::abs(expected));
}

TEST(Theory, YoungsHandCheckIsAThousandSeconds) {
  // sqrt(2 * 20 * 25,000) = sqrt(10^6) = 1,000.
  EXPECT_DOUBLE_EQ(in_seconds(young_interval({seconds(20.0), seconds(25000.0)})), 1000.0);
}

TEST(Theory, ExactRunTimeStandsBesideYoung) {
  // C = 20 s, M = 25,000 s, R = 0: e^(1020/25000) - 1 = 0.041643776; times 25 gives 1.041094.
  const DalyRun run{hours(1.0), seconds(1000.0), seconds(20.0), {}, seconds(25000.0)};
  expect_relative(daly_run_time(run) / hours(1.0), 25.0 * std::expm1(0.0408), 1e-12);
  const DalyRun best{hours(1.0),
                     optimal_interval({seconds(20.0), seconds(25000.0)}),
                     seconds(20.0),
                     {},
                     seconds(25000.0)};
  EXPECT_LT(daly_run_time(best), daly_run_time(run));
}

TEST(Theory, HigherOrderIntervalsMatchDalysFigures) {
  expect_relative(in_minutes(daly_higher_order_interval(cost_of(5, 1440))), 116.689814815);
  expect_relative(in_minutes(daly_higher_order_interval(cost_of(5, 360))), 56.712962963);
  expect_relative(in_minutes(daly_higher_order_interval(cost_of(5, 15))), 9.1409199864);
  // daly_opt_published_6h: the caption of Fig. 4 prints 57 min.
  EXPECT_NEAR(in_minutes(daly_higher_order_interval(cost_of(5, 360))), 57.0, 0.5);
  EXPECT_EQ(daly_higher_order_interval(cost_of(40, 15)), minutes(15.0));  // C >= 2 M
}

TEST(Theory, ExactOptimumMatchesLambertW) {
  expect_relative(in_minutes(optimal_interval(cost_of(5, 360))), 56.7140019988);
  expect_relative(in_minutes(optimal_interval(cost_of(5, 15))), 9.16650282094);
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

TEST(Theory, ApproximationsErrAsTabulated) {
  // opt_formula_error_CM_*: (tau - exact) / exact of Young, Daly first and higher order.
  struct Case {
    double ratio;
    double young;
    double first;
    double higher;
  };

  for (const Case& c : {Case{0.001, 0.0150751161592, -0.00762265346083, -3.37192149202e-07},
                        Case{0.1, 0.167101356751, -0.0938704402819, -0.000395944844638},
                        Case{0.5, 0.432068873582, -0.283965563209, -0.00550772667889}}) {
    const CheckpointCost cost{seconds(c.ratio), seconds(1.0)};
    const Seconds exact = optimal_interval(cost);
    EXPECT_NEAR(young_interval(cost) / exact - 1.0, c.young, 1e-6);
    EXPECT_NEAR(daly_first_order_interval(cost) / exact - 1.0, c.first, 1e-6);
    EXPECT_NEAR(daly_higher_order_interval(cost) / exact - 1.0, c.higher, 1e-6);
  }
}

TEST(Theory, RunTimesMatchDaly) {
  const auto run_hours = [](double mtbf, double interval) {
    return in_hours(daly_run_time(
        {minutes(30000.0), minutes(interval), minutes(5.0), minutes(10.0), minutes(mtbf)}));
  };
  expect_relative(run_hours(1440, 116.689815), 547.881782457);
  expect_relative(run_hours(15, 9.14092), 2504.16511805);
  // daly_runtime_mc_statistical: one segment of 60 min at M = 360 min.
  expect_relative(in_minutes(daly_run_time(
                      {minutes(60.0), minutes(60.0), minutes(5.0), minutes(10.0), minutes(360.0)})),
                  73.2443273674);
}

TEST(Theory, MetasEttrFormulaGivesThePublishedFigures) {
  const auto ettr = [](double nodes, double per_day_rate, double u0, double dt, double w) {
    return expected_ettr({nodes, per_day(per_day_rate), minutes(u0), minutes(dt), minutes(w)});
  };
  EXPECT_NEAR(ettr(2000, 0.0065, 5, 5, 0), 0.93, 0.005);          // ettr_rsc1_16k_5min
  expect_relative(ettr(2000, 0.0065, 5, 60, 0), 0.684027777778);  // ettr_rsc1_16k_60min
  expect_relative(ettr(12500, 0.00234, 2, 2, 0), 0.9390625);      // ettr_rsc2_100k_2min
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

TEST(Theory, ProjectedMttfsMatchMeta) {
  const auto mttf_hours = [](double gpus) {
    return in_hours(job_mtbf(gpus / 8.0, per_day(0.0065)));
  };
  EXPECT_NEAR(mttf_hours(16384), 1.8, 0.05);     // mttf_rsc1_16384
  EXPECT_NEAR(mttf_hours(131072), 0.23, 0.006);  // mttf_rsc1_131072
}

TEST(Theory, JobRateAddsToTheNodeRate) {
  EXPECT_DOUBLE_EQ(in_hours(job_mtbf(12.0, per_day(1.0), per_day(12.0))), 1.0);
}

TEST(Theory, TwoLevelOptimumMatches) {
  const TwoLevelOptimum best =
      two_level_optimum({seconds(2.0), seconds(60.0), seconds(11135.0), 0.9});
  expect_relative(in_seconds(best.near_interval), 222.460982846);
  expect_relative(in_seconds(best.far_interval), 3655.40695409);
  expect_relative(best.waste, 0.0508087633561);
  const CheckpointCost single{seconds(60.0), seconds(11135.0)};
  EXPECT_NEAR(first_order_waste(single, young_interval(single)), 0.103812, 1e-6);
}

TEST(Theory, ApertusIntervalWastesTwiceTheOptimum) {
  // wr-apertus-young: C = 5 s, M = 4 h; the run saved every 1,477 s.
  const CheckpointCost cost{seconds(5.0), hours(4.0)};
  EXPECT_NEAR(in_seconds(young_interval(cost)), 379.0, 0.5);
  EXPECT_NEAR(first_order_waste(cost, seconds(1477.0)), 0.0547, 5e-5);
  EXPECT_NEAR(first_order_waste(cost, young_interval(cost)), 0.0264, 5e-5);
}

TEST(Theory, StandbyPoolsMatch) {
  EXPECT_EQ(binomial_quantile(1024, 0.001, 0.99), 4);              // byterobust_p99_pool
  EXPECT_EQ(binomial_quantile(2048, 0.00378870081019, 0.99), 15);  // p99_pool_llama_rate_1day
  EXPECT_EQ(binomial_quantile(10, 0.0, 0.99), 0);
  EXPECT_EQ(binomial_quantile(10, 1.0, 0.01), 10);
}

TEST(Theory, NodesInRepairArePoisson) {
  const RepairLoad load = nodes_in_repair(per_day(7.75925925926), days(2.0));
  expect_relative(load.mean, 15.5185185185);
  EXPECT_EQ(load.p99, 25);  // nodes_in_repair_mginf
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

// Survivors by enumeration of all ways to lose machines.
double enumerate_survival(unsigned machines, unsigned group, int lost) {
  double survived = 0.0;
  double all = 0.0;
  for (unsigned set = 0; set < (1U << machines); ++set) {
    if (__builtin_popcount(set) != lost) {
      continue;
    }
    all += 1.0;
    bool alive = true;
    for (unsigned first = 0; first < machines; first += group) {
      const unsigned whole = ((1U << group) - 1U) << first;
      alive = alive && (set & whole) != whole;
    }
    survived += alive ? 1.0 : 0.0;
  }
  return survived / all;
}

TEST(Theory, QuantilesOfRatesBeyondAllReasonAreFound) {
  // At a mean of 4e10 the P99 is mean + 2.3263 sqrt(mean) = 4e10 + 465,270.
  EXPECT_NEAR(static_cast<double>(poisson_quantile(4e10, 0.99)), 4e10 + 465'269.6, 2.0);
  EXPECT_EQ(poisson_quantile(1e300, 0.99), std::int64_t{1} << 62U);
}

TEST(Theory, ReplicaGroupsSurviveAsOftenAsEnumerationSays) {
  EXPECT_NEAR(replica_survival(16, 2, 2), 14.0 / 15.0, 1e-12);  // gemini_placement_k2
  EXPECT_NEAR(replica_survival(16, 2, 3), 0.8, 1e-12);          // gemini_placement_k3
  for (const unsigned group : {2U, 3U, 4U}) {
    for (int lost = 0; lost <= 12; ++lost) {
      EXPECT_NEAR(replica_survival(12, group, lost), enumerate_survival(12, group, lost), 1e-12);
    }
  }
}

}  // namespace
}  // namespace orrery::run
