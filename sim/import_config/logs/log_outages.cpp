#include "sim/import_config/log_outages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/training_log.hpp"

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

// 15:57:30 as seconds of the day
std::optional<double> time_of_day(std::string_view text, std::size_t at) {
  const auto hours = digits(text, at, 2);
  const auto minutes = digits(text, at + 3, 2);
  const auto whole = digits(text, at + 6, 2);
  if (!hours || !minutes || !whole || text[at + 2] != ':' || text[at + 5] != ':') {
    return std::nullopt;
  }
  return *hours * kSecondsPerHour + *minutes * kSecondsPerMinute + *whole;
}

std::optional<double> seconds_at(std::optional<int> year,
                                 std::optional<int> month,
                                 std::optional<int> day,
                                 std::optional<double> time) {
  if (!year || !month || !day || !time) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) {
    return std::nullopt;
  }
  const auto days = std::chrono::sys_days{date}.time_since_epoch().count();
  return static_cast<double>(days) * kSecondsPerDay + *time;
}

// The first date with a time: 2025-10-06 03:27:07, 2025-10-17T11:32:59, 08/31/2024 14:37:31. Of one
// zone, whichever it is: only differences count.
std::optional<double> date_of(std::string_view line) {
  constexpr std::size_t kLength = 19;
  for (std::size_t at = 0; at + kLength <= line.size(); ++at) {
    const char sign = line[at + 4];
    const char other = line[at + 2];
    std::optional<double> found;
    if (sign == '-' && line[at + 7] == '-') {
      found = seconds_at(digits(line, at, 4),
                         digits(line, at + 5, 2),
                         digits(line, at + 8, 2),
                         time_of_day(line, at + 11));
    } else if (other == '/' && line[at + 5] == '/') {
      found = seconds_at(digits(line, at + 6, 4),
                         digits(line, at, 2),
                         digits(line, at + 3, 2),
                         time_of_day(line, at + 11));
    }
    if (found) {
      return found;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> step_number(std::string_view line) {
  constexpr std::array<std::string_view, 6> kWords = {
      "global_step=", "global_step:", "iteration:", " iteration ", "steps:", "step:"};
  for (const std::string_view words : kWords) {
    if (const auto number = number_behind(line, words)) {
      return static_cast<std::int64_t>(*number);
    }
  }
  return std::nullopt;
}

// What a program prints once, when it begins.
bool begins_again(std::string_view line) {
  constexpr std::array<std::string_view, 7> kMarks = {"using world size:",
                                                      "num_layers ....",
                                                      "Task Configuration -----",
                                                      "* Experiment configuration *",
                                                      " device mesh with ",
                                                      "DeepSpeedEngine configuration:",
                                                      "]: Config(general="};
  return std::any_of(kMarks.begin(), kMarks.end(), [line](std::string_view mark) {
    return line.find(mark) != std::string_view::npos;
  });
}

struct DatedStep {
  double date = 0.0;
  std::int64_t number = 0;
  double seconds = 0.0;  // of one step
  bool anew = false;     // a restart was printed before it
  SourceLocation where;
};

std::vector<DatedStep> dated_steps(const ConfigFile& file, ConfigFormat format) {
  std::map<int, double> times;
  for (const auto& [line, seconds] : step_lines(file.text, file.name, format)) {
    times[line] = seconds;
  }
  std::vector<DatedStep> steps;
  bool anew = true;  // the next file
  for (const LogLine& line : log_lines(file.text)) {
    anew = anew || begins_again(line.text);
    const auto known = times.find(line.number);
    const auto date = known == times.end() ? std::nullopt : date_of(line.text);
    const auto number = date ? step_number(line.text) : std::nullopt;
    if (number) {
      steps.push_back({*date, *number, known->second, anew, {file.name, line.number, 1}});
      anew = false;
    }
  }
  return steps;
}

// Steps that one line stands for: the commonest difference of their numbers.
std::int64_t interval_of(const std::vector<DatedStep>& steps) {
  std::map<std::int64_t, int> seen;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (!steps[i].anew && steps[i].number > steps[i - 1].number) {
      ++seen[steps[i].number - steps[i - 1].number];
    }
  }
  const auto most = std::max_element(
      seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == seen.end() ? 1 : most->first;
}

}  // namespace

LoggedOutages outages_of_logs(std::span<const ConfigFile> files) {
  std::vector<std::vector<DatedStep>> logs;
  for (const ConfigFile& file : files) {
    const auto format = file.format ? file.format : recognise(file.text);
    if (format && is_log(*format)) {
      logs.push_back(dated_steps(file, *format));
    }
  }
  std::erase_if(logs, [](const std::vector<DatedStep>& steps) { return steps.empty(); });
  std::stable_sort(logs.begin(), logs.end(), [](const auto& a, const auto& b) {
    return a.front().date < b.front().date;
  });
  std::vector<DatedStep> steps;
  for (const std::vector<DatedStep>& log : logs) {
    steps.insert(steps.end(), log.begin(), log.end());
  }
  LoggedOutages found;
  found.dated_steps = steps.size();
  if (steps.empty()) {
    return found;
  }
  const std::int64_t interval = interval_of(steps);
  const auto spent = [interval](const DatedStep& step) {
    return step.seconds * static_cast<double>(interval);
  };
  const double begin = steps.front().date - spent(steps.front());
  found.length = seconds(steps.back().date - begin);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const DatedStep& before = steps[i - 1];
    const DatedStep& step = steps[i];
    if (!step.anew && step.number > before.number) {
      continue;
    }
    found.outages.push_back({seconds(before.date - begin),
                             seconds(std::max(0.0, step.date - spent(step) - before.date)),
                             std::max<std::int64_t>(0, before.number - (step.number - interval)),
                             step.where});
  }
  return found;
}

std::string failure_log_text(const LoggedOutages& found) {
  std::string text =
      "# Restarts of a run, from its logs; their causes are not in them.\n"
      "time_s,cause,outage_s\n";
  for (const LoggedOutage& outage : found.outages) {
    text +=
        fmt::format("{:.0f},restart,{:.0f}\n", in_seconds(outage.after), in_seconds(outage.outage));
  }
  return text;
}

}  // namespace orrery::import_config
