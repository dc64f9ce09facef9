#include "calibrate/sweep/settling_rule.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "calibrate/samples/summary.hpp"

namespace orrery::calibrate {

namespace {

bool flat(std::span<const double> values, double tolerance) {
  const std::size_t half = values.size() / 2;
  const Summary earlier = summarise(values.first(half));
  const Summary later = summarise(values.last(half));
  const double noise = std::min(tolerance, 2.0 * std::hypot(earlier.error, later.error));
  return std::abs(later.median / earlier.median - 1.0) <= tolerance + noise;
}

}  // namespace

SettlingWatch::SettlingWatch(const SettlingRule& rule, Seconds loaded)
    : rule_(rule), loaded_(loaded) {}

void SettlingWatch::add(Seconds replay, std::optional<double> clock) {
  spent_ += replay;
  times_.push_back(in_seconds(replay));
  if (clock) {
    clocks_.push_back(*clock);
  }
  constexpr double kLooksPerWindow = 10.0;
  if (spent_ - looked_ >= rule_.window / kLooksPerWindow) {
    looked_ = spent_;
    settled_ = is_flat();
  }
}

bool SettlingWatch::is_flat() const {
  if (loaded_ + spent_ < rule_.least_load) {
    return false;
  }
  std::size_t count = 0;
  double covered = 0.0;
  while (count < times_.size() && (covered < in_seconds(rule_.window) || count < rule_.fewest)) {
    ++count;
    covered += times_[times_.size() - count];
  }
  if (covered < in_seconds(rule_.window) || count < rule_.fewest) {
    return false;
  }
  const bool clocks = clocks_.size() == times_.size();
  return flat(std::span(times_).last(count), rule_.tolerance) &&
         (!clocks || flat(std::span(clocks_).last(count), rule_.tolerance));
}

}  // namespace orrery::calibrate
