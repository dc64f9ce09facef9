#include "sim/base/sim_time.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

#include "sim/base/random.hpp"

namespace orrery {
namespace {

static_assert(!std::is_convertible_v<Seconds, SimTime>);
static_assert(!std::is_convertible_v<SimTime, Seconds>);

TEST(SimTime, RoundsTiesToTheEvenNanosecond) {
  EXPECT_EQ(to_sim_time(nanoseconds(0.5)).ns, 0);
  EXPECT_EQ(to_sim_time(nanoseconds(1.5)).ns, 2);
  EXPECT_EQ(to_sim_time(nanoseconds(2.5)).ns, 2);
  EXPECT_EQ(to_sim_time(nanoseconds(3.5)).ns, 4);
  EXPECT_EQ(to_sim_time(nanoseconds(-0.5)).ns, 0);
  EXPECT_EQ(to_sim_time(nanoseconds(-1.5)).ns, -2);
  EXPECT_EQ(to_sim_time(nanoseconds(-2.5)).ns, -2);
}

TEST(SimTime, RoundsToTheNearestNanosecondElsewhere) {
  EXPECT_EQ(to_sim_time(nanoseconds(0.49)).ns, 0);
  EXPECT_EQ(to_sim_time(nanoseconds(0.51)).ns, 1);
  EXPECT_EQ(to_sim_time(seconds(1.0)).ns, 1'000'000'000);
  EXPECT_EQ(to_sim_time(days(54.0)).ns, 4'665'600'000'000'000);
}

TEST(SimTime, WholeNanosecondsSurviveTheWayToSecondsAndBack) {
  constexpr std::uint64_t kSeed = 20261121;
  RandomStream random(kSeed, 0, Purpose::property_test);
  // A double holds 53 bits: 2^50 ns (13 days) leaves three bits for the division by 1e-9.
  constexpr std::uint64_t kBound = std::uint64_t{1} << 50U;
  for (int i = 0; i < 10000; ++i) {
    const SimTime time{static_cast<std::int64_t>(random.uniform_int(kBound))};
    ASSERT_EQ(to_sim_time(to_seconds(time)), time) << "seed " << kSeed << " draw " << i;
  }
}

TEST(SimTime, SaturatesBeyond292Years) {
  const Seconds years_292 = days(292.0 * 365.25);
  EXPECT_LT(to_sim_time(years_292), kForever);
  EXPECT_EQ(to_sim_time(days(293.0 * 365.25)), kForever);
  EXPECT_EQ(to_sim_time(days(-293.0 * 365.25)).ns, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(to_sim_time(seconds(std::numeric_limits<double>::infinity())), kForever);
  EXPECT_EQ(to_sim_time(seconds(-std::numeric_limits<double>::infinity())).ns,
            std::numeric_limits<std::int64_t>::min());
}

TEST(SimTime, AnUndefinedDurationNeverHappens) {
  EXPECT_EQ(to_sim_time(seconds(std::numeric_limits<double>::quiet_NaN())), kForever);
}

TEST(SimTime, SumsAreExactAndOrdered) {
  SimTime time{3};
  time += SimTime{4};
  time -= SimTime{2};
  EXPECT_EQ(time, SimTime{5});
  EXPECT_EQ((SimTime{7} - SimTime{9}).ns, -2);
  EXPECT_LT(SimTime{1} + SimTime{1}, SimTime{3});
  EXPECT_LT(SimTime{std::numeric_limits<std::int64_t>::max() - 1}, kForever);
}

}  // namespace
}  // namespace orrery
