// Random strikes: rates, ages, exposure, modulation, and which draws depend on what.

#include "sim/run/failures/failure_sources.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/run/theory/time_law.hpp"
#include "tests/unit/run/run_fixture.hpp"

namespace orrery::run {
namespace {

using testing::plan_of;
using testing::steps_of;

constexpr std::int64_t kNodes = 512;

RunSpec window_of(Seconds duration) {
  RunSpec spec;
  spec.training.duration = duration;
  return spec;
}

FailureCause living(const LifeLaw& life, FailureScope scope = FailureScope::node) {
  FailureCause cause = failure_cause("component", FailureCategory::host);
  cause.life = life;
  cause.scope = scope;
  return cause;
}

struct Struck {
  SimTime at;
  Strike strike;
};

std::vector<Struck> strikes(FailureSources& sources, std::uint32_t trial, SimTime end) {
  std::vector<Struck> all;
  sources.reset(trial);
  while (sources.next() < end) {
    const SimTime at = sources.next();
    all.push_back({at, sources.take(at)});
  }
  return all;
}

std::vector<Struck> strikes(const RunPlan& plan, std::uint32_t trial = 0) {
  FailureSources sources(plan);
  return strikes(sources, trial, plan.end);
}

// Strikes of all trials of a plan.
double count(const RunPlan& plan, int trials) {
  FailureSources sources(plan);
  std::size_t sum = 0;
  for (int trial = 0; trial < trials; ++trial) {
    sum += strikes(sources, static_cast<std::uint32_t>(trial), plan.end).size();
  }
  return static_cast<double>(sum);
}

TEST(FailureSources, NothingFailsWithoutRates) {
  EXPECT_TRUE(strikes(plan_of(window_of(days(1000.0)), steps_of(seconds(1.0)))).empty());
}

TEST(FailureSources, ExponentialCausesStrikeAtTheirRates) {
  RunSpec spec = window_of(days(54.0));
  spec.failures.node_rate = per_day(0.02);
  spec.failures.job_rate = per_day(2.0);
  spec.failures.causes = {failure_cause("GPU", FailureCategory::gpu, 3.0),
                          failure_cause("bug", FailureCategory::software, 1.0)};
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), kNodes));
  EXPECT_NEAR(in_hours(*plan.mtbf), 24.0 / 12.24, 1e-9);
  FailureSources sources(plan);
  std::vector<double> by_cause(3, 0.0);
  constexpr int kTrials = 100;
  for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
    for (const Struck& struck : strikes(sources, trial, plan.end)) {
      by_cause[static_cast<std::size_t>(struck.strike.cause)] += 1.0;
      EXPECT_EQ(struck.strike.nodes, struck.strike.cause == 0 ? 1 : 0);
    }
  }
  // Poisson: the variance is the mean. 54 d * 100 trials * (512 * 0.02 * share, or 2) a day.
  const std::vector<double> expected = {5400.0 * 7.68, 5400.0 * 2.56, 5400.0 * 2.0};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(by_cause[i], expected[i], 3.0 * std::sqrt(expected[i])) << i;
  }
}

TEST(FailureSources, ATrialIsTheSameWheneverItIsDrawn) {
  RunSpec spec = window_of(days(300.0));
  spec.failures.node_rate = per_day(0.01);
  spec.failures.causes = {failure_cause("a", FailureCategory::gpu),
                          living(weibull_of_mean(0.7, days(50.0)))};
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 64));
  FailureSources sources(plan);
  const auto first = strikes(sources, 7, plan.end);
  const auto other = strikes(sources, 8, plan.end);
  const auto again = strikes(sources, 7, plan.end);
  ASSERT_EQ(first.size(), again.size());
  ASSERT_GT(first.size(), 100U);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].at, again[i].at);
    EXPECT_EQ(first[i].strike.cause, again[i].strike.cause);
  }
  EXPECT_NE(first.front().at, other.front().at);
}

// 512 components with a mean life of 100 d fail every 281.25 min in the long run, whatever the
// shape: the counts of many windows, with the standard error of their own spread.
TEST(FailureSources, AFleetInUseFailsEveryMeanOverCount) {
  for (const double shape : {0.8, 1.5}) {
    RunSpec spec = window_of(days(300.0));
    spec.failures.causes = {living(weibull_of_mean(shape, days(100.0)))};
    const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), kNodes));
    EXPECT_NEAR(in_minutes(*plan.mtbf), 281.25, 1e-9);
    FailureSources sources(plan);
    constexpr int kTrials = 200;
    double sum = 0.0;
    double squares = 0.0;
    for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
      const auto found = static_cast<double>(strikes(sources, trial, plan.end).size());
      sum += found;
      squares += found * found;
    }
    const double mean = sum / kTrials;
    const double error = std::sqrt((squares / kTrials - mean * mean) / kTrials);
    EXPECT_NEAR(mean, 300.0 * 512.0 / 100.0, 3.0 * error) << shape;
    // All ages set back at each failure would make it mean * n^(-1/shape): 59.1 and 2250 min.
    const double wrong = in_minutes(days(100.0)) * std::pow(512.0, -1.0 / shape);
    EXPECT_GT(std::abs(std::log(in_minutes(days(300.0)) / mean / wrong)), 1.5) << shape;
  }
}

// The first failure of n new lives is a Weibull life of scale n^(-1/shape): 59.1 min at shape 0.8
// and 2250 min at 1.5. Only the first: from there on the ages differ.
TEST(FailureSources, ANewFleetFailsFirstAsTheLeastOfNewLives) {
  for (const double shape : {0.8, 1.5}) {
    RunSpec spec = window_of(days(300.0));
    spec.failures.causes = {living(weibull_of_mean(shape, days(100.0)))};
    spec.failures.causes.front().age = {AgeKind::fresh, Seconds{}};
    const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), kNodes));
    FailureSources sources(plan);
    constexpr int kTrials = 4000;
    double sum = 0.0;
    double squares = 0.0;
    for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
      sources.reset(trial);
      const double first = in_minutes(to_seconds(sources.next()));
      sum += first;
      squares += first * first;
    }
    const double mean = sum / kTrials;
    const double error = std::sqrt((squares / kTrials - mean * mean) / kTrials);
    const double expected = in_minutes(days(100.0)) * std::pow(512.0, -1.0 / shape);
    EXPECT_NEAR(mean, expected, 3.0 * error) << shape;
  }
}

// Of n components of age a, all outlive x with probability (S(a + x) / S(a))^n, so that of the
// first failure is uniform: its mean is 1/2 and its variance 1/12.
TEST(FailureSources, AnAgedFleetFailsFirstByTheConditionalLaw) {
  const WeibullLaw law{2.64, days(400.0)};
  RunSpec spec = window_of(days(3000.0));
  spec.failures.causes = {living(law)};
  spec.failures.causes.front().age = {AgeKind::given, days(300.0)};
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 32));
  FailureSources sources(plan);
  constexpr int kTrials = 2000;
  double sum = 0.0;
  const auto hazard = [&](double age) { return std::pow(age / 400.0, law.shape); };
  for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
    sources.reset(trial);
    const double x = in_days(to_seconds(sources.next()));
    sum += std::exp(32.0 * (hazard(300.0) - hazard(300.0 + x)));
  }
  EXPECT_NEAR(sum / kTrials, 0.5, 3.0 / std::sqrt(12.0 * kTrials));
}

TEST(FailureSources, ExposureScalesTheHazardThatIsLeft) {
  RunSpec spec = window_of(days(1000.0));
  spec.failures.node_rate = per_day(0.001);
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 100));
  FailureSources sources(plan);
  sources.reset(3);
  const std::int64_t strike = sources.next().ns;
  const SimTime half{strike / 2};
  // Half of the nodes: the second half of the wait takes twice as long.
  sources.set_exposure(half, {50, 0}, true);
  EXPECT_NEAR(static_cast<double>(sources.next().ns), 1.5 * static_cast<double>(strike), 2.0);
  // None: never; what is left waits.
  sources.set_exposure(half + half, {0, 0}, true);
  EXPECT_EQ(sources.next(), kForever);
  const SimTime later{3 * strike};
  sources.set_exposure(later, {100, 0}, true);
  EXPECT_NEAR(static_cast<double>(sources.next().ns - later.ns), 0.25 * static_cast<double>(strike),
              2.0);
  // The same exposure again changes nothing.
  const SimTime before = sources.next();
  sources.set_exposure(later, {100, 0}, true);
  EXPECT_EQ(sources.next(), before);
}

TEST(FailureSources, MissingNodesSlowTheClocksOfComponents) {
  RunSpec spec = window_of(days(3000.0));
  spec.failures.causes = {living(WeibullLaw{2.0, days(300.0)})};
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 100));
  FailureSources sources(plan);
  sources.reset(3);
  const std::int64_t strike = sources.next().ns;
  sources.set_exposure(SimTime{strike / 2}, {25, 0}, true);
  EXPECT_NEAR(static_cast<double>(sources.next().ns), 2.5 * static_cast<double>(strike), 3.0);
}

TEST(FailureSources, SoftwareFailsOnlyWhileTheJobRuns) {
  RunSpec spec = window_of(days(100.0));
  spec.failures.job_rate = per_day(1.0);
  spec.failures.causes = {living(WeibullLaw{1.5, days(3.0)}, FailureScope::storage)};
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 8));
  FailureSources sources(plan);
  sources.reset(0);
  EXPECT_LT(sources.next(), kForever);
  sources.set_exposure(SimTime{}, {8, 0}, false);
  EXPECT_EQ(sources.next(), kForever);
}

// A life x under the multiplier ends when operational time has advanced by x: the same draws give
// the same operational times.
TEST(FailureSources, ModulationMapsEveryLawThroughOperationalTime) {
  RunSpec spec = window_of(days(200.0));
  spec.failures.causes = {living(weibull_of_mean(0.8, days(90.0))),
                          living(lognormal_of_mean(days(70.0), 1.1))};
  const RunPlan plain = plan_of(spec, steps_of(seconds(1.0), 40));
  spec.failures.burn_in = BurnInSpec{4.0, days(12.0), Seconds{}};
  spec.failures.episodes = {{days(20.0), days(30.0), 3.0}};
  spec.failures.by_hour.assign(kHoursPerDay, 0.8);
  spec.failures.by_hour[14] = 2.4;
  const RunPlan modulated = plan_of(spec, steps_of(seconds(1.0), 40));
  const TimeWarp warp(modulated.failures.modulation);
  FailureSources first(plain);
  FailureSources second(modulated);
  first.reset(5);
  second.reset(5);
  int compared = 0;
  while (first.next() < plain.end && second.next() < modulated.end) {
    const SimTime expected = first.next();
    const SimTime found = second.next();
    EXPECT_NEAR(warp.operational(found), static_cast<double>(expected.ns), 20.0);
    EXPECT_EQ(first.take(expected).cause, second.take(found).cause);
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

TEST(FailureSources, HeatStrikesHardwareAndLeavesSoftwareAlone) {
  RunSpec spec = window_of(days(100.0));
  spec.failures.node_rate = per_day(0.1);
  spec.failures.job_rate = per_day(5.0);
  spec.failures.by_hour.assign(kHoursPerDay, 3.0);
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 50));
  EXPECT_NEAR(in_hours(*plan.mtbf), 24.0 / 20.0, 1e-9);
  FailureSources sources(plan);
  double hardware = 0.0;
  double software = 0.0;
  for (std::uint32_t trial = 0; trial < 20; ++trial) {
    for (const Struck& struck : strikes(sources, trial, plan.end)) {
      (struck.strike.cause == 0 ? hardware : software) += 1.0;
    }
  }
  EXPECT_NEAR(hardware, 30'000.0, 3.0 * std::sqrt(30'000.0));
  EXPECT_NEAR(software, 10'000.0, 3.0 * std::sqrt(10'000.0));
}

TEST(FailureSources, LemonsAreHitInProportionToTheirHazard) {
  RunSpec spec = window_of(days(400.0));
  spec.failures.node_rate = per_day(0.1);
  spec.failures.lemons = LemonSpec{0.1, 6.0, std::nullopt};
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 100));
  // 90 good and 10 bad: 90 + 60 instead of 100.
  EXPECT_NEAR(in_hours(*plan.mtbf), 24.0 / 15.0, 1e-9);
  FailureSources sources(plan);
  double all = 0.0;
  double bad = 0.0;
  for (std::uint32_t trial = 0; trial < 10; ++trial) {
    sources.reset(trial);
    sources.set_exposure(SimTime{}, {90, 10}, true);
    while (sources.next() < plan.end) {
      const Strike strike = sources.take(sources.next());
      all += 1.0;
      bad += static_cast<double>(strike.bad);
    }
  }
  EXPECT_NEAR(all, 60'000.0, 3.0 * std::sqrt(60'000.0));
  EXPECT_NEAR(bad / all, 0.4, 3.0 * std::sqrt(0.24 / all));
}

TEST(FailureSources, ARackTakesItsNodes) {
  RunSpec spec = window_of(days(2000.0));
  FailureCause rack = living(ExponentialLaw{days(100.0)}, FailureScope::rack);
  FailureCause flap = living(ExponentialLaw{days(50.0)}, FailureScope::network_switch);
  flap.takes_nodes = 0;
  spec.failures.correlated = {rack, flap};
  spec.failures.domains.rack = 4;
  spec.failures.domains.network_switch = 16;
  const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 32));
  EXPECT_EQ(plan.causes[1].hit_nodes, 4);
  EXPECT_EQ(plan.causes[2].hit_nodes, 16);
  double racks = 0.0;
  double flaps = 0.0;
  for (const Struck& struck : strikes(plan)) {
    const bool is_rack = struck.strike.cause == 1;
    EXPECT_EQ(struck.strike.nodes, is_rack ? 4 : 0);
    (is_rack ? racks : flaps) += 1.0;
  }
  EXPECT_NEAR(racks, 160.0, 3.0 * std::sqrt(160.0));  // 8 racks, 2000 / 100 each
  EXPECT_NEAR(flaps, 80.0, 3.0 * std::sqrt(80.0));    // 2 switches, 2000 / 50 each
}

TEST(FailureSources, TheLongRunRateOfAnyScopeIsThatOfItsUnits) {
  // 4 GPUs per node, 6 nodes, racks of 4 nodes: 24 GPUs, 1.5 racks.
  for (const auto& [scope, units] :
       {std::pair{FailureScope::gpu, 24.0}, std::pair{FailureScope::node, 6.0},
        std::pair{FailureScope::rack, 1.5}, std::pair{FailureScope::storage, 1.0}}) {
    RunSpec spec = window_of(days(1000.0));
    spec.failures.domains.rack = 4;
    spec.failures.causes = {living(weibull_of_mean(2.0, days(2.0)), scope)};
    const RunPlan plan = plan_of(spec, steps_of(seconds(1.0), 6, 4));
    EXPECT_NEAR(in_days(*plan.mtbf), 2.0 / units, 1e-9);
    // A renewal process of shape 2 varies less than Poisson.
    const double expected = 20.0 * 500.0 * units;
    EXPECT_NEAR(count(plan, 20), expected, 3.0 * std::sqrt(expected)) << units;
  }
}

// Laws of lives: probabilities and quantiles undo one another, whatever the age, and agree with
// closed forms.

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
