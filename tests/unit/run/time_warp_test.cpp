// Operational time: the integral of the multiplier, and its inverse.

#include "sim/run/failures/time_warp.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "sim/base/random.hpp"
#include "sim/run/trial/disturbances.hpp"

namespace orrery::run {
namespace {

constexpr std::uint64_t kWarpSeed = 20261122;

SimTime at(Seconds time) { return to_sim_time(time); }

// The multiplier as the header defines it, straight from the parameters.
double multiplier(const HazardModulation& m, SimTime t) {
  double result = 1.0;
  if (!m.by_hour.empty()) {
    const double hours = in_hours(to_seconds(t + m.day_offset));
    result = m.by_hour[static_cast<std::size_t>(std::fmod(hours, 24.0))];
  }
  if (m.burn_in != 1.0) {
    const double decays = to_seconds(t + m.burn_in_age) / to_seconds(m.burn_in_decay);
    result *= 1.0 + (m.burn_in - 1.0) * std::exp(-decays);
  }
  for (const HazardEpisode& episode : m.episodes) {
    if (t >= episode.begin && t < episode.end) {
      result *= episode.multiplier;
    }
  }
  return result;
}

HazardModulation random_modulation(RandomStream& stream) {
  HazardModulation m;
  if (stream.uniform01() < 0.8) {
    for (std::size_t i = 0; i < kHoursPerDay; ++i) {
      m.by_hour.push_back(stream.uniform01() < 0.1 ? 0.0 : 3.0 * stream.uniform01());
    }
    m.by_hour[5] = 1.0;
    m.day_offset = at(hours(24.0 * stream.uniform01()));
  }
  if (stream.uniform01() < 0.8) {
    m.burn_in = 0.2 + 6.0 * stream.uniform01();
    m.burn_in_decay = at(hours(2.0 + 300.0 * stream.uniform01()));
    m.burn_in_age = at(hours(100.0 * stream.uniform01()));
  }
  SimTime begin;
  while (stream.uniform01() < 0.6) {
    begin += at(hours(1.0 + 60.0 * stream.uniform01()));
    const SimTime end = begin + at(hours(1.0 + 60.0 * stream.uniform01()));
    m.episodes.push_back({begin, end, stream.uniform01() < 0.2 ? 0.0 : 4.0 * stream.uniform01()});
    begin = end;
  }
  return m;
}

TEST(TimeWarp, WithoutModulationTimeIsTime) {
  const TimeWarp warp{HazardModulation{}};
  EXPECT_TRUE(warp.is_constant());
  EXPECT_EQ(warp.operational(at(days(3.0))), static_cast<double>(at(days(3.0)).ns));
  EXPECT_EQ(warp.time_of(1234.0), SimTime{1234});
}

TEST(TimeWarp, IsTheIntegralOfTheMultiplier) {
  RandomStream stream(kWarpSeed, 0, Purpose::property_test);
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE("seed " + std::to_string(kWarpSeed) + ", case " + std::to_string(i));
    const HazardModulation m = random_modulation(stream);
    const TimeWarp warp(m);
    // Midpoints of minutes; the hours and episodes begin within one, so an error of some minutes.
    const SimTime minute = at(minutes(1.0));
    SimTime now;
    double sum = 0.0;
    for (int k = 0; k < 10 * 24 * 60; ++k) {
      sum += multiplier(m, now + SimTime{minute.ns / 2}) * static_cast<double>(minute.ns);
      now += minute;
    }
    EXPECT_NEAR(warp.operational(now) / static_cast<double>(now.ns),
                sum / static_cast<double>(now.ns), 2e-3);
  }
}

TEST(TimeWarp, TheInverseFindsTheTimeBack) {
  RandomStream stream(kWarpSeed, 1, Purpose::property_test);
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE("seed " + std::to_string(kWarpSeed) + ", case " + std::to_string(i));
    const HazardModulation m = random_modulation(stream);
    const TimeWarp warp(m);
    for (int k = 0; k < 20; ++k) {
      const SimTime time = at(days(400.0 * stream.uniform01()));
      const double amount = warp.operational(time);
      const SimTime found = warp.time_of(amount);
      // Where nothing ages, any time of that stretch is an inverse.
      EXPECT_NEAR(warp.operational(found), amount, 1e-14 * amount + 100.0);
      if (multiplier(m, time) > 0.05) {
        EXPECT_NEAR(static_cast<double>(found.ns - time.ns), 0.0, 2000.0);
      }
    }
  }
}

TEST(TimeWarp, BurnInHasItsClosedForm) {
  // integral of 1 + 4 exp(-t / 10 d) over 30 d: 30 + 40 (1 - exp(-3)) days.
  HazardModulation m;
  m.burn_in = 5.0;
  m.burn_in_decay = at(days(10.0));
  const double expected = 30.0 + 40.0 * (1.0 - std::exp(-3.0));
  const double ns = in_seconds(days(expected)) / kNano;
  EXPECT_NEAR(TimeWarp(m).operational(at(days(30.0))) / ns, 1.0, 1e-13);
  // A fleet of 30 days has exp(-3) of the excess left.
  m.burn_in_age = at(days(30.0));
  const double later = 30.0 + 40.0 * std::exp(-3.0) * (1.0 - std::exp(-3.0));
  EXPECT_NEAR(TimeWarp(m).operational(at(days(30.0))) / (in_seconds(days(later)) / kNano), 1.0,
              1e-13);
}

TEST(TimeWarp, HotHoursFollowTheHourOfTheStart) {
  // Three times the hazard from noon to midnight: a day holds 12 + 36 hours.
  HazardModulation m;
  m.by_hour.assign(kHoursPerDay, 1.0);
  std::fill(m.by_hour.begin() + 12, m.by_hour.end(), 3.0);
  const double hour = in_seconds(hours(1.0)) / kNano;
  EXPECT_NEAR(TimeWarp(m).operational(at(hours(13.0))), 15.0 * hour, 1.0);
  EXPECT_NEAR(TimeWarp(m).operational(at(days(100.0))), 4800.0 * hour, 100.0);
  EXPECT_EQ(m.long_run_mean(), 2.0);
  m.day_offset = at(hours(20.0));
  EXPECT_NEAR(TimeWarp(m).operational(at(hours(6.0))), (12.0 + 2.0) * hour, 1.0);
  EXPECT_EQ(TimeWarp(m).time_of(14.0 * hour), at(hours(6.0)));
}

TEST(TimeWarp, WhereNothingAgesEverNothingIsReached) {
  HazardModulation m;
  m.by_hour.assign(kHoursPerDay, 0.0);
  EXPECT_EQ(TimeWarp(m).time_of(1.0), kForever);
}

// The worst of the slowdowns in progress against a list of all.

TEST(ActiveSlowdowns, OfNoneTheFactorIsOne) {
  ActiveSlowdowns active;
  EXPECT_EQ(active.worst(), 1.0);
  const std::uint32_t faster = active.begin(0.5, 3);
  EXPECT_EQ(active.worst(), 1.0);
  EXPECT_EQ(active.end(faster), 3);
  EXPECT_EQ(active.worst(), 1.0);
}

TEST(ActiveSlowdowns, AgreeWithAListOnRandomBeginsAndEnds) {
  constexpr std::uint64_t kSeed = 20261121;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomStream draw(kSeed, 0, Purpose::property_test);
  ActiveSlowdowns active;
  std::map<std::uint32_t, std::pair<double, std::int32_t>> list;
  for (int round = 0; round < 20'000; ++round) {
    if (list.empty() || draw.uniform01() < 0.5) {
      const double factor = 1.0 + static_cast<double>(draw.uniform_int(50));  // ties are common
      const auto index = static_cast<std::int32_t>(draw.uniform_int(9));
      const std::uint32_t id = active.begin(factor, index);
      EXPECT_TRUE(list.emplace(id, std::pair(factor, index)).second) << "id " << id << " is taken";
    } else {
      auto one = list.begin();
      std::advance(one, static_cast<std::ptrdiff_t>(draw.uniform_int(list.size())));
      EXPECT_EQ(active.end(one->first), one->second.second);
      list.erase(one);
    }
    double worst = 1.0;
    for (const auto& [id, slow] : list) {
      worst = std::max(worst, slow.first);
    }
    ASSERT_EQ(active.worst(), worst) << "round " << round;
  }
  // One that outlasts thousands of milder ones.
  const std::uint32_t longest = active.begin(99.0, 0);
  for (int i = 0; i < 5'000; ++i) {
    active.end(active.begin(2.0, 1));
    ASSERT_EQ(active.worst(), 99.0);
  }
  EXPECT_EQ(active.end(longest), 0);
  active.clear();
  EXPECT_EQ(active.worst(), 1.0);
}

}  // namespace
}  // namespace orrery::run
