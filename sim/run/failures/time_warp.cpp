#include "sim/run/failures/time_warp.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orrery::run {

namespace {

constexpr double kHour = static_cast<double>(kNanosecondsPerSecond) * kSecondsPerHour;
constexpr double kDay = kHour * static_cast<double>(kHoursPerDay);

// The x on [0, kHour] with x + excess * (1 - exp(-x / decay)) = amount: Newton's method from the
// tangent at 0, which a function without inflection follows without leaving the interval.
double within_hour(double amount, double excess, double decay) {
  if (excess == 0.0) {
    return amount;
  }
  double x = std::clamp(amount / (1.0 + excess / decay), 0.0, kHour);
  constexpr int kMostSteps = 60;
  for (int i = 0; i < kMostSteps; ++i) {
    const double error = x - excess * std::expm1(-x / decay) - amount;
    const double slope = 1.0 + excess / decay * std::exp(-x / decay);
    const double next = std::clamp(x - error / slope, 0.0, kHour);
    if (next == x) {
      break;
    }
    x = next;
  }
  return x;
}

}  // namespace

double HazardModulation::long_run_mean() const {
  return by_hour.empty() ? 1.0
                         : std::accumulate(by_hour.begin(), by_hour.end(), 0.0) /
                               static_cast<double>(by_hour.size());
}

TimeWarp::TimeWarp(const HazardModulation& modulation)
    : constant_(modulation.is_constant()), day_offset_(to_ns(modulation.day_offset)) {
  if (modulation.burn_in != 1.0) {
    decay_ = to_ns(modulation.burn_in_decay);
    excess_ = (modulation.burn_in - 1.0) *
              std::exp((day_offset_ - to_ns(modulation.burn_in_age)) / decay_);
  }
  for (std::size_t i = 0; i < kHoursPerDay; ++i) {
    by_hour_[i] = modulation.by_hour.empty() ? 1.0 : modulation.by_hour[i];
    plain_[i + 1] = plain_[i] + by_hour_[i] * kHour;
    const double begin = static_cast<double>(i) * kHour;
    const double faded =
        decay_ > 0.0 ? -decay_ * std::exp(-begin / decay_) * std::expm1(-kHour / decay_) : 0.0;
    weighted_[i + 1] = weighted_[i] + by_hour_[i] * faded;
  }
  // The excess is below the last digit of the integral after 50 decays.
  constexpr double kDecays = 50.0;
  const double burning = decay_ > 0.0 ? kDecays * decay_ / kDay + 1.0 : 0.0;
  double sum = 0.0;
  for (double day = 0.0; day < std::min(burning, kLatest / kDay); day += 1.0) {
    days_.push_back(sum);
    sum += plain_.back() + excess_of(day) * weighted_.back();
  }
  if (!days_.empty()) {
    days_.push_back(sum);
  }
  start_ = daily(0.0);
  add_piece(SimTime{}, 1.0);
  for (const HazardEpisode& episode : modulation.episodes) {
    add_piece(episode.begin, episode.multiplier);
    add_piece(episode.end, 1.0);
  }
}

void TimeWarp::add_piece(SimTime begin, double multiplier) {
  Piece piece;
  piece.begin = to_ns(begin);
  piece.daily = daily(piece.begin);
  piece.operational = operational(begin);
  piece.multiplier = multiplier;
  if (!pieces_.empty() && pieces_.back().begin == piece.begin) {
    pieces_.back() = piece;
  } else {
    pieces_.push_back(piece);
  }
}

// Integral over `day` whole days from the midnight before the start. After the days of the table
// nothing is left of the burn-in.
double TimeWarp::before_day(double day) const {
  if (days_.empty()) {
    return day * plain_.back();
  }
  const double known = std::min(day, static_cast<double>(days_.size() - 1));
  return days_[static_cast<std::size_t>(known)] + (day - known) * plain_.back();
}

// What the burn-in adds to the multiplier at the begin of a day.
double TimeWarp::excess_of(double day) const {
  return excess_ == 0.0 ? 0.0 : excess_ * std::exp(-day * kDay / decay_);
}

// Operational time without episodes, from the start.
double TimeWarp::daily(double time) const {
  const double since = time + day_offset_;
  const double day = std::floor(since / kDay);
  const double into = since - day * kDay;
  const auto hour = std::min(kHoursPerDay - 1, static_cast<std::size_t>(into / kHour));
  const double rest = into - static_cast<double>(hour) * kHour;
  double sum = before_day(day) + plain_[hour] + by_hour_[hour] * rest - start_;
  if (excess_ != 0.0) {
    const double begin = static_cast<double>(hour) * kHour;
    const double faded = -decay_ * std::exp(-begin / decay_) * std::expm1(-rest / decay_);
    sum += excess_of(day) * (weighted_[hour] + by_hour_[hour] * faded);
  }
  return sum;
}

// The last day that begins at or before `amount`, counted from the midnight before the start.
double TimeWarp::day_of(double amount) const {
  const double latest = std::ceil(kLatest / kDay) + 1.0;
  if (days_.empty()) {
    return std::clamp(std::floor(amount / plain_.back()), 0.0, latest);
  }
  if (amount >= days_.back()) {
    const double more = std::floor((amount - days_.back()) / plain_.back());
    return static_cast<double>(days_.size() - 1) + std::clamp(more, 0.0, latest);
  }
  const auto after = std::upper_bound(days_.begin() + 1, days_.end(), amount);
  return static_cast<double>(after - days_.begin() - 1);
}

double TimeWarp::time_of_daily(double amount) const {
  const double since = amount + start_;
  const double day = day_of(since);
  const double rest = since - before_day(day);
  const double added = excess_of(day);
  const auto up_to = [&](std::size_t hour) { return plain_[hour] + added * weighted_[hour]; };
  std::size_t hour = 0;
  std::size_t end = kHoursPerDay;
  while (end - hour > 1) {
    const std::size_t middle = (hour + end) / 2;
    (up_to(middle) <= rest ? hour : end) = middle;
  }
  const double into_day = static_cast<double>(hour) * kHour;
  const double begin = day * kDay + into_day - day_offset_;
  if (!(by_hour_[hour] > 0.0)) {
    return begin + kHour;  // only rounding can end up in an hour without hazard
  }
  const double excess = added == 0.0 ? 0.0 : added * decay_ * std::exp(-into_day / decay_);
  return begin + within_hour((rest - up_to(hour)) / by_hour_[hour], excess, decay_);
}

double TimeWarp::operational(SimTime t) const {
  const double time = to_ns(t);
  if (constant_ || pieces_.empty()) {
    return constant_ ? time : daily(time);
  }
  const auto after =
      std::upper_bound(pieces_.begin(), pieces_.end(), time,
                       [](double at, const Piece& piece) { return at < piece.begin; });
  const Piece& piece = *(after - 1);
  return piece.operational + piece.multiplier * (daily(time) - piece.daily);
}

SimTime TimeWarp::time_of(double amount) const {
  if (!(amount < kLatest * kLatest)) {
    return kForever;
  }
  double time = amount;
  if (!constant_) {
    const auto after = std::upper_bound(
        pieces_.begin(), pieces_.end(), amount,
        [](double value, const Piece& piece) { return value < piece.operational; });
    const Piece& piece = after == pieces_.begin() ? *after : *(after - 1);
    if (!(piece.multiplier > 0.0) || !(plain_.back() > 0.0)) {
      return kForever;
    }
    time = time_of_daily(piece.daily + (amount - piece.operational) / piece.multiplier);
  }
  return time < kLatest ? SimTime{static_cast<std::int64_t>(nearest_even(std::max(0.0, time)))}
                        : kForever;
}

}  // namespace orrery::run
