// Dates in UTC (rules in scalar.hpp).

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/scalar.hpp"

namespace orrery::yaml {

namespace {

constexpr std::string_view kAllowed =
    "UTC, as a day such as 2026-11-01 or a minute such as 2024-04-01T00:00Z";

// `0` in the pattern stands for any digit, every other character for itself.
bool matches(std::string_view text, std::string_view pattern) {
  return std::equal(
      text.begin(), text.end(), pattern.begin(), pattern.end(),
      [](char have, char want) { return want == '0' ? have >= '0' && have <= '9' : have == want; });
}

unsigned digits(std::string_view text, std::size_t start, std::size_t length) {
  unsigned value = 0;
  for (const char c : text.substr(std::min(start, text.size()), length)) {
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value;
}

std::string shape_problem(std::string_view text) {
  if (matches(text, "0000-00-00T00:00") || matches(text, "0000-00-00T00:00:00")) {
    return "does not end in Z";
  }
  constexpr std::size_t kDayLength = 10;
  if (text.size() > kDayLength && text[kDayLength] == ' ' &&
      matches(text.substr(0, kDayLength), "0000-00-00")) {
    return "has a space where a T is needed";
  }
  constexpr std::size_t kMinuteLength = 16;
  if (text.size() > kMinuteLength && matches(text.substr(0, kMinuteLength), "0000-00-00T00:00")) {
    return "is not in UTC, ending in Z";
  }
  return "is not a date";
}

}  // namespace

Parsed<DateTime> parse_date_time(std::string_view text) {
  const auto fail = [&](std::string_view problem) {
    return Parsed<DateTime>{std::nullopt, fmt::format("{} {}", display(text), problem),
                            std::string(kAllowed)};
  };
  const bool day_only = matches(text, "0000-00-00");
  const bool with_minutes = matches(text, "0000-00-00T00:00Z");
  const bool with_seconds = matches(text, "0000-00-00T00:00:00Z");
  if (!day_only && !with_minutes && !with_seconds) {
    return fail(shape_problem(text));
  }
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(digits(text, 0, 4))),
                                         std::chrono::month(digits(text, 5, 2)),
                                         std::chrono::day(digits(text, 8, 2)));
  if (!date.ok()) {
    return fail("is not a day of the calendar");
  }
  constexpr unsigned kHours = 24;
  constexpr unsigned kSixty = 60;
  const unsigned hour = day_only ? 0 : digits(text, 11, 2);
  const unsigned minute = day_only ? 0 : digits(text, 14, 2);
  const unsigned second = with_seconds ? digits(text, 17, 2) : 0;
  if (hour >= kHours || minute >= kSixty || second >= kSixty) {
    return fail("is not a time of the day, 00:00 to 23:59");
  }
  const auto moment = std::chrono::sys_days(date) + std::chrono::hours(hour) +
                      std::chrono::minutes(minute) + std::chrono::seconds(second);
  return {DateTime{std::chrono::sys_seconds(moment).time_since_epoch().count()}, {}, {}};
}

}  // namespace orrery::yaml
