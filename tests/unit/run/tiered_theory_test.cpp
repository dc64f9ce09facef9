
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sim/base/random.hpp"
#include "sim/run/theory/theory.hpp"
#include "tests/oracle/run_times.hpp"

namespace orrery::run {
namespace {

// The least value of `f` between two positive bounds, by golden section.
template <typename F>
double golden_section(double low, double high, const F& f) {
  const double ratio = 0.5 * (std::sqrt(5.0) - 1.0);
  while (high - low > 1e-10 * high) {
    const double a = high - ratio * (high - low);
    const double b = low + ratio * (high - low);
    if (f(a) < f(b)) {
      high = b;
    } else {
      low = a;
    }
  }
  return 0.5 * (low + high);
}

TieredRun one_tier(Seconds interval, Seconds stall, Seconds restart, Seconds mtbf) {
  return {seconds(1.0), interval, {{1, stall, 1.0, restart}}, mtbf};
}

TEST(TieredTheory, OneTierIsDalysRunTime) {
  for (const double mtbf : {900.0, 11135.0, 86400.0}) {
    for (const double interval : {100.0, 600.0, 3600.0}) {
      const TieredRun run =
          one_tier(seconds(interval), seconds(60.0), seconds(480.0), seconds(mtbf));
      const Seconds daly = daly_run_time(
          {seconds(1.0), seconds(interval), seconds(60.0), seconds(480.0), seconds(mtbf)});
      EXPECT_NEAR(tiered_run_time(run) / daly, 1.0, 1e-12);
    }
  }
}

// The durable time moves the waste, not the interval at which it is least.
TEST(TieredTheory, AsynchronousOptimumFollowsTheStall) {
  const Seconds mtbf = hours(3.0);
  const Seconds stall = seconds(20.0);
  const double exact = in_seconds(optimal_interval({stall, mtbf}));
  for (const double durable : {20.0, 120.0, 500.0}) {
    const double found = golden_section(durable, 20'000.0, [&](double interval) {
      return in_seconds(async_run_time(
          {seconds(1.0), seconds(interval), stall, seconds(durable), minutes(8.0), mtbf}));
    });
    EXPECT_NEAR(found / exact, 1.0, 1e-6) << durable;
  }
}

// C1 = 2 s, C2 = 60 s, p = 0.9, M = 11,135 s, at rarer failures: a slow save replaces the fast one,
// so the pattern costs C2 + (K - 1) C1 per K segments.
TEST(TieredTheory, ExactWasteOfTwoTiersApproachesTheFirstOrderForRareFailures) {
  const double slow = 1e4;  // times rarer than in the case above
  const Seconds mtbf = seconds(11135.0 * slow);
  TieredRun run{seconds(1.0),
                seconds(222.46 * std::sqrt(slow)),
                {{1, seconds(2.0), 0.9, {}}, {16, seconds(60.0), 0.1, {}}},
                mtbf};
  const Seconds far = 16.0 * run.interval;
  const double first =
      first_order_tiered_waste(run.tiers, std::vector<Seconds>{run.interval, far}, mtbf);
  const double replaced = seconds(2.0) / far;
  EXPECT_NEAR(tiered_waste(run) / (first - replaced), 1.0, 0.005);
}

TEST(TieredTheory, TwoTiersOfTheSameKindAreOne) {
  // Whichever tier a failure needs, it was just saved: every segment saves both.
  const TieredRun one = one_tier(seconds(600.0), seconds(20.0), seconds(100.0), hours(2.0));
  TieredRun two = one;
  two.tiers = {{1, seconds(20.0), 0.7, seconds(100.0)}, {1, seconds(20.0), 0.3, seconds(100.0)}};
  EXPECT_NEAR(tiered_run_time(two) / tiered_run_time(one), 1.0, 1e-12);
}

// An independent walk through the process: draws failures and classes, keeps the progress of every
// tier, and averages over many periods.
double simulated_waste(const TieredRun& run, std::int64_t periods) {
  RandomStream stream(11, 0, Purpose::property_test);
  const double mtbf = in_seconds(run.mtbf);
  double left = in_seconds(stream.exponential(run.mtbf));  // until the next failure
  double wall = 0.0;
  const auto draw_class = [&] {
    double u = stream.uniform01();
    std::size_t k = 0;
    while (k + 1 < run.tiers.size() && u >= run.tiers[k].share) {
      u -= run.tiers[k++].share;
    }
    return k;
  };
  const auto passes = [&](double length) {
    const bool fine = left > length;
    wall += fine ? length : left;
    left = fine ? left - length : mtbf * -std::log(stream.uniform01_open_zero());
    return fine;
  };
  const std::int64_t segments = run.tiers.back().every;
  for (std::int64_t period = 0; period < periods; ++period) {
    std::int64_t at = 0;
    while (at < segments) {
      std::size_t kind = 0;
      while (kind + 1 < run.tiers.size() && (at + 1) % run.tiers[kind + 1].every == 0) {
        ++kind;
      }
      if (passes(in_seconds(run.interval + run.tiers[kind].stall))) {
        ++at;
        continue;
      }
      std::size_t needed = draw_class();
      while (!passes(in_seconds(run.tiers[needed].restart))) {
        needed = std::max(needed, draw_class());
      }
      at = at / run.tiers[needed].every * run.tiers[needed].every;
    }
  }
  return wall / (static_cast<double>(periods * segments) * in_seconds(run.interval)) - 1.0;
}

TEST(TieredTheory, ThreeTiersAgreeWithAWalkThroughTheProcess) {
  const TieredRun run{seconds(1.0),
                      seconds(60.0),
                      {{1, seconds(1.0), 0.7, seconds(30.0)},
                       {4, seconds(8.0), 0.2, seconds(90.0)},
                       {24, seconds(40.0), 0.1, seconds(600.0)}},
                      seconds(2000.0)};
  const double exact = tiered_waste(run);
  const double walked = simulated_waste(run, 40'000);
  EXPECT_NEAR(walked / exact, 1.0, 0.01) << exact;
}

TEST(TieredTheory, ChosenStepsAreNotWorseThanAnyOtherPattern) {
  const Seconds step = seconds(6.2);
  const TieredRun run{
      seconds(1.0),
      step,
      {{1, seconds(2.0), 0.9, seconds(60.0)}, {1, seconds(60.0), 0.1, minutes(8.0)}},
      seconds(11135.0)};
  const std::vector<TierChoice> free(2);
  const std::vector<std::int64_t> best = best_tier_steps(run, free, step, 10'000);
  const auto waste = [&](std::int64_t near, std::int64_t times) {
    TieredRun trial = run;
    trial.interval = static_cast<double>(near) * step;
    trial.tiers[1].every = times;
    return tiered_waste(trial);
  };
  ASSERT_EQ(best[1] % best[0], 0);
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t near = 5; near <= 120; ++near) {
    for (std::int64_t times = 1; times <= 60; ++times) {
      least = std::min(least, waste(near, times));
    }
  }
  EXPECT_NEAR(waste(best[0], best[1] / best[0]) / least, 1.0, 1e-4);
  // Near the first order: 222 s and 3,655 s.
  EXPECT_NEAR(static_cast<double>(best[0]) * 6.2, 222.0, 40.0);
  EXPECT_NEAR(static_cast<double>(best[1]) * 6.2, 3655.0, 500.0);
}

TEST(TieredTheory, FixedTiersKeepTheirStepsAndFreeOnesTheirBounds) {
  const TieredRun run{seconds(1.0),
                      seconds(10.0),
                      {{1, seconds(1.0), 0.5, {}}, {1, seconds(30.0), 0.5, {}}},
                      hours(3.0)};
  std::vector<TierChoice> choices(2);
  choices[0].steps = 7;
  choices[1].steps = 40;
  // 40 / 7 = 5.7: six times 7.
  EXPECT_EQ(best_tier_steps(run, choices, seconds(10.0), 1000), (std::vector<std::int64_t>{7, 42}));
  choices[1].steps = 0;
  choices[1].least = 500;
  EXPECT_EQ(best_tier_steps(run, choices, seconds(10.0), 1000)[1], 504);
}

TEST(TieredTheory, ATierThatNoFailureNeedsIsSavedAsSeldomAsAllowed) {
  const TieredRun run{seconds(1.0),
                      seconds(10.0),
                      {{1, seconds(1.0), 1.0, {}}, {1, seconds(30.0), 0.0, {}}},
                      hours(3.0)};
  const std::vector<TierChoice> free(2);
  const auto steps = best_tier_steps(run, free, seconds(10.0), 2000);
  EXPECT_GT(steps[1], 1900);
  EXPECT_LE(steps[1], 2000 + steps[0]);
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

TEST(TieredTheory, ReplicaSurvivalsAreTheEnumeration) {
  // GEMINI, SOSP 2023: 0.9333 for two lost machines of 16 in pairs, 0.8 for three.
  const std::vector<double> pairs = replica_survivals(16, 2, 16);
  EXPECT_NEAR(pairs[2], 14.0 / 15.0, 1e-12);
  EXPECT_NEAR(pairs[3], 0.8, 1e-12);
  for (const unsigned group : {1U, 2U, 3U, 4U}) {
    const std::vector<double> table = replica_survivals(12, group, 12);
    for (std::size_t k = 0; k < table.size(); ++k) {
      EXPECT_NEAR(table[k], enumerate_survival(12, group, static_cast<int>(k)), 1e-10)
          << group << ' ' << k;
    }
  }
}

TEST(TieredTheory, ReplicaSurvivalsOfManyMachinesStayProbabilities) {
  const std::vector<double> table = replica_survivals(12'288, 2, 512);
  ASSERT_GT(table.size(), 3U);
  EXPECT_EQ(table[0], 1.0);
  EXPECT_NEAR(table[1], 1.0, 1e-12);
  EXPECT_NEAR(table[2], 1.0 - 1.0 / 12'287.0, 1e-12);  // the second must not be the partner
  for (std::size_t k = 1; k < table.size(); ++k) {
    EXPECT_LE(table[k], table[k - 1] * (1.0 + 1e-12));
  }
  EXPECT_EQ(replica_survivals(5, 1, 5), (std::vector<double>{1.0, 0.0}));
  // Three machines in pairs: the third is kept by another group.
  EXPECT_NEAR(replica_survivals(3, 2, 3)[2], 2.0 / 3.0, 1e-12);
}

}  // namespace
}  // namespace orrery::run
