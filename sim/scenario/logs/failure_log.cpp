#include "sim/scenario/logs/failure_log.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "sim/base/text/text.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/scalar.hpp"

namespace orrery::scenario {

namespace {

constexpr std::string_view kKey = "failures.log";
constexpr std::string_view kColumns =
    "time, time_s, time_h, time_d or timestamp; cause; nodes; outage, outage_s, outage_min or "
    "outage_h";
const Seconds kLatest = days(25'000.0);

struct LogField {
  std::string text;
  int column = 0;  // 1-based
};

enum class Role { time, timestamp, cause, nodes, outage };

struct Column {
  std::string_view name;
  Role role;
  std::optional<Seconds> unit;  // of a bare number; absent: the field states it
};

const std::array<Column, 11>& known_columns() {
  static const std::array<Column, 11> columns = {{{"time", Role::time, std::nullopt},
                                                  {"time_s", Role::time, seconds(1.0)},
                                                  {"time_h", Role::time, hours(1.0)},
                                                  {"time_d", Role::time, days(1.0)},
                                                  {"timestamp", Role::timestamp, std::nullopt},
                                                  {"cause", Role::cause, std::nullopt},
                                                  {"nodes", Role::nodes, std::nullopt},
                                                  {"outage", Role::outage, std::nullopt},
                                                  {"outage_s", Role::outage, seconds(1.0)},
                                                  {"outage_min", Role::outage, minutes(1.0)},
                                                  {"outage_h", Role::outage, hours(1.0)}}};
  return columns;
}

bool is_known(std::string_view name) {
  const auto& known = known_columns();
  return std::ranges::any_of(known, [name](const Column& column) { return column.name == name; });
}

// Commas separate fields, unless they stand in double quotes.
std::vector<LogField> split(std::string_view line) {
  std::vector<LogField> fields;
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') {
      quoted = !quoted;
    }
    if (i == line.size() || (line[i] == ',' && !quoted)) {
      std::string_view text = trimmed(line.substr(begin, i - begin));
      if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
        text = text.substr(1, text.size() - 2);
      }
      fields.push_back({std::string(text), static_cast<int>(begin) + 1});
      begin = i + 1;
    }
  }
  return fields;
}

class LogReader {
 public:
  LogReader(std::string file, std::optional<std::int64_t> start, Diagnostics& diagnostics)
      : file_(std::move(file)), start_(start), diagnostics_(diagnostics) {}

  bool read(std::string_view text) {
    while (!text.empty() && problems_ < kMostProblems) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++line_;
      const std::string_view content = trimmed(line);
      if (content.empty() || content.front() == '#') {
        continue;
      }
      if (columns_.empty()) {
        read_header(split(line));
        if (problems_ > 0) {
          return false;
        }
      } else {
        read_line(split(line));
      }
    }
    if (columns_.empty()) {
      line_ = 0;
      error(0, "has no header line", kColumns);
    }
    return problems_ == 0;
  }

  std::vector<run::LoggedFailure> take() { return std::move(failures_); }

 private:
  static constexpr int kMostProblems = 20;

  void error(int column, std::string_view message, std::string_view allowed = {}) {
    ++problems_;
    diagnostics_.error({file_, line_, column}, kKey, message, allowed);
  }

  void read_header(const std::vector<LogField>& fields) {
    const bool is_log =
        std::ranges::any_of(fields, [](const LogField& field) { return is_known(field.text); });
    if (!is_log) {  // nothing of it is quoted: the file may be a secret
      error(1, "is no log of failures: its first line names none of the columns", kColumns);
      return;
    }
    int times = 0;
    int causes = 0;
    for (const LogField& field : fields) {
      const auto& known = known_columns();
      const auto found = std::ranges::find(known, field.text, &Column::name);
      const bool twice =
          found != known.end() && std::ranges::any_of(columns_, [&](const Column& column) {
            return column.role == found->role;
          });
      if (found == known.end() || twice) {
        error(field.column,
              fmt::format("{} {}", yaml::display(field.text),
                          twice ? "says it again" : "is no column"),
              kColumns);
        return;
      }
      times += found->role == Role::time || found->role == Role::timestamp ? 1 : 0;
      causes += found->role == Role::cause ? 1 : 0;
      columns_.push_back(*found);
    }
    if (times != 1 || causes != 1) {
      error(1, "needs one column of time and the column cause", kColumns);
    }
  }

  void read_line(const std::vector<LogField>& fields) {
    if (fields.size() != columns_.size()) {
      error(1, fmt::format("has {} fields where {} are needed", fields.size(), columns_.size()));
      return;
    }
    run::LoggedFailure failure;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      read_field(fields[i], columns_[i], failure);
    }
    failures_.push_back(std::move(failure));
  }

  void read_field(const LogField& field, const Column& column, run::LoggedFailure& failure) {
    switch (column.role) {
      case Role::time:
        if (const auto time = time_of(field, column)) {
          failure.at = *time;
        }
        break;
      case Role::timestamp:
        read_date(field, failure);
        break;
      case Role::cause:
        if (field.text.empty()) {
          error(field.column, "the cause has no name");
        }
        failure.cause = field.text;
        break;
      case Role::nodes:
        read_nodes(field, failure);
        break;
      case Role::outage:
        if (!field.text.empty()) {
          failure.outage = time_of(field, column);
        }
        break;
    }
  }

  // A field of time; a negative or endless one is an error.
  std::optional<Seconds> time_of(const LogField& field, const Column& column) {
    std::optional<Seconds> time;
    std::string allowed;
    if (column.unit) {
      const auto number = yaml::parse_number(field.text);
      if (number.value) {
        time = *number.value * *column.unit;
      }
      allowed = "a number of at least 0, below 25,000 days";
    } else {
      time = yaml::parse_time(field.text).value;
      allowed = "a time such as 12.5h, from 0 s to 25,000 d";
    }
    if (!time || !(*time >= Seconds{}) || !(*time <= kLatest)) {
      error(field.column, fmt::format("{} is no {}", yaml::display(field.text), column.name),
            allowed);
      return std::nullopt;
    }
    return time;
  }

  void read_date(const LogField& field, run::LoggedFailure& failure) {
    if (!start_) {
      error(field.column, "a timestamp needs training.start", "time_h, or training.start");
      return;
    }
    const auto date = yaml::parse_date_time(field.text);
    if (!date.value) {
      error(field.column, date.message, date.allowed);
      return;
    }
    const std::int64_t since = date.value->unix_seconds - *start_;
    if (since < 0 || seconds(static_cast<double>(since)) > kLatest) {
      error(field.column, fmt::format("{} lies outside the run", yaml::display(field.text)),
            "from training.start on");
      return;
    }
    failure.at = seconds(static_cast<double>(since));
  }

  void read_nodes(const LogField& field, run::LoggedFailure& failure) {
    if (field.text.empty()) {
      return;
    }
    const auto count = yaml::parse_count(field.text);
    if (!count.value || *count.value < 0) {
      error(field.column, fmt::format("{} is no number of nodes", yaml::display(field.text)),
            "a whole number of at least 0");
      return;
    }
    failure.nodes = *count.value;
  }

  std::string file_;
  std::optional<std::int64_t> start_;
  Diagnostics& diagnostics_;
  std::vector<Column> columns_;
  std::vector<run::LoggedFailure> failures_;
  int line_ = 0;
  int problems_ = 0;
};

}  // namespace

std::optional<std::vector<run::LoggedFailure>> read_failure_log(std::string_view text,
                                                                const std::string& file,
                                                                std::optional<std::int64_t> start,
                                                                Diagnostics& diagnostics) {
  LogReader reader(file, start, diagnostics);
  if (!reader.read(text)) {
    return std::nullopt;
  }
  return reader.take();
}

}  // namespace orrery::scenario
