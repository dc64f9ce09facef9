#include "sim/import_config/logs/log_outages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/logs/log_scan.hpp"
#include "sim/import_config/logs/training_log.hpp"

namespace orrery::import_config {

namespace {

// Dates are in whole seconds, and no job is begun again as quickly.
constexpr double kSlack = 2.0;

struct DatedStep {
  double date = 0.0;
  std::int64_t number = 0;
  double seconds = 0.0;  // of one step
  std::size_t writer = 0;
  bool anew = false;  // a restart was printed before it
  const std::string* file = nullptr;
  int line = 0;

  [[nodiscard]] SourceLocation where() const { return {*file, line, 1}; }
};

using Writers = std::map<std::pair<std::string, std::string>, std::size_t>;  // file, name

std::vector<DatedStep> dated_steps(const ScannedLog& log, const std::string& file,
                                   Writers& writers) {
  constexpr std::int64_t kSecond = 1000;
  const std::vector<double> seconds = seconds_of_steps(log);
  std::vector<DatedStep> steps;
  bool anew = false;
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    const ScannedStep& step = log.steps[i];
    anew = anew || step.anew;
    if (step.date == kNoDate || step.number < 0) {
      continue;
    }
    const std::size_t writer =
        writers.emplace(std::pair(file, log.writers[step.writer]), writers.size()).first->second;
    steps.push_back({static_cast<double>(step.date / kSecond), step.number, seconds[i], writer,
                     anew, &file, step.line});
    anew = false;
  }
  return steps;
}

// Steps that are done again, of each writer by itself.
std::size_t descents_of(const std::vector<DatedStep>& steps) {
  std::map<std::size_t, std::int64_t> last;
  std::size_t descents = 0;
  for (const DatedStep& step : steps) {
    const auto [place, added] = last.emplace(step.writer, step.number);
    descents += !added && step.number < place->second ? 1U : 0U;
    place->second = step.number;
  }
  return descents;
}

// Collectors of logs, and `sort`, mix lines. Where the dates say an order in which fewer steps are
// done again, it is that of the run. A restart that was printed stays where all lines before it are
// older than all behind it.
void put_in_order(std::vector<DatedStep>& steps) {
  double newest = -std::numeric_limits<double>::infinity();
  std::vector<DatedStep> sorted = steps;
  for (DatedStep& step : sorted) {
    step.anew = step.anew && step.date >= newest;
    newest = std::max(newest, step.date);
  }
  double oldest = std::numeric_limits<double>::infinity();
  for (auto step = sorted.rbegin(); step != sorted.rend(); ++step) {
    oldest = std::min(oldest, step->date);
    step->anew = step->anew && step->date <= oldest;
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const DatedStep& a, const DatedStep& b) {
    return std::pair(a.date, a.number) < std::pair(b.date, b.number);
  });
  if (descents_of(sorted) >= descents_of(steps)) {
    return;
  }
  steps = std::move(sorted);
}

// Steps that go on without a pause, as one rank has printed them.
struct Stretch {
  DatedStep first;
  DatedStep last;
  double shift = 0.0;  // by which a clock was set back before

  // When its first step began at the latest.
  [[nodiscard]] double begin() const { return first.date - first.seconds; }
};

// The stretches of one log. Several ranks may write one log, with or without their names: a step
// that was before belongs to another rank, or is done again; whichever it is, a stretch begins.
class Stretches {
 public:
  explicit Stretches(std::vector<SourceLocation>& set_back) : set_back_(set_back) {}

  void add(const DatedStep& step) {
    if (step.anew) {
      open_.clear();
    }
    if (const auto place = continued_by(step)) {
      continue_at(*place, step);
    } else {
      begin_with(step);
    }
  }

  [[nodiscard]] std::vector<Stretch> take() { return std::move(stretches_); }

 private:
  [[nodiscard]] bool in_time(const Stretch& stretch, const DatedStep& step) const {
    return step.date + stretch.shift >= stretch.last.date - kSlack;
  }

  // The place in open_ of the latest stretch that the step may continue; of one with a later date
  // where there is no other.
  [[nodiscard]] std::optional<std::size_t> continued_by(const DatedStep& step) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const Stretch& stretch = stretches_[open_[i]];
      if (stretch.last.writer == step.writer && stretch.last.number < step.number &&
          (!best || std::pair(in_time(stretch, step), stretch.last.date) >
                        std::pair(in_time(stretches_[open_[*best]], step),
                                  stretches_[open_[*best]].last.date))) {
        best = i;
      }
    }
    return best;
  }

  void continue_at(std::size_t place, const DatedStep& step) {
    Stretch& stretch = stretches_[open_[place]];
    const DatedStep last = stretch.last;
    const double expected = static_cast<double>(step.number - last.number) * step.seconds;
    if (!in_time(stretch, step)) {
      set_back_.push_back(step.where());
      stretch.shift = last.date + expected - step.date;
    }
    DatedStep now = step;
    now.date = std::max(now.date + stretch.shift, last.date);
    if (now.date - last.date > expected + step.seconds + kSlack) {
      open_[place] = stretches_.size();
      stretches_.push_back({now, now, stretch.shift});
    } else {
      stretch.last = now;
    }
  }

  void begin_with(const DatedStep& step) {
    Stretch begun{step, step, 0.0};
    bool idle = true;
    for (const std::size_t i : open_) {
      const Stretch& stretch = stretches_[i];
      if (stretch.last.writer == step.writer && step.date >= stretch.last.date - stretch.shift) {
        begun.shift = std::max(begun.shift, stretch.shift);
      }
    }
    begun.first.date = begun.last.date = step.date + begun.shift;
    for (const std::size_t i : open_) {
      idle = idle && stretches_[i].last.date + kSlack < begun.begin();
    }
    if (idle) {
      open_.clear();  // begun again: nothing of before goes on
    }
    open_.push_back(stretches_.size());
    stretches_.push_back(begun);
  }

  std::vector<SourceLocation>& set_back_;
  std::vector<Stretch> stretches_;
  std::vector<std::size_t> open_;
};

// What ran at one time, from a begin of the job to its end.
struct Life {
  std::vector<Stretch> stretches;
  DatedStep first;  // by date
  DatedStep last;
  std::int64_t highest = 0;

  void add(const Stretch& stretch) {
    first = stretches.empty() || stretch.first.date < first.date ? stretch.first : first;
    last = stretches.empty() || stretch.last.date > last.date ? stretch.last : last;
    highest = stretches.empty() ? stretch.last.number : std::max(highest, stretch.last.number);
    stretches.push_back(stretch);
  }
};

std::vector<Life> lives_of(std::vector<Stretch> stretches, std::int64_t interval) {
  std::stable_sort(stretches.begin(), stretches.end(),
                   [](const Stretch& a, const Stretch& b) { return a.begin() < b.begin(); });
  std::vector<Life> at_once;
  for (const Stretch& stretch : stretches) {
    if (at_once.empty() || stretch.begin() > at_once.back().last.date + kSlack) {
      at_once.emplace_back();
    }
    at_once.back().add(stretch);
  }
  std::vector<Life> lives;
  for (Life& next : at_once) {
    const bool goes_on =
        !lives.empty() &&
        std::all_of(next.stretches.begin(), next.stretches.end(), [&](const Stretch& stretch) {
          const double pause = stretch.first.date - lives.back().last.date -
                               stretch.first.seconds * static_cast<double>(interval);
          return stretch.first.number > lives.back().highest &&
                 (!stretch.first.anew || pause <= kSlack);
        });
    if (!goes_on) {
      lives.push_back(std::move(next));
      continue;
    }
    for (const Stretch& stretch : next.stretches) {
      lives.back().add(stretch);
    }
  }
  return lives;
}

// The last step before and the first one after a restart, of one clock where there is one: that of
// the writer who came furthest, and back soonest.
std::pair<DatedStep, DatedStep> around(const Life& before, const Life& after) {
  const auto ends_of = [](const Life& life, bool last) {
    std::map<std::size_t, DatedStep> ends;
    for (const Stretch& stretch : life.stretches) {
      const DatedStep& step = last ? stretch.last : stretch.first;
      const auto [place, added] = ends.emplace(step.writer, step);
      if (!added && (last ? step.date > place->second.date : step.date < place->second.date)) {
        place->second = step;
      }
    }
    return ends;
  };
  const std::map<std::size_t, DatedStep> ends = ends_of(before, true);
  const DatedStep* furthest = nullptr;
  const DatedStep* next = nullptr;
  const std::map<std::size_t, DatedStep> begins = ends_of(after, false);
  for (const auto& [writer, begin] : begins) {
    const auto end = ends.find(writer);
    if (end != ends.end() &&
        (furthest == nullptr || std::pair(end->second.number, -begin.number) >
                                    std::pair(furthest->number, -next->number))) {
      furthest = &end->second;
      next = &begin;
    }
  }
  return furthest == nullptr ? std::pair(before.last, after.first) : std::pair(*furthest, *next);
}

}  // namespace

LoggedOutages outages_of_logs(std::span<const ConfigFile> files) {
  LoggedOutages found;
  Writers writers;
  std::vector<std::vector<DatedStep>> logs;
  std::map<std::int64_t, DatedStep> kept;
  std::set<std::int64_t> numbers;
  std::int64_t interval = 0;
  for (const ConfigFile& file : files) {
    if (const auto log = log_of(file)) {
      interval = std::max(interval, log->interval);
      logs.push_back(dated_steps(*log, file.name, writers));
      put_in_order(logs.back());
      found.dated_steps += logs.back().size();
      for (const DatedStep& step : logs.back()) {
        numbers.insert(step.number);
        const auto [last, fresh] = kept.try_emplace(step.number, step);
        if (!fresh && step.date > last->second.date) {
          last->second = step;
        }
      }
    }
  }
  if (found.dated_steps == 0) {
    return found;
  }
  interval = interval > 0 ? interval : interval_of(std::move(numbers));
  found.interval = interval;
  for (const auto& [number, step] : kept) {
    found.kept.push_back({number, step.seconds, step.line});
  }
  std::vector<Stretch> stretches;
  for (const std::vector<DatedStep>& log : logs) {
    Stretches of_log(found.set_back);
    for (const DatedStep& step : log) {
      of_log.add(step);
    }
    const std::vector<Stretch> more = of_log.take();
    stretches.insert(stretches.end(), more.begin(), more.end());
  }
  const std::vector<Life> lives = lives_of(std::move(stretches), interval);
  const auto spent = [interval](const DatedStep& step) {
    return step.seconds * static_cast<double>(interval);
  };
  const double begin = lives.front().first.date - spent(lives.front().first);
  found.length = seconds(lives.back().last.date - begin);
  for (std::size_t i = 1; i < lives.size(); ++i) {
    const auto [before, step] = around(lives[i - 1], lives[i]);
    found.outages.push_back({seconds(std::max(0.0, before.date - begin)),
                             seconds(std::max(0.0, step.date - spent(step) - before.date)),
                             std::max<std::int64_t>(0, before.number - (step.number - interval)),
                             step.where(), step.number, lives[i].first.anew});
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

std::optional<std::int64_t> date_at(std::optional<int> year, std::optional<int> month,
                                    std::optional<int> day, std::optional<std::int64_t> time) {
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
      found = date_at(digits(line, at, 4), digits(line, at + 5, 2), digits(line, at + 8, 2),
                      time_of_day(line, at + 11));
    } else if (other == '/' && line[at + 5] == '/') {
      found = date_at(digits(line, at + 6, 4), digits(line, at, 2), digits(line, at + 3, 2),
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
