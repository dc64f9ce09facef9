#include <algorithm>
#include <chrono>

#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/logs/log_scan.hpp"

namespace orrery::import_config {

namespace {

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (i >= text.size() || text[i] < '0' || text[i] > '9') {
      return std::nullopt;
    }
    constexpr int kTen = 10;
    value = value * kTen + (text[i] - '0');
  }
  return value;
}

// 15:57:30,140 as milliseconds of the day
std::optional<std::int64_t> time_of_day(std::string_view text, std::size_t at) {
  const auto hours = digits(text, at, 2);
  const auto minutes = digits(text, at + 3, 2);
  const auto whole = digits(text, at + 6, 2);
  if (!hours || !minutes || !whole || text[at + 2] != ':' || text[at + 5] != ':') {
    return std::nullopt;
  }
  constexpr int kSixty = 60;
  constexpr std::int64_t kThousand = 1000;
  const std::size_t point = at + 8;
  const bool more = point < text.size() && (text[point] == ',' || text[point] == '.');
  return ((*hours * kSixty + *minutes) * kSixty + *whole) * kThousand +
         (more ? digits(text, point + 1, 3).value_or(0) : 0);
}

std::optional<std::int64_t> date_at(std::optional<int> year,
                                    std::optional<int> month,
                                    std::optional<int> day,
                                    std::optional<std::int64_t> time) {
  if (!year || !month || !day || !time) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(std::chrono::sys_days{date}.time_since_epoch()).count() + *time;
}

}  // namespace

std::optional<std::int64_t> date_of(std::string_view line) {
  constexpr std::size_t kLength = 19;
  for (std::size_t at = 0; at + kLength <= line.size(); ++at) {
    const char sign = line[at + 4];
    const char other = line[at + 2];
    std::optional<std::int64_t> found;
    if (sign == '-' && line[at + 7] == '-') {
      found = date_at(digits(line, at, 4),
                      digits(line, at + 5, 2),
                      digits(line, at + 8, 2),
                      time_of_day(line, at + 11));
    } else if (other == '/' && line[at + 5] == '/') {
      found = date_at(digits(line, at + 6, 4),
                      digits(line, at, 2),
                      digits(line, at + 3, 2),
                      time_of_day(line, at + 11));
    }
    if (found) {
      return found;
    }
  }
  const auto time = number_behind(line, "\"time_ms\":");
  return time ? std::optional(static_cast<std::int64_t>(*time)) : std::nullopt;
}

std::string writer_of(std::string_view line) {
  std::string writer;
  for (std::string_view rest = trimmed(line); !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    const std::size_t end = word.find(':');
    if (end == std::string_view::npos || end == 0 ||
        (end + 1 < word.size() && word[end - 1] != ']') ||
        !std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(end), [](char c) {
          return is_word(c) || c == '[' || c == ']' || c == '|' || c == '-' || c == '.';
        })) {
      break;
    }
    writer += word.substr(0, end + 1);
    rest = trimmed(rest.substr(end + 1));
  }
  // By letters that are rarer in such lines than a bar or a bracket.
  for (const std::string_view mark : {"[Rank ", "|DP="}) {
    const std::size_t at = line.find(mark.substr(1));
    if (at != std::string_view::npos && at > 0 && line[at - 1] == mark.front()) {
      writer += line.substr(at - 1, line.find(']', at) - at + 1);
    }
  }
  return writer;
}

}  // namespace orrery::import_config
