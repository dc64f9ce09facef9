#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/base/text/json_text.hpp"
#include "sim/base/text/text.hpp"
#include "sim/base/units.hpp"
#include "sim/import_config/logs/log_scan.hpp"
#include "sim/import_config/trees/key_fates.hpp"

namespace orrery::import_config {

namespace {

constexpr std::string_view kStep = "step";
constexpr std::string_view kDate = "time_ms";
constexpr std::size_t kLongestHead = 4;  // of a list, before its first object

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
     {kDate, "|_timestamp|timestamp|wall_time|_runtime|"}}};

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

// What a column or a member of an object is; empty: not read.
std::string_view column_of(std::string_view cell) {
  const std::string name = fmt::format("|{}|", plain_name(cell));
  const auto* found = std::find_if(kColumns.begin(), kColumns.end(), [&name](const Column& one) {
    return one.names.find(name) != std::string_view::npos;
  });
  return found == kColumns.end() ? std::string_view() : found->is;
}

// An object of a row, perhaps one of a list; null: none.
Json object_of(std::string_view row) {
  row = orrery::trimmed(row, " \t\r[],");
  Json object = row.starts_with("{") ? Json::parse(row, nullptr, false) : Json();
  return object.is_object() ? std::move(object) : Json();
}

}  // namespace

std::optional<double> csv_number(std::string_view cell) {
  cell = orrery::trimmed(cell, " ");
  double value = 0.0;
  const auto [stop, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc{} && stop == cell.data() + cell.size() && !cell.empty()
             ? std::optional(value)
             : std::nullopt;
}

std::vector<std::string> csv_cells(std::string_view row) {
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

std::optional<MetricsTable> MetricsTable::of(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  constexpr int kRows = 50;  // an object may leave out what it does not change
  text.remove_prefix(text.starts_with(kMark) ? kMark.size() : 0);
  MetricsTable table;
  std::vector<std::string_view> known;
  const auto add = [&known](std::string_view cell) {
    const std::string_view column = column_of(cell);
    const bool is_new = std::find(known.begin(), known.end(), column) == known.end();
    known.push_back(is_new ? column : std::string_view());
  };
  for (std::string_view rest = text; table.objects_ < kRows && !rest.empty();) {
    const Json object = object_of(cut(rest, '\n'));
    if (object.is_null() && (table.objects_ > 0 || rest.data() > text.data() + kLongestHead)) {
      break;
    }
    for (const auto& member : object.items()) {
      add(member.key());
    }
    table.objects_ += object.is_null() ? 0 : 1;
  }
  if (table.objects_ < 2) {
    table.objects_ = 0;
    known.clear();
    for (const std::string& cell : csv_cells(text.substr(0, text.find('\n')))) {
      add(cell);
    }
    table.columns_ = known;
  }
  std::erase_if(known, [](std::string_view is) { return is.empty() || is == "tflops"; });
  const bool steps = std::find(known.begin(), known.end(), kStep) != known.end();
  const bool dates = std::find(known.begin(), known.end(), kDate) != known.end();
  table.timed_ = known.size() > (steps ? 1U : 0U) + (dates ? 1U : 0U);
  table.header_ = table.objects_ == 0;
  return steps && known.size() > 1 ? std::optional(std::move(table)) : std::nullopt;
}

std::vector<MetricsTable::Figure> MetricsTable::figures_of(std::string_view row) const {
  std::vector<Figure> figures;
  if (objects_ > 0) {
    const Json object = object_of(row);
    for (const auto& member : object.items()) {
      const std::string_view column = column_of(member.key());
      if (!column.empty() && member.value().is_number()) {
        figures.emplace_back(column, member.value().get<double>());
      }
    }
    return figures.size() < 2 ? std::vector<Figure>() : figures;  // of other metrics alone
  }
  const std::vector<std::string> cells = csv_cells(row);
  for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i) {
    const auto number = columns_[i].empty() ? std::nullopt : csv_number(cells[i]);
    if (number) {
      figures.emplace_back(columns_[i], *number);
    }
  }
  return figures;
}

std::string MetricsTable::line_of(std::string_view row) {
  const std::vector<Figure> figures = figures_of(row);
  if (objects_ > 0 && figures.empty()) {
    return {};
  }
  std::string line;
  double date = -1.0;
  double step = -1.0;
  for (auto [is, number] : figures) {
    number *= is == kDate ? kKilo : 1.0;
    line += fmt::format("{}\"{}\": {}", line.empty() ? "" : ", ", is, number);
    date = is == kDate ? number : date;
    step = is == kStep ? number : step;
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

std::string MetricsTable::end() { return rest_.empty() ? std::string() : add("\n"); }

}  // namespace orrery::import_config
