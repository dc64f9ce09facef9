#include "sim/answer/report/files/csv_report.hpp"

#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/picture/roofline.hpp"
#include "sim/answer/report/table.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/answer/report/text/printed_quantiles.hpp"

namespace orrery::report {

std::string metrics_csv(const Evaluation& evaluation) {
  Table table = table_of(
      {"metric", "value", "p10", "p50", "p90", "ci95_low", "ci95_high", "band_low", "band_high"});
  for (const MetricInfo& metric : metric_registry()) {
    const MetricValue* value = evaluation.metrics.find(metric.id);
    if (value == nullptr) {
      continue;
    }
    auto& row =
        table.rows.emplace_back(std::vector<Cell>{std::string(metric.json_key), value->value});
    if (value->trials) {
      const run::Interval interval = value->trials->ci95_of_quantile(kMedian);
      row.insert(row.end(),
                 {value->trials->quantile(kLowQuantile), value->trials->quantile(kMedian),
                  value->trials->quantile(kHighQuantile), interval.low, interval.high});
    }
    row.resize(table.columns.size() - 2);
    const auto band = metric_band(evaluation, metric.id);
    row.push_back(band ? Cell(band->low) : Cell());
    row.push_back(band ? Cell(band->high) : Cell());
  }
  return to_csv(table);
}

std::string ledger_csv(const Evaluation& evaluation) {
  Table table = table_of({"ledger", "category", "gpu_s", "share", "usd"});
  const auto add = [&table](const char* name, const std::vector<LedgerRow>& rows) {
    for (const LedgerRow& row : rows) {
      table.rows.push_back({name, std::string(row.category), in_seconds(row.gpu_time), row.share,
                            row.dollars ? Cell(in_dollars(*row.dollars)) : Cell()});
    }
  };
  add("step", step_ledger_rows(evaluation));
  add("run", run_ledger_rows(evaluation));
  return to_csv(table);
}

std::string roofline_csv(const Evaluation& evaluation) {
  const Roofline all = roofline(evaluation);
  Table table = table_of(
      {"operation", "flop_per_byte", "flop_per_s", "roof_flop_per_s", "roof", "time_s", "share"});
  for (const RooflinePoint& point : all.points) {
    if (point.limit.empty()) {
      continue;
    }
    table.rows.push_back({point.name, point.intensity, in_flop_per_second(point.achieved),
                          in_flop_per_second(point.roof), point.limit,
                          in_seconds(to_seconds(point.time)), point.share});
  }
  return to_csv(table);
}

std::string memory_csv(const Evaluation& evaluation) {
  Table table = table_of({"stage", "peak_bytes", "limit_bytes"});
  for (const MemoryTerm& term : memory_terms({})) {
    table.columns.push_back({std::string(term.name) + "_bytes"});
  }
  for (const step::StageMemory& stage : evaluation.step.memory) {
    auto& row = table.rows.emplace_back(std::vector<Cell>{
        static_cast<double>(table.rows.size()), in_bytes(stage.peak()), in_bytes(stage.limit)});
    for (const MemoryTerm& term : memory_terms(stage)) {
      row.emplace_back(in_bytes(term.value));
    }
  }
  return to_csv(table);
}

}  // namespace orrery::report
