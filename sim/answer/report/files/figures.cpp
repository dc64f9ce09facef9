#include "sim/answer/report/files/figures.hpp"

#include <algorithm>

#include "sim/answer/report/text/printed_quantiles.hpp"

namespace orrery::report {

const MetricFigures* Figures::find(MetricId id) const {
  const auto found = std::find_if(metrics.begin(), metrics.end(),
                                  [id](const MetricFigures& metric) { return metric.id == id; });
  return found == metrics.end() ? nullptr : &*found;
}

std::optional<double> Figures::value(MetricId id) const {
  const MetricFigures* metric = find(id);
  return metric != nullptr ? std::optional(metric->value) : std::nullopt;
}

Figures figures_of(const Evaluation& evaluation) {
  Figures figures{.name = evaluation.echo.name,
                  .file = evaluation.echo.file,
                  .feasible = evaluation.feasible,
                  .reasons = evaluation.reasons,
                  .step_ledger = step_ledger_rows(evaluation),
                  .run_ledger = run_ledger_rows(evaluation),
                  .messages = evaluation.diagnostics};
  for (const MetricInfo& info : metric_registry()) {
    if (const MetricValue* metric = evaluation.metrics.find(info.id)) {
      const auto quantile = [metric](double q) {
        return metric->trials ? std::optional(metric->trials->quantile(q)) : std::nullopt;
      };
      figures.metrics.push_back({info.id, metric->value, quantile(kLowQuantile), quantile(kMedian),
                                 quantile(kHighQuantile)});
    }
  }
  for (const step::StageMemory& stage : evaluation.step.memory) {
    StageFigures& shown = figures.memory.emplace_back(StageFigures{stage.peak(), stage.limit, {}});
    for (const MemoryTerm& term : memory_terms(stage)) {
      shown.terms.emplace_back(term.name, term.value);
    }
  }
  const bool priced = evaluation.plan && evaluation.plan->pricing.priced;
  for (const Lever& lever : evaluation.levers) {
    figures.levers.push_back({lever.change, lever.finish_delta,
                              priced ? std::optional(lever.cost_delta) : std::nullopt});
  }
  for (const ExpectationResult& result : evaluation.expectations) {
    figures.expectations.push_back(
        {result.text, std::string(to_string(result.verdict)), result.detail});
  }
  return figures;
}

}  // namespace orrery::report
