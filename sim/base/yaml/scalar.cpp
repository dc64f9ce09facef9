#include "sim/base/yaml/scalar.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <limits>

#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/number_text.hpp"

namespace orrery::yaml {

namespace {

constexpr std::string_view kCountAllowed =
    "a whole number such as 8, with k, M, B or T as in 15.6T, or with an exponent as in 15e12";
constexpr std::string_view kNumberAllowed = "a decimal number such as 0.38, -2 or 1e3";
constexpr std::string_view kFractionAllowed = "0 to 1 such as 0.38, or 0% to 100% such as 38%";

// Powers of ten of the count suffixes.
int suffix_exponent(std::string_view suffix) {
  constexpr std::array<std::pair<std::string_view, int>, 5> kSuffixes = {
      {{"", 0}, {"k", 3}, {"M", 6}, {"B", 9}, {"T", 12}}};
  for (const auto& [name, exponent] : kSuffixes) {
    if (suffix == name) {
      return exponent;
    }
  }
  return -1;
}

std::string suffix_problem(std::string_view suffix) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kHints = {
      {{"K", "k"}, {"m", "M"}, {"b", "B"}, {"G", "B"}, {"g", "B"}, {"t", "T"}}};
  for (const auto& [wrong, right] : kHints) {
    if (suffix == wrong) {
      return fmt::format("has the unknown suffix {} (did you mean `{}`?)", display(suffix), right);
    }
  }
  return fmt::format("has {} after the number", display(suffix));
}

// A decimal number taken apart: digits x 10^exponent, without zeros at the end of the digits.
struct Decimal {
  bool negative = false;
  std::string digits;  // without leading zeros; empty for zero
  std::int64_t exponent = 0;
};

Decimal take_apart(std::string_view number) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int32_t>::max();  // any larger: the same
  Decimal decimal;
  decimal.negative = number.starts_with('-');
  bool fraction = false;
  std::size_t i = decimal.negative ? 1 : 0;
  for (; i < number.size() && number[i] != 'e' && number[i] != 'E'; ++i) {
    if (number[i] == '.') {
      fraction = true;
      continue;
    }
    decimal.digits += number[i];
    decimal.exponent -= fraction ? 1 : 0;
  }
  std::int64_t written = 0;
  const bool negative_exponent = i + 1 < number.size() && number[i + 1] == '-';
  for (++i; i < number.size(); ++i) {
    if (number[i] >= '0' && number[i] <= '9') {
      written = std::min(kHuge, written * 10 + (number[i] - '0'));
    }
  }
  decimal.exponent += negative_exponent ? -written : written;
  const std::size_t last = decimal.digits.find_last_not_of('0');
  decimal.exponent += static_cast<std::int64_t>(decimal.digits.size() - (last + 1));
  decimal.digits.erase(last + 1);
  decimal.digits.erase(0, decimal.digits.find_first_not_of('0'));
  return decimal;
}

struct IntegerValue {
  std::int64_t value = 0;
  std::string problem;
};

IntegerValue exact_integer(Decimal decimal, int suffix) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMaxDigits = 19;
  if (decimal.digits.empty()) {
    return decimal.negative ? IntegerValue{0, "has a minus sign before zero"} : IntegerValue{};
  }
  decimal.exponent += suffix;
  if (decimal.exponent < 0) {
    return {0, "is not a whole number"};
  }
  const auto digits = static_cast<std::int64_t>(decimal.digits.size());
  const std::string too_large = fmt::format("is beyond the largest count, {}", kMax);
  if (decimal.exponent > kMaxDigits || digits + decimal.exponent > kMaxDigits) {
    return {0, too_large};
  }
  std::uint64_t value = 0;  // at most 19 digits: below 10^19 < 2^64
  for (const char digit : decimal.digits) {
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  for (std::int64_t i = 0; i < decimal.exponent; ++i) {
    value *= 10;
  }
  if (value > kMax) {
    return {0, too_large};
  }
  const auto magnitude = static_cast<std::int64_t>(value);
  return {decimal.negative ? -magnitude : magnitude, {}};
}

}  // namespace

Parsed<std::int64_t> parse_count(std::string_view text) {
  const auto fail = [&](std::string_view problem) {
    return refuse<std::int64_t>(text, problem, kCountAllowed);
  };
  const NumberText split = split_number(text);
  if (!split.problem.empty()) {
    return fail(split.problem);
  }
  const int suffix = suffix_exponent(split.rest);
  if (suffix < 0) {
    return fail(suffix_problem(split.rest));
  }
  if (suffix > 0 && split.number.find_first_of("eE") != std::string_view::npos) {
    return fail("has both an exponent and a suffix");
  }
  const IntegerValue integer = exact_integer(take_apart(split.number), suffix);
  if (!integer.problem.empty()) {
    return fail(integer.problem);
  }
  return {integer.value, {}, {}};
}

Parsed<double> parse_number(std::string_view text) {
  const NumberText split = split_number(text);
  if (!split.problem.empty()) {
    return refuse<double>(text, split.problem, kNumberAllowed);
  }
  if (!split.rest.empty()) {
    return refuse<double>(text, fmt::format("has {} after the number", display(split.rest)),
                          kNumberAllowed);
  }
  const NumberValue number = number_value(split.number);
  if (!number.problem.empty()) {
    return refuse<double>(text, number.problem, kNumberAllowed);
  }
  return {number.value, {}, {}};
}

Parsed<bool> parse_bool(std::string_view text) {
  if (text == "true" || text == "false") {
    return {text == "true", {}, {}};
  }
  return refuse<bool>(text, "is neither true nor false", "true or false, in lower case");
}

Parsed<double> parse_fraction(std::string_view text) {
  const auto fail = [&](std::string_view problem) {
    return refuse<double>(text, problem, kFractionAllowed);
  };
  const NumberText split = split_number(text);
  if (!split.problem.empty()) {
    return fail(split.problem);
  }
  const bool percent = split.rest == "%";
  if (!percent && !split.rest.empty()) {
    return fail(fmt::format("has {} after the number", display(split.rest)));
  }
  const bool has_exponent = split.number.find_first_of("eE") != std::string_view::npos;
  if (percent && has_exponent) {
    return fail("has both an exponent and a percent sign");
  }
  // The exponent is moved in the text, so that 38% is the same double as 0.38.
  const NumberValue number = number_value(std::string(split.number) + (percent ? "e-2" : ""));
  if (!number.problem.empty()) {
    return fail(number.problem);
  }
  if (number.value < 0.0) {
    return fail("is negative");
  }
  if (number.value > 1.0) {
    constexpr double kHundred = 100.0;
    return fail(!percent && number.value <= kHundred
                    ? fmt::format("is above 1 (did you mean `{}%`?)", split.number)
                    : std::string("is above the whole"));
  }
  return {number.value, {}, {}};
}

Parsed<StepsOrTime> parse_steps_or_time(std::string_view text) {
  constexpr std::string_view kAllowed =
      "a number of steps such as `1000 steps`, or a time in ns us ms s min h d such as 30min";
  constexpr std::array<std::string_view, 2> kWords = {"steps", "step"};
  for (const std::string_view word : kWords) {
    if (!text.ends_with(word)) {
      continue;
    }
    std::string_view number = text.substr(0, text.size() - word.size());
    if (number.ends_with(' ')) {
      number.remove_suffix(1);
    }
    const Parsed<std::int64_t> count = parse_count(number);
    if (!count.value) {
      return {std::nullopt, count.message, std::string(kAllowed)};
    }
    if (*count.value < 1) {
      return refuse<StepsOrTime>(text, "is less than one step", kAllowed);
    }
    return {StepsOrTime(Steps{*count.value}), {}, {}};
  }
  if (const NumberText split = split_number(text); split.problem.empty() && split.rest.empty()) {
    return refuse<StepsOrTime>(text, "has no unit", kAllowed);
  }
  const Parsed<Seconds> time = parse_time(text);
  if (!time.value) {
    return {std::nullopt, time.message, std::string(kAllowed)};
  }
  return {StepsOrTime(*time.value), {}, {}};
}

// Dates in UTC (rules in scalar.hpp).

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
