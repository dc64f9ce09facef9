#include "sim/report/json_report.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/report/ledger_rows.hpp"
#include "sim/report/metric_band.hpp"
#include "sim/report/printed_quantiles.hpp"
#include "sim/report/trust.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity: a number that does not exist is null.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json metric_json(const Evaluation& evaluation, const MetricValue& metric) {
  Json out = {{"value", number(metric.value)}};
  if (metric.trials) {
    const run::Interval interval = metric.trials->ci95_of_quantile(kMedian);
    out["p10"] = number(metric.trials->quantile(kLowQuantile));
    out["p50"] = number(metric.trials->quantile(kMedian));
    out["p90"] = number(metric.trials->quantile(kHighQuantile));
    out["ci95"] = Json::array({number(interval.low), number(interval.high)});
  }
  if (const auto band = metric_band(evaluation, metric.id)) {
    out["band"] = {
        {"level", StepBand::kLevel}, {"low", number(band->low)}, {"high", number(band->high)}};
  }
  return out;
}

Json metrics_json(const Evaluation& evaluation) {
  Json out = Json::object();
  for (const MetricInfo& metric : metric_registry()) {
    if (const MetricValue* value = evaluation.metrics.find(metric.id)) {
      out[std::string(metric.json_key)] = metric_json(evaluation, *value);
    }
  }
  return out;
}

Json ledger_json(const std::vector<LedgerRow>& rows) {
  Json out = Json::array();
  for (const LedgerRow& row : rows) {
    Json line = {{"category", row.category},
                 {"gpu_s", number(in_seconds(row.gpu_time))},
                 {"share", number(row.share)}};
    if (row.dollars) {
      line["usd"] = number(in_dollars(*row.dollars));
    }
    out.push_back(std::move(line));
  }
  return out;
}

Json memory_json(const std::vector<step::StageMemory>& stages) {
  Json out = Json::array();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Json terms = Json::object();
    for (const MemoryTerm& term : memory_terms(stages[i])) {
      terms[std::string(term.name) + "_bytes"] = number(in_bytes(term.value));
    }
    out.push_back({{"stage", i},
                   {"peak_bytes", number(in_bytes(stages[i].peak()))},
                   {"limit_bytes", number(in_bytes(stages[i].limit))},
                   {"terms", std::move(terms)}});
  }
  return out;
}

Json trust_json(const Trust& trust) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kSourceKindCount; ++i) {
    out[std::string(kSourceKindNames[i])] = number(trust.share[i]);
  }
  out["extrapolated"] = number(trust.extrapolated);
  return out;
}

Json band_json(const std::optional<StepBand>& band) {
  if (!band) {
    return nullptr;
  }
  Json nearest = Json::array();
  for (const NearStep& step : band->nearest) {
    nearest.push_back({{"id", step.id}, {"relative_error", number(step.error)}});
  }
  Json doubts = Json::array();
  for (const StepDoubt& doubt : band->doubts) {
    doubts.push_back({{"coefficient", doubt.coefficient},
                      {"error", number(doubt.error)},
                      {"effect", number(doubt.effect)},
                      {"measured_by", doubt.measured_by}});
  }
  return {{"level", StepBand::kLevel},
          {"low_s", number(band->low)},
          {"high_s", number(band->high)},
          {"mean_error", number(band->error)},
          {"new", to_string(band->novelty)},
          {"nearest", std::move(nearest)},
          {"measure_first", std::move(doubts)}};
}

// Mean dollars per trial by what they were paid for; empty without prices.
Json bill_json(const Evaluation& evaluation) {
  Json out = Json::array();
  if (!evaluation.run || !evaluation.plan->pricing.priced) {
    return out;
  }
  const auto trials = static_cast<double>(evaluation.run->trials);
  for (std::size_t i = 0; i < run::kCostCategoryCount; ++i) {
    out.push_back({{"category", run::kCostCategoryNames[i]},
                   {"usd", number(in_dollars(evaluation.run->bill_sum.dollars[i]) / trials)}});
  }
  return out;
}

// Mean failures, GPU time and dollars per trial by cause, the costliest first.
Json causes_json(const Evaluation& evaluation) {
  Json out = Json::array();
  for (const CauseRow& row : cause_rows(evaluation)) {
    Json line = {{"cause", row.cause},
                 {"failures", number(row.failures)},
                 {"gpu_s", number(in_seconds(row.gpu_time))}};
    if (row.dollars) {
      line["usd"] = number(in_dollars(*row.dollars));
    }
    out.push_back(std::move(line));
  }
  return out;
}

Json levers_json(const std::vector<Lever>& levers, bool priced) {
  Json out = Json::array();
  for (const Lever& lever : levers) {
    Json line = {{"change", lever.change}, {"delta_s", number(in_seconds(lever.finish_delta))}};
    if (priced) {
      line["delta_usd"] = number(in_dollars(lever.cost_delta));
    }
    out.push_back(std::move(line));
  }
  return out;
}

Json expectations_json(const std::vector<ExpectationResult>& results) {
  Json out = Json::array();
  for (const ExpectationResult& result : results) {
    out.push_back({{"text", result.text},
                   {"pass", result.passed()},
                   {"verdict", to_string(result.verdict)},
                   {"value", result.value ? number(*result.value) : Json(nullptr)},
                   {"detail", result.detail},
                   {"line", result.where.line}});
  }
  return out;
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return {};
}

Json diagnostics_json(const Diagnostics& diagnostics) {
  Json out = Json::array();
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    out.push_back({{"severity", severity_name(diagnostic.severity)},
                   {"file", diagnostic.where.file},
                   {"line", diagnostic.where.line},
                   {"column", diagnostic.where.column},
                   {"key", diagnostic.key},
                   {"message", diagnostic.message},
                   {"allowed", diagnostic.allowed}});
  }
  return out;
}

// The measurement behind the GPU's coefficients; null where they are published ones.
Json calibration_json(const std::optional<hardware::CalibrationStamp>& stamp) {
  if (!stamp) {
    return nullptr;
  }
  return {{"id", stamp->id}, {"measured_at", stamp->measured_at}, {"device", stamp->device}};
}

Json evaluation_json(const Evaluation& evaluation) {
  const bool priced = evaluation.plan && evaluation.plan->pricing.priced;
  return {{"schema", kEvaluationSchema},
          {"scenario",
           {{"name", evaluation.echo.name},
            {"file", evaluation.echo.file},
            {"sha256", evaluation.echo.sha256}}},
          {"feasible", evaluation.feasible},
          {"reasons", evaluation.reasons},
          {"caveats", evaluation.caveats},
          {"assumed", evaluation.assumed},
          {"metrics", metrics_json(evaluation)},
          {"step_ledger", ledger_json(step_ledger_rows(evaluation))},
          {"run_ledger", ledger_json(run_ledger_rows(evaluation))},
          {"memory", memory_json(evaluation.step.memory)},
          {"step_band", band_json(evaluation.band)},
          {"trust", trust_json(trust_of(evaluation.step))},
          {"calibration", calibration_json(evaluation.echo.calibration)},
          {"bill", bill_json(evaluation)},
          {"causes", causes_json(evaluation)},
          {"levers", levers_json(evaluation.levers, priced)},
          {"expectations", expectations_json(evaluation.expectations)},
          {"diagnostics", diagnostics_json(evaluation.diagnostics)}};
}

// Names of files need not be UTF-8, JSON must be.
std::string text_of(const Json& json) {
  constexpr int kIndent = 2;
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json(const Evaluation& evaluation) {
  return text_of(evaluation_json(evaluation));
}

std::string to_json(const std::vector<Evaluation>& evaluations) {
  Json out = Json::array();
  for (const Evaluation& evaluation : evaluations) {
    out.push_back(evaluation_json(evaluation));
  }
  return text_of(out);
}

std::string to_json(const Diagnostics& diagnostics) {
  return text_of(diagnostics_json(diagnostics));
}

}  // namespace orrery::report
