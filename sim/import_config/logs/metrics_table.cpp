#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/base/text/text.hpp"
#include "sim/base/units.hpp"
#include "sim/import_config/logs/log_scan.hpp"

namespace orrery::import_config {

namespace {

constexpr std::string_view kStep = "step";
constexpr std::string_view kDate = "time_ms";

struct Column {
  std::string_view is;     // the word before its number in a line
  std::string_view names;  // with bars on both sides
};

constexpr std::array<Column, 7> kColumns = {
    {{kStep, "|step|_step|global_step|iteration|iter|train_step|"},
     {"s",
      "|step_time|step_time_s|iteration_time|iter_time|time_per_step|time_per_iteration|"
      "seconds_per_step|seconds_per_iteration|step_duration|train_step_timing|"
      "train_step_timing_in_s|iteration_time_s|"},
     {"ms",
      "|step_time_ms|iteration_time_ms|iter_time_ms|time_per_step_ms|ms_per_step|"
      "elapsed_time_per_iteration_ms|"},
     {"tokens/s", "|tokens_per_second|tokens_per_sec|tokens_s|train_tokens_per_second|"},
     {"tokens/s/gpu", "|tokens_per_second_per_gpu|tokens_per_sec_per_gpu|tps|tgs|"},
     {"tflops", "|tflops|tflops_per_gpu|tflop_s_gpu|"},
     {kDate, "|_timestamp|timestamp|wall_time|"}}};

// "my run - perf/Step time" as step_time.
std::string plain_name(std::string_view cell) {
  for (const std::string_view mark : {"/", " - "}) {
    const std::size_t at = cell.rfind(mark);
    cell.remove_prefix(at == std::string_view::npos ? 0 : at + mark.size());
  }
  std::string name = lower_case(cell);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '-' || c == '.'; }, '_');
  return name;
}

// Cells of a row; quotes go, and commas inside them part nothing.
std::vector<std::string> cells_of(std::string_view row) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : row) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

std::optional<double> number_of(std::string_view cell) {
  cell = orrery::trimmed(cell, " ");
  double value = 0.0;
  const auto [stop, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc{} && stop == cell.data() + cell.size() && !cell.empty()
             ? std::optional(value)
             : std::nullopt;
}

}  // namespace

std::optional<MetricsTable> MetricsTable::of(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  text.remove_prefix(text.starts_with(kMark) ? kMark.size() : 0);
  MetricsTable table;
  bool steps = false;
  bool timed = false;
  for (const std::string& cell : cells_of(text.substr(0, text.find('\n')))) {
    const std::string name = fmt::format("|{}|", plain_name(cell));
    const auto* column = std::find_if(kColumns.begin(), kColumns.end(), [&](const Column& one) {
      return one.names.find(name) != std::string_view::npos;
    });
    const bool known =
        column != kColumns.end() &&
        std::find(table.columns_.begin(), table.columns_.end(), column->is) == table.columns_.end();
    table.columns_.push_back(known ? column->is : std::string_view());
    steps = steps || (known && column->is == kStep);
    timed = timed || (known && column->is != kStep && column->is != "tflops");
    table.timed_ = table.timed_ ||
                   (known && column->is != kStep && column->is != "tflops" && column->is != kDate);
  }
  return steps && timed ? std::optional(std::move(table)) : std::nullopt;
}

std::string MetricsTable::line_of(std::string_view row) {
  const std::vector<std::string> cells = cells_of(row);
  std::string line;
  double date = -1.0;
  double step = -1.0;
  for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i) {
    const auto number = columns_[i].empty() ? std::nullopt : number_of(cells[i]);
    if (number) {
      line += fmt::format("{}\"{}\": {}",
                          line.empty() ? "" : ", ",
                          columns_[i],
                          columns_[i] == kDate ? *number * kKilo : *number);
      date = columns_[i] == kDate ? *number * kKilo : date;
      step = columns_[i] == kStep ? *number : step;
    }
  }
  if (!timed_ && date > date_ && date_ >= 0.0 && step > step_) {
    line += fmt::format(", \"s\": {}", (date - date_) / kKilo / (step - step_));
  }
  date_ = date;
  step_ = step;
  return line;
}

std::string MetricsTable::add(std::string_view block) {
  rest_ += block;
  std::string lines;
  std::size_t at = 0;
  for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', at)) {
    lines += header_ ? std::string() : line_of(std::string_view(rest_).substr(at, end - at));
    lines += '\n';
    header_ = false;
    at = end + 1;
  }
  rest_.erase(0, at);
  return lines;
}

std::string MetricsTable::end() {
  return rest_.empty() ? std::string() : add("\n");
}

}  // namespace orrery::import_config
