#include "sim/answer/sweep/sweep_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "sim/answer/report/table.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"

namespace orrery::sweep {

namespace {

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
  const bool known = std::ranges::find(kHeadlines, column.operand.metric) != kHeadlines.end();
  return known && column.operand.kind != OperandKind::quantile;
}

// The values of the keys, the status and the reason where they are asked for, and the figures: all,
// or those chosen, or the headlines where they differ.
report::Table table_of(const Sweep& sweep, const std::vector<PointResult>& results, bool status,
                       bool all) {
  report::Table table;
  for (const Axis& axis : sweep.axes) {
    table.columns.push_back({axis.key.path, axis.key.path});
  }
  if (status) {
    table.columns.push_back({"status", "status"});
  }
  if (all) {
    table.columns.push_back({"reason", "reason"});
  }
  std::vector<std::size_t> figures;
  for (std::size_t i = 0; i < sweep.columns.size(); ++i) {
    const Column& column = sweep.columns[i];
    if (all || !sweep.all_metrics || (is_headline(column) && varies(results, i))) {
      figures.push_back(i);
      table.columns.push_back({column.name, column.title, report::dimension_of(column.operand)});
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto& row = table.rows.emplace_back(sweep.points[i].begin(), sweep.points[i].end());
    if (status) {
      row.emplace_back(std::string(to_string(results[i].status)));
    }
    if (all) {
      row.emplace_back(results[i].reason);
    }
    for (const std::size_t figure : figures) {
      const auto& cells = results[i].cells;
      row.push_back(figure < cells.size() && cells[figure] ? report::Cell(*cells[figure])
                                                           : report::Cell());
    }
  }
  return table;
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

std::string to_csv(const Sweep& sweep, const std::vector<PointResult>& results) {
  report::Table table = table_of(sweep, results, true, true);
  table.columns.insert(table.columns.begin(), {"point"});
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    table.rows[i].insert(table.rows[i].begin(), static_cast<double>(i + 1));
  }
  return report::to_csv(table);
}

std::string to_json(const Sweep& sweep, const std::vector<PointResult>& results) {
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
  return json_text({{"schema", kResultSchema},
                    {"scenario", {{"file", sweep.base.file()}, {"sha256", sweep.base.sha256()}}},
                    {"keys", json_list(sweep.axes, [](const Axis& axis) { return axis.key.path; })},
                    {"points", std::move(points)}});
}

std::string to_text(const Sweep& sweep, const std::vector<PointResult>& results,
                    report::TextStyle style) {
  std::string reasons;
  std::set<std::string> known;
  bool all_ok = true;
  for (const PointResult& result : results) {
    all_ok = all_ok && result.status == Status::ok;
    if (result.status != Status::ok && known.insert(result.reason).second) {
      constexpr std::size_t kMostReasons = 10;
      reasons += known.size() > kMostReasons ? ""
                                             : fmt::format("{}: {}\n", to_string(result.status),
                                                           report::printable(result.reason));
    }
  }
  report::Table table = table_of(sweep, results, !all_ok, false);
  table.left = 0;
  return report::to_text(table, report::TextPage(style)) + "\n" + status_line(results) + "\n" +
         reasons;
}

}  // namespace orrery::sweep
