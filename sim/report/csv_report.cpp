#include "sim/report/csv_report.hpp"

#include <fmt/core.h>

#include <cmath>

#include "sim/report/escape.hpp"
#include "sim/report/ledger_rows.hpp"
#include "sim/report/metric_band.hpp"
#include "sim/report/printed_quantiles.hpp"

namespace orrery::report {

namespace {

std::string cell(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : std::string();
}

void add_line(std::string& table, const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    table += i == 0 ? "" : ",";
    table += cells[i];
  }
  table += '\n';
}

void add_ledger(std::string& table, std::string_view name, const std::vector<LedgerRow>& rows) {
  for (const LedgerRow& row : rows) {
    add_line(table,
             {csv_cell(name),
              csv_cell(row.category),
              cell(in_seconds(row.gpu_time)),
              cell(row.share),
              row.dollars ? cell(in_dollars(*row.dollars)) : std::string()});
  }
}

}  // namespace

std::string metrics_csv(const Evaluation& evaluation) {
  std::string table;
  add_line(
      table,
      {"metric", "value", "p10", "p50", "p90", "ci95_low", "ci95_high", "band_low", "band_high"});
  for (const MetricInfo& metric : metric_registry()) {
    const MetricValue* value = evaluation.metrics.find(metric.id);
    if (value == nullptr) {
      continue;
    }
    std::vector<std::string> cells = {csv_cell(metric.json_key), cell(value->value)};
    if (value->trials) {
      const run::Interval interval = value->trials->ci95_of_quantile(kMedian);
      for (const double x : {value->trials->quantile(kLowQuantile),
                             value->trials->quantile(kMedian),
                             value->trials->quantile(kHighQuantile),
                             interval.low,
                             interval.high}) {
        cells.push_back(cell(x));
      }
    } else {
      constexpr std::size_t kEmpty = 5;
      cells.resize(cells.size() + kEmpty);
    }
    const auto band = metric_band(evaluation, metric.id);
    cells.push_back(band ? cell(band->low) : std::string());
    cells.push_back(band ? cell(band->high) : std::string());
    add_line(table, cells);
  }
  return table;
}

std::string ledger_csv(const Evaluation& evaluation) {
  std::string table;
  add_line(table, {"ledger", "category", "gpu_s", "share", "usd"});
  add_ledger(table, "step", step_ledger_rows(evaluation));
  add_ledger(table, "run", run_ledger_rows(evaluation));
  return table;
}

std::string memory_csv(const Evaluation& evaluation) {
  std::string table;
  std::vector<std::string> header = {"stage", "peak_bytes", "limit_bytes"};
  for (const MemoryTerm& term : memory_terms({})) {
    header.push_back(fmt::format("{}_bytes", term.name));
  }
  add_line(table, header);
  for (std::size_t i = 0; i < evaluation.step.memory.size(); ++i) {
    const step::StageMemory& stage = evaluation.step.memory[i];
    std::vector<std::string> cells = {
        fmt::format("{}", i), cell(in_bytes(stage.peak())), cell(in_bytes(stage.limit))};
    for (const MemoryTerm& term : memory_terms(stage)) {
      cells.push_back(cell(in_bytes(term.value)));
    }
    add_line(table, cells);
  }
  return table;
}

}  // namespace orrery::report
