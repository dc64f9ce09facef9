#include "sim/answer/evaluate/compare/project_measured.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text/format.hpp"

namespace orrery::evaluate {

namespace {

constexpr double kLeast = 0.01;  // of the step: less says nothing of a factor

}  // namespace

Projection project_measured(const MeasuredComparison& here, const report::Evaluation& there) {
  Projection projection;
  projection.predicted = to_seconds(there.step.step_time);
  projection.gpus = there.step.gpus;
  projection.feasible = there.feasible;
  Seconds by_model;
  for (const MeasuredRow& row : predicted_rows(there.step.ledger, projection.predicted)) {
    ProjectedRow projected{row.key, row.label, row.predicted};
    const auto known = std::find_if(here.ledger.begin(), here.ledger.end(),
                                    [&](const auto& one) { return one.key == row.key; });
    if (known != here.ledger.end() && known->predicted > here.predicted_step * kLeast &&
        known->measured > here.measured.step_time * kLeast) {
      projected.factor = known->measured / known->predicted;
      projected.measured = true;
    } else {
      by_model += projected.predicted;
    }
    projection.projected += projected.projected();
    projection.rows.push_back(projected);
  }
  projection.by_model = by_model / projection.projected;
  const report::MetricValue* rate = there.metrics.find(report::MetricId::tokens_per_second);
  if (rate != nullptr) {
    projection.tokens_per_second = rate->value * (projection.predicted / projection.projected);
  }
  return projection;
}

std::string projection_text(const Projection& projection, const std::vector<std::string>& changes) {
  std::string text =
      fmt::format("\nProjected to {}: {} a step on {} GPUs, {} tokens/s{}\n",
                  fmt::join(changes, ", "), format_time(projection.projected),
                  format_integer(projection.gpus), format_count(projection.tokens_per_second),
                  projection.feasible ? "" : "; it does not fit in memory");
  text += fmt::format("  {:<40} {:>12} {:>8} {:>12}\n", "", "predicted", "factor", "projected");
  for (const ProjectedRow& row : projection.rows) {
    text +=
        fmt::format("  {:<40} {:>12} {:>8} {:>12}\n", row.label, format_time(row.predicted),
                    row.measured ? format_number(row.factor) : "-", format_time(row.projected()));
  }
  text += fmt::format("  {:<40} {:>12} {:>8} {:>12}\n", "step", format_time(projection.predicted),
                      format_number(projection.projected / projection.predicted),
                      format_time(projection.projected));
  return text +
         fmt::format("  {} of it rests on the model alone: the traces have too little of it\n",
                     format_percent(projection.by_model));
}

}  // namespace orrery::evaluate
