#include "gui/timeline/time_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "sim/base/sim_time.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::timeline {

namespace {

constexpr std::int64_t kMicrosecond = 1000;
constexpr std::int64_t kMillisecond = 1000 * kMicrosecond;
constexpr std::int64_t kSecond = kNanosecondsPerSecond;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

struct Unit {
  std::int64_t ns;
  std::string_view name;
};

constexpr std::array<Unit, 7> kUnits = {{{kDay, "d"},
                                         {kHour, "h"},
                                         {kMinute, "min"},
                                         {kSecond, "s"},
                                         {kMillisecond, "ms"},
                                         {kMicrosecond, "us"},
                                         {1, "ns"}}};

constexpr std::array<std::int64_t, 22> kLongDistances = {
    kSecond,  2 * kSecond, 5 * kSecond, 10 * kSecond, 15 * kSecond, 30 * kSecond,
    kMinute,  2 * kMinute, 5 * kMinute, 10 * kMinute, 15 * kMinute, 30 * kMinute,
    kHour,    2 * kHour,   3 * kHour,   6 * kHour,    12 * kHour,   kDay,
    2 * kDay, 7 * kDay,    14 * kDay,   28 * kDay};

std::int64_t round_distance(std::int64_t length, int most) {
  const std::int64_t least = std::max<std::int64_t>(length / std::max(most, 1), 1);
  for (std::int64_t power = 1; power < kSecond; power *= 10) {
    for (const std::int64_t factor : {1, 2, 5}) {
      if (factor * power >= least) {
        return factor * power;
      }
    }
  }
  for (const std::int64_t distance : kLongDistances) {
    if (distance >= least) {
      return distance;
    }
  }
  std::int64_t distance = 28 * kDay;
  while (distance < least) {
    distance *= 2;
  }
  return distance;
}

// Largest unit of which the distance is a whole number.
const Unit& unit_of(std::int64_t distance) {
  return *std::find_if(kUnits.begin(), kUnits.end(), [distance](const Unit& unit) {
    return distance % unit.ns == 0;
  });
}

// "3 d 4 h 5 min", exact down to the unit in which ns is whole.
std::string exact_text(std::int64_t ns) {
  if (ns == 0) {
    return "0";
  }
  std::string text = ns < 0 ? "-" : "";
  std::int64_t rest = ns < 0 ? -ns : ns;
  bool first = true;
  for (const Unit& unit : kUnits) {
    if (const std::int64_t count = rest / unit.ns; count > 0) {
      text += fmt::format("{}{} {}", first ? "" : " ", count, unit.name);
      rest %= unit.ns;
      first = false;
    }
  }
  return text;
}

std::int64_t floor_to(std::int64_t time, std::int64_t distance) {
  const std::int64_t rest = time % distance;
  return time - (rest < 0 ? rest + distance : rest);
}

}  // namespace

std::string duration_text(std::int64_t ns) {
  const std::int64_t magnitude = ns < 0 ? -ns : ns;
  if (magnitude >= 2 * kMinute) {
    return format_time(to_seconds({ns}), {.significant = 4, .trim = true});
  }
  for (const Unit& unit : kUnits) {
    if (unit.ns <= kSecond && magnitude >= unit.ns) {
      const double value = static_cast<double>(ns) / static_cast<double>(unit.ns);
      return fmt::format(
          "{} {}", format_number(value, {.significant = 4, .trim = true}), unit.name);
    }
  }
  return "0 ns";
}

Ticks ticks_of(TimeRange window, std::int64_t zero, int most) {
  Ticks out;
  out.distance = round_distance(window.length(), most);
  const std::int64_t begin = window.begin - zero;
  const std::int64_t end = window.end - zero;
  const Unit& unit = unit_of(out.distance);
  // A label of more than five digits in its own unit is an offset from a base.
  constexpr std::int64_t kReadable = 99'999;
  std::int64_t base = 0;
  if (end / unit.ns > kReadable || (unit.ns < kDay && unit.ns >= kMinute && end >= 2 * kDay) ||
      (unit.ns < kMinute && unit.ns >= kSecond && end >= 2 * kHour)) {
    base = floor_to(begin, out.distance * 100);
    for (const Unit& candidate : kUnits) {
      if (candidate.ns > window.length()) {
        base = floor_to(begin, candidate.ns);
      }
    }
    out.base = exact_text(base);
  }
  for (std::int64_t time = floor_to(begin, out.distance); time < end; time += out.distance) {
    if (time < begin) {
      continue;
    }
    const std::int64_t shown = time - base;
    const std::string sign = out.base.empty() ? "" : "+";
    const std::string label =
        shown == 0 ? sign + "0" : fmt::format("{}{} {}", sign, shown / unit.ns, unit.name);
    out.ticks.push_back({time + zero, label});
  }
  return out;
}

}  // namespace orrery::timeline
