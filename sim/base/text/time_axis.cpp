#include "sim/base/text/time_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <utility>

#include "sim/base/sim_time.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/units.hpp"

namespace orrery {

namespace {

constexpr std::int64_t kSecond = kNanosecondsPerSecond;
constexpr auto kMillisecond = static_cast<std::int64_t>(kMilli * static_cast<double>(kSecond));
constexpr auto kMicrosecond = static_cast<std::int64_t>(kMicro * static_cast<double>(kSecond));
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

struct AxisUnit {
  std::int64_t ns;
  std::string_view name;
};

constexpr std::array<AxisUnit, 7> kUnits = {{{kDay, "d"},
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

// "3 d 4 h 5 min", exact down to the unit in which ns is whole.
std::string exact_text(std::int64_t ns) {
  if (ns == 0) {
    return "0";
  }
  std::string text = ns < 0 ? "-" : "";
  std::int64_t rest = ns < 0 ? -ns : ns;
  bool first = true;
  for (const AxisUnit& unit : kUnits) {
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

struct Window {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t length() const { return end - begin; }
};

// How times between two ticks of a distance are told: by what, to how many decimals.
struct ShortScale {
  AxisUnit unit;
  int decimals = 0;
  bool legible = true;  // in six digits

  [[nodiscard]] std::string text(std::int64_t time) const {
    const double value = static_cast<double>(time) / static_cast<double>(unit.ns);
    return time == 0 ? "0" : fmt::format("{:.{}f} {}", value, decimals, unit.name);
  }
};

ShortScale short_scale(std::int64_t distance, std::int64_t greatest) {
  constexpr int kMostDigits = 6;
  const auto& unit = *std::ranges::find_if(kUnits, [greatest](const AxisUnit& one) {
    return one.ns <= kSecond && (one.ns <= greatest || one.ns == 1);
  });
  ShortScale scale{unit};
  for (std::int64_t step = unit.ns; step > distance; step /= 10) {
    ++scale.decimals;
  }
  int digits = scale.decimals + 1;
  for (std::int64_t whole = greatest / unit.ns; whole >= 10; whole /= 10) {
    ++digits;
  }
  scale.legible = digits <= kMostDigits && greatest < 2 * kMinute;
  return scale;
}

// The date and the time of day of a moment in nanoseconds since 1970.
std::string date_of(std::int64_t unix_ns) {
  return format_date_time(floor_to(unix_ns, kDay) / kSecond).substr(0, 10);
}

std::string time_of_day(std::int64_t unix_ns, bool seconds) {
  const std::int64_t time = unix_ns - floor_to(unix_ns, kDay);
  const std::string minutes = fmt::format("{:02}:{:02}", time / kHour, time / kMinute % 60);
  return seconds ? fmt::format("{}:{:02}", minutes, time / kSecond % 60) : minutes;
}

// The label of each moment of a window on the clock on which it is counted.
struct Labels {
  std::string base;
  std::function<std::string(std::int64_t)> of;
};

Labels short_labels(Window window, std::int64_t distance, bool dated) {
  const std::int64_t greatest = std::max(std::abs(window.begin), std::abs(window.end));
  const ShortScale whole = short_scale(distance, greatest);
  if (whole.legible) {
    return {{}, [whole](std::int64_t time) { return whole.text(time); }};
  }
  std::int64_t grid = 1;
  while (grid < window.length()) {
    grid *= 10;
  }
  const std::int64_t base = floor_to(window.begin, dated ? std::max(grid, kSecond) : grid);
  const ShortScale scale = short_scale(distance, window.end - base);
  return {dated ? fmt::format("{} {} UTC", date_of(base), time_of_day(base, true))
                : fmt::format("from {}", exact_text(base)),
          [base, scale](std::int64_t time) { return "+" + scale.text(time - base); }};
}

Labels long_labels(Window window, std::int64_t distance, bool dated) {
  if (dated && distance >= kDay) {
    return {"dates in UTC", date_of};
  }
  if (dated) {
    return {date_of(window.begin) + " UTC", [distance](std::int64_t time) {
              return time == floor_to(time, kDay) ? date_of(time)
                                                  : time_of_day(time, distance < kMinute);
            }};
  }
  const std::int64_t base = distance < kDay ? floor_to(window.begin, kDay) : 0;
  if (base <= 0) {
    return {{}, exact_text};
  }
  return {fmt::format("from {}", exact_text(base)),
          [base](std::int64_t time) { return "+" + exact_text(time - base); }};
}

}  // namespace

std::string duration_text(std::int64_t ns) {
  return ns == 0 ? "0 ns" : format_time(to_seconds({ns}), {.significant = 4, .trim = true});
}

std::string moment_text(std::int64_t ns, std::optional<std::int64_t> unix_start) {
  return unix_start ? format_date_time(*unix_start + floor_to(ns, kSecond) / kSecond)
                    : duration_text(ns);
}

TimeTicks ticks_of(std::int64_t begin, std::int64_t end, std::int64_t zero, int most,
                   std::optional<std::int64_t> unix_start) {
  TimeTicks out;
  out.distance = round_distance(end - begin, most);
  zero -= unix_start.value_or(0) * kSecond;
  const Window counted{begin - zero, end - zero};
  Labels labels = out.distance < kSecond
                      ? short_labels(counted, out.distance, unix_start.has_value())
                      : long_labels(counted, out.distance, unix_start.has_value());
  out.base = std::move(labels.base);
  std::int64_t time = floor_to(counted.begin, out.distance);
  for (time += time < counted.begin ? out.distance : 0; time < counted.end; time += out.distance) {
    out.ticks.push_back({time + zero, labels.of(time)});
  }
  return out;
}

}  // namespace orrery
