#pragma once

// Simulated time as an exact integer count of nanoseconds.
//
// symbol | meaning                            | unit | origin
// -------|------------------------------------|------|-------------------------------
// ns     | time since the start of simulation | ns   | rounded once, when scheduled
//
// 2^63 ns is about 292 years. Sums are associative and exact, equality is legal, and ledgers
// balance to the nanosecond. Costs stay Seconds (double) until they are scheduled; to_sim_time
// rounds half to even, an error of at most 0.5 ns per task.

#include <cmath>
#include <compare>
#include <cstdint>

#include "sim/base/units.hpp"

namespace orrery {

struct SimTime {
  std::int64_t ns = 0;

  friend constexpr auto operator<=>(SimTime a, SimTime b) = default;

  friend constexpr SimTime operator+(SimTime a, SimTime b) { return {a.ns + b.ns}; }

  friend constexpr SimTime operator-(SimTime a, SimTime b) { return {a.ns - b.ns}; }

  constexpr SimTime& operator+=(SimTime other) {
    ns += other.ns;
    return *this;
  }

  constexpr SimTime& operator-=(SimTime other) {
    ns -= other.ns;
    return *this;
  }
};

inline constexpr SimTime kForever{INT64_MAX};

// To the nearest whole number, of two the even one, as std::nearbyint without its call: adding
// 1.5 * 2^52 leaves no room for a fraction as long as the sum stays below 2^53.
[[nodiscard]] inline double nearest_even(double value) {
  constexpr double kShift = 0x1.8p52;
  constexpr double kMost = 0x1.0p51;
  return value < kMost && value > -kMost ? (value + kShift) - kShift : std::nearbyint(value);
}

// Nearest nanosecond, ties to even; values beyond +-292 years saturate.
[[nodiscard]] inline SimTime to_sim_time(Seconds value) {
  const double ns = in_seconds(value) / kNano;
  constexpr double kLimit = 0x1.0p63;
  if (!(ns < kLimit)) {
    return kForever;
  }
  if (ns < -kLimit) {
    return {INT64_MIN};
  }
  return {static_cast<std::int64_t>(nearest_even(ns))};
}

[[nodiscard]] inline Seconds to_seconds(SimTime time) {
  return seconds(static_cast<double>(time.ns) / static_cast<double>(kNanosecondsPerSecond));
}

}  // namespace orrery
