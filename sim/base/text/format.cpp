#include "sim/base/text/format.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <span>
#include <string_view>

namespace orrery {

namespace {

struct Unit {
  std::string_view name;
  double scale;  // base units in one of this unit
  double from;   // magnitude in base units from which this unit is used
};

constexpr Unit si(std::string_view name, double scale) { return {name, scale, scale}; }

constexpr double kSwitchToMinutes = 2.0 * kSecondsPerMinute;
constexpr double kSwitchToHours = 2.0 * kSecondsPerHour;
constexpr double kSwitchToDays = 2.0 * kSecondsPerDay;

constexpr std::array kTimeUnits = {si(" ns", kNano),
                                   si(" us", kMicro),
                                   si(" ms", kMilli),
                                   si(" s", 1.0),
                                   Unit{" min", kSecondsPerMinute, kSwitchToMinutes},
                                   Unit{" h", kSecondsPerHour, kSwitchToHours},
                                   Unit{" d", kSecondsPerDay, kSwitchToDays}};
constexpr std::array kByteUnits = {si(" B", 1.0),    si(" kB", kKilo), si(" MB", kMega),
                                   si(" GB", kGiga), si(" TB", kTera), si(" PB", kPeta)};
constexpr std::array kBinaryUnits = {si(" B", 1.0), si(" KiB", kKibi), si(" MiB", kMebi),
                                     si(" GiB", kGibi), si(" TiB", kTebi)};
constexpr std::array kByteRateUnits = {si(" B/s", 1.0),    si(" kB/s", kKilo), si(" MB/s", kMega),
                                       si(" GB/s", kGiga), si(" TB/s", kTera), si(" PB/s", kPeta)};
constexpr std::array kFlopRateUnits = {si(" FLOP/s", 1.0),    si(" MFLOP/s", kMega),
                                       si(" GFLOP/s", kGiga), si(" TFLOP/s", kTera),
                                       si(" PFLOP/s", kPeta), si(" EFLOP/s", kExa)};
constexpr std::array kCountUnits = {si("", 1.0), si("k", kKilo), si("M", kMega), si("B", kGiga),
                                    si("T", kTera)};

// Digits after the point that leave `significant` digits in all; never negative.
int decimals_for(double magnitude, int significant) {
  if (magnitude == 0.0) {
    return 0;
  }
  const int exponent = static_cast<int>(std::floor(std::log10(magnitude)));
  return std::max(0, significant - 1 - exponent);
}

void trim_zeros(std::string& text) {
  if (text.find('.') == std::string::npos || text.find('e') != std::string::npos) {
    return;
  }
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') {
    text.pop_back();
  }
}

// The number of a magnitude >= 0; `min_decimals` keeps cents.
std::string magnitude_text(double magnitude, NumberStyle style, int min_decimals = 0) {
  const int significant = std::max(style.significant, 1);
  if (!std::isfinite(magnitude)) {
    return fmt::format("{}", magnitude);
  }
  if (magnitude >= kMega || (magnitude > 0.0 && magnitude < kMicro)) {
    return fmt::format("{:.{}e}", magnitude, significant - 1);
  }
  int decimals = decimals_for(magnitude, significant);
  std::string text = fmt::format("{:.{}f}", magnitude, std::max(decimals, min_decimals));
  // 9.996 with three digits rounds to 10.00, one digit too many.
  const double rounded = std::strtod(text.c_str(), nullptr);
  if (decimals > 0 && decimals_for(rounded, significant) < decimals) {
    decimals = decimals_for(rounded, significant);
    text = fmt::format("{:.{}f}", magnitude, std::max(decimals, min_decimals));
  }
  if (style.trim) {
    trim_zeros(text);
  }
  return text;
}

// What the printed number says: the magnitude rounded to the digits that are shown.
double shown_magnitude(double magnitude, NumberStyle style) {
  return std::isfinite(magnitude)
             ? std::strtod(magnitude_text(magnitude, {style.significant, false}).c_str(), nullptr)
             : magnitude;
}

std::size_t choose_unit(double magnitude, std::span<const Unit> units, NumberStyle style) {
  std::size_t chosen = 0;
  while (chosen + 1 < units.size() &&
         shown_magnitude(magnitude / units[chosen].scale, style) * units[chosen].scale >=
             units[chosen + 1].from) {
    ++chosen;
  }
  return magnitude == 0.0 || !std::isfinite(magnitude) ? 0 : chosen;
}

std::string_view sign_of(double value) { return value < 0.0 ? "-" : ""; }

std::string scaled(double value, std::span<const Unit> units, NumberStyle style) {
  const double magnitude = std::abs(value);
  const Unit& unit = units[choose_unit(magnitude, units, style)];
  return fmt::format("{}{}{}", sign_of(value), magnitude_text(magnitude / unit.scale, style),
                     unit.name);
}

}  // namespace

std::string format_number(double value, NumberStyle style) {
  return fmt::format("{}{}", sign_of(value), magnitude_text(std::abs(value), style));
}

std::string format_count(double value, NumberStyle style) {
  const double magnitude = std::abs(value);
  const bool small_integer = magnitude < kKilo && magnitude == std::floor(magnitude);
  return small_integer ? fmt::format("{}{:.0f}", sign_of(value), magnitude)
                       : scaled(value, kCountUnits, style);
}

std::string format_integer(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  constexpr std::size_t kGroup = 3;
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t end = digits.size(); end > first + kGroup;) {
    end -= kGroup;
    digits.insert(end, 1, ',');
  }
  return digits;
}

std::string format_percent(double value, NumberStyle style) {
  constexpr double kPerCent = 100.0;
  return format_number(value * kPerCent, style) + "%";
}

std::string format_bytes(Bytes value, NumberStyle style) {
  return scaled(in_bytes(value), kByteUnits, style);
}

std::string format_bytes_binary(Bytes value, NumberStyle style) {
  return scaled(in_bytes(value), kBinaryUnits, style);
}

std::string format_time(Seconds value, NumberStyle style) {
  if (in_seconds(value) == 0.0) {
    return "0 s";
  }
  return scaled(in_seconds(value), kTimeUnits, style);
}

std::string format_bandwidth(BytesPerSecond value, NumberStyle style) {
  return scaled(in_bytes_per_second(value), kByteRateUnits, style);
}

std::string format_flop_rate(FlopPerSecond value, NumberStyle style) {
  return scaled(in_flop_per_second(value), kFlopRateUnits, style);
}

std::string format_money(Dollars value, NumberStyle style) {
  constexpr double kNothing = 1e-6;  // what sums are wrong by, not money
  const double stated = std::abs(in_dollars(value));
  const double magnitude = stated < kNothing ? 0.0 : stated;
  const Unit& unit = kCountUnits[choose_unit(magnitude, kCountUnits, style)];
  constexpr int kCents = 2;
  return fmt::format("{}${}{}", sign_of(magnitude == 0.0 ? 0.0 : in_dollars(value)),
                     magnitude_text(magnitude / unit.scale, style, unit.name.empty() ? kCents : 0),
                     unit.name);
}

std::string format_price_rate(DollarsPerSecond value, NumberStyle style) {
  return format_money(value * hours(1.0), style) + "/h";
}

std::string format_event_rate(PerSecond value, NumberStyle style) {
  return format_number(in_per_day(value), style) + "/d";
}

std::string format_date_time(std::int64_t unix_seconds) {
  constexpr std::int64_t kDay = 86'400;         // s
  constexpr std::int64_t kFirstDay = -719'528;  // 0000-01-01
  constexpr std::int64_t kLastDay = 2'932'896;  // 9999-12-31
  const std::int64_t rest = (unix_seconds % kDay + kDay) % kDay;
  const std::int64_t days = unix_seconds / kDay - (unix_seconds % kDay < 0 ? 1 : 0);
  if (days < kFirstDay || days > kLastDay) {
    return fmt::format("day {}", days);
  }
  const std::chrono::hh_mm_ss clock{std::chrono::seconds(rest)};
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count());
  if (clock.seconds().count() != 0) {
    text += fmt::format(":{:02}", clock.seconds().count());
  }
  return text + "Z";
}

}  // namespace orrery
