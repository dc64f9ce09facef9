#include "sim/answer/report/files/json_report.hpp"

#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/answer/report/text/verdict.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/step/simulate/shared_links/step_network.hpp"

namespace orrery::report {

namespace {

Json metric_json(const Evaluation& evaluation, const MetricValue& metric) {
  Json out = {{"value", metric.value}};
  if (metric.trials) {
    const run::Interval interval = metric.trials->ci95_of_quantile(kMedian);
    out["p10"] = metric.trials->quantile(kLowQuantile);
    out["p50"] = metric.trials->quantile(kMedian);
    out["p90"] = metric.trials->quantile(kHighQuantile);
    out["ci95"] = {interval.low, interval.high};
  }
  if (const auto band = metric_band(evaluation, metric.id)) {
    out["band"] = {{"level", StepBand::kLevel}, {"low", band->low}, {"high", band->high}};
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

// Dollars only where there are prices.
Json with_dollars(Json line, const char* key, const std::optional<Dollars>& dollars) {
  if (dollars) {
    line[key] = *dollars;
  }
  return line;
}

Json ledger_json(const std::vector<LedgerRow>& rows) {
  return json_list(rows, [](const LedgerRow& row) {
    return with_dollars({{"category", row.category}, {"gpu_s", row.gpu_time}, {"share", row.share}},
                        "usd", row.dollars);
  });
}

Json memory_json(const std::vector<step::StageMemory>& stages) {
  Json out = Json::array();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Json terms = Json::object();
    for (const MemoryTerm& term : memory_terms(stages[i])) {
      terms[std::string(term.name) + "_bytes"] = term.value;
    }
    out.push_back({{"stage", i},
                   {"peak_bytes", stages[i].peak()},
                   {"limit_bytes", stages[i].limit},
                   {"terms", std::move(terms)}});
  }
  return out;
}

Json band_json(const std::optional<StepBand>& band) {
  if (!band) {
    return nullptr;
  }
  return {{"level", StepBand::kLevel},
          {"low_s", band->low},
          {"high_s", band->high},
          {"mean_error", band->error},
          {"new", to_string(band->novelty)},
          {"nearest", json_list(band->nearest,
                                [](const NearStep& step) {
                                  return Json{{"id", step.id}, {"relative_error", step.error}};
                                })},
          {"measure_first", json_list(band->doubts, [](const StepDoubt& doubt) {
             return Json{{"coefficient", doubt.coefficient},
                         {"error", doubt.error},
                         {"effect", doubt.effect},
                         {"measured_by", doubt.measured_by}};
           })}};
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
                   {"usd", evaluation.run->bill_sum.dollars[i] / trials}});
  }
  return out;
}

// Mean failures, GPU time and dollars per trial by cause, the costliest first.
Json causes_json(const Evaluation& evaluation) {
  return json_list(cause_rows(evaluation), [](const CauseRow& row) {
    return with_dollars({{"cause", row.cause},
                         {"events", row.events},
                         {"failures", row.failures},
                         {"gpu_s", row.gpu_time}},
                        "usd", row.dollars);
  });
}

Json rollout_json(const Evaluation& evaluation) {
  if (!evaluation.rollout) {
    return nullptr;
  }
  const run::RolloutResult& rollout = *evaluation.rollout;
  Json balanced;
  if (rollout.balanced) {
    balanced = *rollout.balanced;
  }
  return {
      {"answers", rollout.answers},
      {"tokens", rollout.tokens},
      {"longest_answer", rollout.longest},
      {"generators", rollout.generators},
      {"gpus", rollout.gpus},
      {"phases", json_list(rollout.phases,
                           [](const run::RolloutPhase& phase) {
                             return Json{{"name", phase.name}, {"time_s", in_seconds(phase.time)}};
                           })},
      {"tail_s", in_seconds(rollout.tail)},
      {"step_s", in_seconds(rollout.step)},
      {"generator_waits_s", in_seconds(rollout.generator_waits)},
      {"trainer_waits_s", in_seconds(rollout.trainer_waits)},
      {"balanced_generators", balanced}};
}

Json budget_json(const Evaluation& evaluation) {
  if (!evaluation.budget) {
    return nullptr;
  }
  const Flop compute = evaluation.budget->compute;
  const run::OptimumSpread spread = run::optimum_spread(compute);
  return {{"compute_flop", in_flop(compute)},
          {"active_parameters", evaluation.budget->parameters},
          {"tokens", evaluation.budget->tokens},
          {"laws", json_list(run::kScalingLaws,
                             [compute](const run::ScalingLaw& law) {
                               const run::LawOptimum best = run::optimum(law, compute);
                               return Json{{"name", law.name},
                                           {"parameters", best.parameters},
                                           {"tokens", best.tokens}};
                             })},
          {"parameters_p10", spread.low},
          {"parameters_p90", spread.high}};
}

Json levers_json(const std::vector<Lever>& levers, bool priced) {
  return json_list(levers, [priced](const Lever& lever) {
    return with_dollars({{"change", lever.change}, {"delta_s", lever.finish_delta}}, "delta_usd",
                        priced ? std::optional(lever.cost_delta) : std::nullopt);
  });
}

Json switches_json(const std::vector<SwitchLever>& switches) {
  return json_list(switches, [](const SwitchLever& lever) {
    return Json{{"key", lever.key}, {"value", lever.value}, {"step_time_s", lever.step_time}};
  });
}

Json expectation_json(const ExpectationResult& result) {
  return {
      {"text", result.text},   {"pass", result.passed()}, {"verdict", to_string(result.verdict)},
      {"value", result.value}, {"detail", result.detail}, {"line", result.where.line}};
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

// The measurement behind the GPU's coefficients; null where they are published ones.
Json calibration_json(const std::optional<hardware::CalibrationStamp>& stamp) {
  if (!stamp) {
    return nullptr;
  }
  return {{"id", stamp->id}, {"measured_at", stamp->measured_at}, {"device", stamp->device}};
}

}  // namespace

Json json_of(const Diagnostics& diagnostics) {
  return json_list(diagnostics.all(), [](const Diagnostic& diagnostic) {
    return Json{{"severity", severity_name(diagnostic.severity)},
                {"file", diagnostic.where.file},
                {"line", diagnostic.where.line},
                {"column", diagnostic.where.column},
                {"key", diagnostic.key},
                {"message", diagnostic.message},
                {"allowed", diagnostic.allowed}};
  });
}

Json json_of(const Trust& trust) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kSourceKindCount; ++i) {
    out[std::string(kSourceKindNames[i])] = trust.share[i];
  }
  out["extrapolated"] = trust.extrapolated;
  return out;
}

Json recipe_json(const RecipeEffect& effect) {
  const auto number = [](const auto& value, auto in_unit) {
    return value ? Json(in_unit(*value)) : Json(nullptr);
  };
  return {{"key", effect.key},
          {"value", effect.value},
          {"source", effect.source},
          {"certain", effect.certain},
          {"step_time_without", number(effect.time_without, in_seconds)},
          {"peak_memory_without", number(effect.memory_without, in_bytes)}};
}

Json network_json(const Evaluation& evaluation) {
  if (!evaluation.step.network) {
    return nullptr;
  }
  const step::StepNetwork& network = *evaluation.step.network;
  const auto by_traffic = [](const auto& times) {
    Json out = Json::object();
    for (std::size_t i = 0; i < times.size(); ++i) {
      out[std::string(i < step::kTraffics ? step::kTrafficNames[i] : "link")] =
          in_seconds(times[i]);
    }
    return out;
  };
  Json lost = Json::object();
  for (std::size_t i = 0; i < step::kTraffics; ++i) {
    lost[std::string(step::kTrafficNames[i])] = by_traffic(network.lost[i]);
  }
  return {{"flows", network.flows},
          {"sharing", in_seconds(to_seconds(network.sharing))},
          {"lost_to", std::move(lost)},
          {"links", json_list(network.links, [&](const step::SharedLink& link) {
             return Json{{"name", link.name},
                         {"alike", link.alike},
                         {"load", link.load},
                         {"lost", by_traffic(link.lost)}};
           })}};
}

Json json_of(const Evaluation& evaluation) {
  const bool priced = evaluation.plan && evaluation.plan->pricing.priced;
  const Outcome outcome = outcome_of(evaluation);
  std::vector<std::string> reasons = evaluation.reasons;
  if (mostly_gave_up(evaluation)) {
    reasons.push_back(gave_up_text(evaluation));
  }
  return {{"schema", kEvaluationSchema},
          {"scenario",
           {{"name", evaluation.echo.name},
            {"file", evaluation.echo.file},
            {"sha256", evaluation.echo.sha256}}},
          {"outcome", {{"standing", to_string(outcome.standing)}, {"reason", outcome.reason}}},
          {"feasible", outcome.standing != Standing::impossible},
          {"reasons", reasons},
          {"advice", evaluation.advice},
          {"caveats", evaluation.caveats},
          {"assumed", evaluation.assumed},
          {"recipe", json_list(evaluation.recipe, recipe_json)},
          {"metrics", metrics_json(evaluation)},
          {"step_ledger", ledger_json(step_ledger_rows(evaluation))},
          {"network", network_json(evaluation)},
          {"rollout", rollout_json(evaluation)},
          {"budget", budget_json(evaluation)},
          {"run_ledger", ledger_json(run_ledger_rows(evaluation))},
          {"memory", memory_json(evaluation.step.memory)},
          {"step_band", band_json(evaluation.band)},
          {"trust", json_of(trust_of(evaluation.step))},
          {"calibration", calibration_json(evaluation.echo.calibration)},
          {"bill", bill_json(evaluation)},
          {"causes", causes_json(evaluation)},
          {"switches", switches_json(evaluation.switches)},
          {"levers", levers_json(evaluation.levers, priced)},
          {"expectations", json_list(evaluation.expectations, expectation_json)},
          {"diagnostics", json_of(evaluation.diagnostics)}};
}

std::string to_json(const Evaluation& evaluation) { return json_text(json_of(evaluation)); }

std::string to_json(const std::vector<Evaluation>& evaluations) {
  return json_text(
      json_list(evaluations, [](const Evaluation& evaluation) { return json_of(evaluation); }));
}

}  // namespace orrery::report
