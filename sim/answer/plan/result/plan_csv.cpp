#include "sim/answer/plan/result/plan_report.hpp"
#include "sim/answer/report/table.hpp"

namespace orrery::plan {

namespace {

using report::MetricId;

constexpr std::array<MetricId, 9> kColumns = {
    MetricId::step_time,   MetricId::mfu,
    MetricId::peak_memory, MetricId::memory_headroom,
    MetricId::finish_time, MetricId::goodput,
    MetricId::cost,        MetricId::cost_per_million_tokens,
    MetricId::energy};

}  // namespace

std::string to_csv(const Plan& plan) {
  report::Table table = report::table_of({"rank", "standing", to_string(plan.ranked_by), "behind",
                                          "behind_ci95_low", "behind_ci95_high", "gpus"});
  for (const MetricId id : kColumns) {
    table.columns.push_back({std::string(report::info(id).json_key)});
  }
  if (!plan.finalists.empty()) {
    for (const Trait& trait : plan.finalists.front().proposal.traits) {
      table.columns.push_back({trait.name});
    }
  }
  table.columns.insert(table.columns.end(), {{"reason"}, {"tag"}});
  for (const Finalist& finalist : plan.finalists) {
    auto& row = table.rows.emplace_back(std::vector<report::Cell>{
        static_cast<double>(table.rows.size() + 1), std::string(to_string(finalist.standing)),
        finalist.value, finalist.behind.mean, finalist.behind.ci95.low, finalist.behind.ci95.high,
        static_cast<double>(finalist.proposal.gpus)});
    for (const MetricId id : kColumns) {
      const report::MetricValue* value = finalist.evaluation.metrics.find(id);
      row.push_back(value != nullptr ? report::Cell(value->value) : report::Cell());
    }
    for (const Trait& trait : finalist.proposal.traits) {
      row.emplace_back(trait.value);
    }
    row.insert(row.end(), {finalist.reason, finalist.proposal.tag});
  }
  return report::to_csv(table);
}

}  // namespace orrery::plan
