#include <fmt/core.h>

#include "sim/plan/plan_report.hpp"
#include "sim/report/escape.hpp"
#include "sim/sweep/sweep_report.hpp"

namespace orrery::plan {

namespace {

using report::csv_cell;
using report::MetricId;

constexpr std::array<MetricId, 9> kColumns = {MetricId::step_time,
                                              MetricId::mfu,
                                              MetricId::peak_memory,
                                              MetricId::memory_headroom,
                                              MetricId::finish_time,
                                              MetricId::goodput,
                                              MetricId::cost,
                                              MetricId::cost_per_million_tokens,
                                              MetricId::energy};

void add_line(const Finalist& finalist, std::string_view rank, std::string& table) {
  table += fmt::format("{},{},{},{},{},{},{}",
                       rank,
                       to_string(finalist.standing),
                       finalist.value,
                       finalist.behind.mean,
                       finalist.behind.ci95.low,
                       finalist.behind.ci95.high,
                       finalist.proposal.gpus);
  for (const MetricId id : kColumns) {
    const report::MetricValue* value = finalist.evaluation.metrics.find(id);
    table += value != nullptr ? fmt::format(",{}", value->value) : ",";
  }
  for (const Trait& trait : finalist.proposal.traits) {
    table += "," + csv_cell(trait.value);
  }
}

}  // namespace

std::string to_csv(const Plan& plan) {
  std::string table = fmt::format("rank,standing,{},behind,behind_ci95_low,behind_ci95_high,gpus",
                                  to_string(plan.ranked_by));
  for (const MetricId id : kColumns) {
    table += fmt::format(",{}", report::info(id).json_key);
  }
  if (!plan.finalists.empty()) {
    for (const Trait& trait : plan.finalists.front().proposal.traits) {
      table += "," + csv_cell(trait.name);
    }
  }
  table += ",reason,tag\n";
  for (std::size_t i = 0; i < plan.finalists.size(); ++i) {
    const Finalist& finalist = plan.finalists[i];
    add_line(finalist, fmt::format("{}", i + 1), table);
    table += fmt::format(",{},{}\n", csv_cell(finalist.reason), csv_cell(finalist.proposal.tag));
  }
  return table;
}

}  // namespace orrery::plan
