#pragma once

// The aging of components in operational time: the integral of a multiplier of all hazards, which
// maps every law through heat, burn-in and episodes exactly.
//
//   multiplier(t) = by_hour[hour of the day] * burn_in(t) * episode(t)
//   burn_in(t)    = 1 + (first - 1) * exp(-(age + t) / decay)
//   operational(t) = integral of the multiplier from 0 to t
//
// symbol      | meaning                                                     | unit | origin
// ------------|-------------------------------------------------------------|------|---------
// by_hour     | multiplier in each hour of the day, UTC; 24 numbers or none | 1    | scenario
// day_offset  | time of the day when the run starts                         | ns   | training.start
// first       | multiplier of a fleet on its first day                      | 1    | scenario
// decay       | time in which the excess falls to 1/e                       | ns   | scenario
// age         | since the fleet went into use, at the start of the run      | ns   | scenario
// episode(t)  | multiplier of the episode that holds t, else 1              | 1    | scenario
//
// A life of x under the multiplier ends when operational time has advanced by x. Whole days are
// skipped: one multiplication, or a look into a table of the days of the burn-in, so both
// directions cost O(log days). Operational times are doubles in nanoseconds.

#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/sim_time.hpp"

namespace orrery::run {

inline constexpr double kLatest = 0x1.0p61;  // kLongestTime: 73 years in nanoseconds

[[nodiscard]] constexpr double to_ns(SimTime time) { return static_cast<double>(time.ns); }

// Hazards are multiplied by `multiplier` from `begin` until `end`.
struct HazardEpisode {
  SimTime begin;
  SimTime end;
  double multiplier = 1.0;
};

struct HazardModulation {
  std::vector<double> by_hour;  // empty: the same all day
  SimTime day_offset;
  double burn_in = 1.0;  // `first`; 1: none
  SimTime burn_in_decay;
  SimTime burn_in_age;
  std::vector<HazardEpisode> episodes;  // in order of time, disjoint

  [[nodiscard]] bool is_constant() const {
    return by_hour.empty() && burn_in == 1.0 && episodes.empty();
  }

  // Mean of the multiplier in the long run: over a day, after burn-in, outside episodes.
  [[nodiscard]] double long_run_mean() const;
};

class TimeWarp {
 public:
  explicit TimeWarp(const HazardModulation& modulation);

  [[nodiscard]] bool is_constant() const { return constant_; }

  // Operational time from 0 to t.
  [[nodiscard]] double operational(SimTime t) const;

  // The time whose operational time is `amount`, rounded to a nanosecond; kForever beyond 73 years.
  [[nodiscard]] SimTime time_of(double amount) const;

 private:
  using Hours = std::array<double, kHoursPerDay + 1>;

  // From one change of an episode to the next; all in nanoseconds.
  struct Piece {
    double operational = 0.0;  // up to its begin
    double daily = 0.0;        // up to its begin, without episodes
    double begin = 0.0;
    double multiplier = 1.0;
  };

  void add_piece(SimTime begin, double multiplier);
  [[nodiscard]] double daily(double time) const;
  [[nodiscard]] double before_day(double day) const;
  [[nodiscard]] double excess_of(double day) const;
  [[nodiscard]] double day_of(double amount) const;
  [[nodiscard]] double time_of_daily(double amount) const;

  bool constant_ = true;
  Hours by_hour_{};   // multiplier; one more so that midnight has a row
  Hours plain_{};     // integral of by_hour over the day up to each hour
  Hours weighted_{};  // the same of by_hour * exp(-time of the day / decay)
  double day_offset_ = 0.0;
  double decay_ = 0.0;         // 0: no burn-in
  double excess_ = 0.0;        // of the burn-in at the midnight before the start
  double start_ = 0.0;         // integral from that midnight to the start
  std::vector<double> days_;   // the same up to each midnight, until the burn-in is over
  std::vector<Piece> pieces_;  // the first begins at 0
};

}  // namespace orrery::run
