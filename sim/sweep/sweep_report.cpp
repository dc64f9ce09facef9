#include "sim/sweep/sweep_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/base/format.hpp"
#include "sim/base/json_text.hpp"
#include "sim/report/escape.hpp"

namespace orrery::sweep {

namespace {

using Json = nlohmann::ordered_json;
using report::MetricId;
using report::OperandKind;

Json metrics_json(const Sweep& sweep, const PointResult& result) {
  Json metrics = Json::object();
  for (std::size_t i = 0; i < result.cells.size(); ++i) {
    if (result.cells[i]) {
      metrics[sweep.columns[i].name] = *result.cells[i];
    }
  }
  return metrics;
}

bool varies(const std::vector<PointResult>& results, std::size_t column) {
  std::set<double> values;
  for (const PointResult& result : results) {
    if (column < result.cells.size() && result.cells[column]) {
      values.insert(*result.cells[column]);
    }
  }
  return values.size() > 1 || (values.size() == 1 && results.size() == 1);
}

// What a first look asks for, where nobody chose the metrics.
bool is_headline(const Column& column) {
  if (column.operand.kind == OperandKind::probability) {
    return true;
  }
  constexpr std::array<MetricId, 9> kHeadlines = {MetricId::step_time,
                                                  MetricId::mfu,
                                                  MetricId::memory_headroom,
                                                  MetricId::finish_time,
                                                  MetricId::tokens_trained,
                                                  MetricId::goodput,
                                                  MetricId::cost,
                                                  MetricId::cost_per_million_tokens,
                                                  MetricId::failures};
  const bool known =
      std::find(kHeadlines.begin(), kHeadlines.end(), column.operand.metric) != kHeadlines.end();
  return known && column.operand.kind != OperandKind::quantile;
}

// The figures of the text table: those chosen, or the headlines, where they differ.
std::vector<std::size_t> shown_columns(const Sweep& sweep,
                                       const std::vector<PointResult>& results) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < sweep.columns.size(); ++i) {
    if (!sweep.all_metrics || (is_headline(sweep.columns[i]) && varies(results, i))) {
      shown.push_back(i);
    }
  }
  return shown;
}

std::string status_line(const std::vector<PointResult>& results) {
  std::array<std::size_t, kStatusNames.size()> counts{};
  for (const PointResult& result : results) {
    ++counts[static_cast<std::size_t>(result.status)];
  }
  std::string line =
      fmt::format("{} points", format_integer(static_cast<std::int64_t>(results.size())));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0 && (i > 0 || counts[i] < results.size())) {
      line += fmt::format(", {} {}", counts[i], kStatusNames[i]);
    }
  }
  return line;
}

}  // namespace

std::string figure_text(const Column& column, const std::optional<double>& value) {
  return value ? report::format_value(report::dimension_of(column.operand), *value) : "-";
}

std::string to_csv(const Sweep& sweep, const std::vector<PointResult>& results) {
  std::string table = "point";
  for (const Axis& axis : sweep.axes) {
    table += "," + report::csv_cell(axis.key.path);
  }
  table += ",status,reason";
  for (const Column& column : sweep.columns) {
    table += "," + report::csv_cell(column.name);
  }
  table += "\n";
  for (std::size_t i = 0; i < results.size(); ++i) {
    table += std::to_string(i + 1);
    for (const std::string& value : sweep.points[i]) {
      table += "," + report::csv_cell(value);
    }
    table +=
        fmt::format(",{},{}", to_string(results[i].status), report::csv_cell(results[i].reason));
    for (std::size_t j = 0; j < sweep.columns.size(); ++j) {
      const auto& cells = results[i].cells;
      table += j < cells.size() && cells[j] ? fmt::format(",{}", *cells[j]) : ",";
    }
    table += "\n";
  }
  return table;
}

std::string to_json(const Sweep& sweep, const std::vector<PointResult>& results) {
  Json keys = Json::array();
  for (const Axis& axis : sweep.axes) {
    keys.push_back(axis.key.path);
  }
  Json points = Json::array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    Json values = Json::object();
    for (std::size_t j = 0; j < sweep.axes.size(); ++j) {
      values[sweep.axes[j].key.path] = sweep.points[i][j];
    }
    points.push_back({{"point", i + 1},
                      {"values", std::move(values)},
                      {"status", to_string(results[i].status)},
                      {"reason", results[i].reason},
                      {"metrics", metrics_json(sweep, results[i])}});
  }
  const Json out = {{"schema", kResultSchema},
                    {"scenario", {{"file", sweep.base.file()}, {"sha256", sweep.base.sha256()}}},
                    {"keys", std::move(keys)},
                    {"points", std::move(points)}};
  return json_text(out);
}

std::string to_text(const TextTable& table, const report::TextPage& page) {
  std::vector<std::size_t> widths;
  std::size_t total = 0;
  std::size_t columns = 0;
  constexpr std::size_t kGap = 2;
  for (std::size_t j = 0; j < table.heads.size(); ++j) {
    std::size_t width = report::text_columns(table.heads[j]);
    for (const auto& row : table.rows) {
      width = std::max(width, j < row.size() ? report::text_columns(row[j]) : 0);
    }
    total += width + (j == 0 ? 0 : kGap);
    if (j > 0 && total > report::kPageWidth) {
      break;
    }
    widths.push_back(width);
    ++columns;
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t j = 0; j < std::min(columns, cells.size()); ++j) {
      text += j == 0 ? "" : std::string(kGap, ' ');
      text += j < table.left ? report::pad_right(cells[j], widths[j])
                             : report::pad_left(cells[j], widths[j]);
    }
    const std::size_t end = text.find_last_not_of(' ');
    return text.substr(0, end == std::string::npos ? 0 : end + 1);
  };
  std::string text = page.paint(report::Ink::faint, line(table.heads)) + "\n";
  for (const auto& row : table.rows) {
    text += line(row) + "\n";
  }
  return text;
}

std::string to_text(const Sweep& sweep,
                    const std::vector<PointResult>& results,
                    report::TextStyle style) {
  const report::TextPage page(style);
  TextTable table;
  for (const Axis& axis : sweep.axes) {
    table.heads.push_back(axis.key.path);
  }
  table.left = 0;
  const std::vector<std::size_t> shown = shown_columns(sweep, results);
  for (const std::size_t column : shown) {
    table.heads.push_back(sweep.columns[column].title);
  }
  const bool all_ok = std::all_of(results.begin(), results.end(), [](const PointResult& result) {
    return result.status == Status::ok;
  });
  if (!all_ok) {
    table.heads.insert(table.heads.begin() + static_cast<std::ptrdiff_t>(sweep.axes.size()),
                       "status");
  }
  std::string reasons;
  std::set<std::string> known;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::vector<std::string> row;
    for (const std::string& value : sweep.points[i]) {
      row.push_back(report::printable(value));
    }
    if (!all_ok) {
      row.emplace_back(to_string(results[i].status));
    }
    for (const std::size_t column : shown) {
      const auto& cells = results[i].cells;
      row.push_back(
          figure_text(sweep.columns[column], column < cells.size() ? cells[column] : std::nullopt));
    }
    table.rows.push_back(std::move(row));
    if (results[i].status != Status::ok && known.insert(results[i].reason).second) {
      constexpr std::size_t kMostReasons = 10;
      reasons += known.size() > kMostReasons ? ""
                                             : fmt::format("{}: {}\n",
                                                           to_string(results[i].status),
                                                           report::printable(results[i].reason));
    }
  }
  return to_text(table, page) + "\n" + status_line(results) + "\n" + reasons;
}

}  // namespace orrery::sweep
