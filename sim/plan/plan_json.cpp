#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "sim/plan/plan_report.hpp"
#include "sim/report/ledger_rows.hpp"

namespace orrery::plan {

namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// The unit of the objective, as it ends the keys of metrics.
std::string_view unit_of(Objective objective) {
  switch (objective) {
    case Objective::step_time:
    case Objective::finish_time:
      return "s";
    case Objective::cost:
      return "usd";
    case Objective::cost_per_token:
      return "usd_per_million_tokens";
    case Objective::fewest_gpus:
      return "gpus";
    case Objective::energy:
      return "kwh";
  }
  return {};
}

Json changes_json(const std::vector<scenario::KeyValue>& changes) {
  Json json = Json::object();
  for (const scenario::KeyValue& change : changes) {
    json[change.key] = change.value;
  }
  return json;
}

Json proposal_json(const Proposal& proposal) {
  Json axes = Json::object();
  for (const Trait& trait : proposal.traits) {
    axes[trait.name] = trait.value;
  }
  Json alike = Json::array();
  for (const Variant& variant : proposal.alike) {
    alike.push_back({{"axis", variant.axis},
                     {"value", variant.value},
                     {"changes", changes_json(variant.changes)}});
  }
  Json near = Json::array();
  for (const NearLayout& other : proposal.near) {
    Json differs = Json::object();
    for (const Trait& trait : other.differs) {
      differs[trait.name] = trait.value;
    }
    near.push_back({{"differs", std::move(differs)},
                    {"slower", other.slower},
                    {"changes", changes_json(other.changes)}});
  }
  return {{"tag", proposal.tag},
          {"words", proposal.words},
          {"gpus", proposal.gpus},
          {"axes", std::move(axes)},
          {"changes", changes_json(proposal.changes)},
          {"alike", std::move(alike)},
          {"near", std::move(near)}};
}

Json metrics_json(const report::Evaluation& evaluation) {
  Json metrics = Json::object();
  for (const report::MetricInfo& metric : report::metric_registry()) {
    const report::MetricValue* value = evaluation.metrics.find(metric.id);
    if (value == nullptr) {
      continue;
    }
    Json one = {{"value", value->value}};
    if (value->trials) {
      const run::Interval ci95 = value->trials->ci95_of_mean();
      one["p10"] = value->trials->quantile(0.1);
      one["p50"] = value->trials->quantile(0.5);
      one["p90"] = value->trials->quantile(0.9);
      one["ci95_of_mean"] = {ci95.low, ci95.high};
    }
    metrics[metric.json_key] = std::move(one);
  }
  return metrics;
}

Json ledger_json(const std::vector<report::LedgerRow>& rows) {
  Json ledger = Json::array();
  for (const report::LedgerRow& row : rows) {
    ledger.push_back(
        {{"category", row.category}, {"gpu_s", in_seconds(row.gpu_time)}, {"share", row.share}});
  }
  return ledger;
}

Json finalist_json(const Finalist& finalist) {
  Json json = proposal_json(finalist.proposal);
  json["standing"] = to_string(finalist.standing);
  json["value"] = finalist.value;
  json["behind"] = {{"of", to_string(finalist.behind_in)},
                    {"mean", finalist.behind.mean},
                    {"ci95", {finalist.behind.ci95.low, finalist.behind.ci95.high}},
                    {"paired", finalist.paired}};
  json["reason"] = finalist.reason;
  json["fits_memory"] = finalist.evaluation.feasible;
  json["metrics"] = metrics_json(finalist.evaluation);
  json["step_ledger"] = ledger_json(report::step_ledger_rows(finalist.evaluation));
  json["run_ledger"] = ledger_json(report::run_ledger_rows(finalist.evaluation));
  return json;
}

Json front_json(const Front& front) {
  Json points = Json::array();
  for (const FrontPoint& point : front.points) {
    points.push_back({{front.x.json_key, point.x},
                      {front.y.json_key, point.y},
                      {"on_front", point.on_front},
                      {"best", point.winner},
                      {"tag", point.proposal.tag},
                      {"words", point.proposal.words},
                      {"changes", changes_json(point.proposal.changes)}});
  }
  return {{"x", front.x.json_key},
          {"y", front.y.json_key},
          {"simulated", front.simulated},
          {"points", std::move(points)}};
}

Json neighbour_json(const Neighbour& neighbour) {
  Json json = proposal_json(neighbour.proposal);
  json["step_time_s"] = neighbour.step_time;
  json["short_by_bytes"] = neighbour.short_by;
  json["stage"] = neighbour.stage;
  json["faster"] = neighbour.gain;
  json["remedy"] = nullptr;
  if (neighbour.remedy) {
    json["remedy"] = {{"axis", neighbour.remedy->change.name},
                      {"value", neighbour.remedy->change.value},
                      {"step_time_s", neighbour.remedy->step_time},
                      {"is_best", neighbour.remedy->winner},
                      {"tag", neighbour.remedy->proposal.tag},
                      {"changes", changes_json(neighbour.remedy->proposal.changes)}};
  }
  return json;
}

Json stability_json(const Stability& stability) {
  if (!stability.checked) {
    return nullptr;
  }
  Json moved = Json::array();
  for (const Perturbation& one : stability.perturbations) {
    moved.push_back({{"coefficient", one.coefficient},
                     {"change", one.change},
                     {"error_known", one.known},
                     {"overtaken_by", one.overtaker ? Json(one.overtaker->tag) : Json(nullptr)},
                     {"lead", one.by}});
  }
  Json rivals = Json::array();
  for (const Rival& rival : stability.rivals) {
    rivals.push_back({{"rank", rival.rank},
                      {"differs_in", rival.differs},
                      {"lead", rival.lead},
                      {"error", rival.error},
                      {"told_apart", rival.told_apart()}});
  }
  return {{"stable", stability.stable},
          {"errors_known", stability.errors_known},
          {"rivals", std::move(rivals)},
          {"free_memory_of_peak", stability.memory_margin},
          {"perturbations", std::move(moved)}};
}

Json constraints_json(const Plan& plan) {
  const PlanSpec& spec = plan.spec;
  const Constraints& constraints = spec.constraints;
  return {
      {"memory_headroom_bytes", plan.headroom.bytes},
      {"memory_headroom_stated", plan.headroom.stated},
      {"memory_error", plan.headroom.error},
      {"memory_error_source", plan.headroom.source},
      {"tensor_within_nvlink", constraints.tensor_within_nvlink},
      {"budget_usd", constraints.budget ? Json(in_dollars(*constraints.budget)) : Json(nullptr)},
      {"deadline_s", spec.deadline ? Json(in_seconds(*spec.deadline)) : Json(nullptr)},
      {"global_batch_at_least", or_null(constraints.least_batch)},
      {"global_batch_at_most", or_null(constraints.most_batch)},
      {"gpus_at_most", or_null(constraints.most_gpus)}};
}

Json counts_json(const Plan& plan) {
  return {{"grid", plan.counts.grid},
          {"layouts", plan.counts.layouts},
          {"seen", plan.counts.seen},
          {"estimated", plan.counts.estimated},
          {"bounded", plan.counts.bounded},
          {"fits", plan.counts.fits},
          {"over_memory", plan.counts.over_memory},
          {"over_host_memory", plan.counts.over_host_memory},
          {"breaks_rule", plan.counts.breaks_rule},
          {"pool", plan.pool},
          {"simulated", plan.simulated}};
}

Json not_offered_json(const NotOffered& lacks) {
  return lacks.what.empty()
             ? Json(nullptr)
             : Json{{"stack", lacks.stack}, {"what", lacks.what}, {"source", lacks.source}};
}

}  // namespace

std::string to_json(const Plan& plan) {
  Json finalists = Json::array();
  for (const Finalist& finalist : plan.finalists) {
    finalists.push_back(finalist_json(finalist));
  }
  Json fronts = Json::array();
  for (const Front& front : plan.fronts) {
    fronts.push_back(front_json(front));
  }
  Json neighbours = Json::array();
  for (const Neighbour& neighbour : plan.neighbours) {
    neighbours.push_back(neighbour_json(neighbour));
  }
  Json warnings = Json::array();
  for (const Diagnostic& diagnostic : plan.diagnostics.all()) {
    warnings.push_back(to_string(diagnostic));
  }
  const Json out = {
      {"schema", kPlanSchema},
      {"scenario", {{"name", plan.name}, {"file", plan.file}, {"sha256", plan.sha256}}},
      {"complete", plan.complete()},
      {"notes", plan.notes},
      {"objective", to_string(plan.spec.objective)},
      {"ranked_by", to_string(plan.ranked_by)},
      {"unit", unit_of(plan.ranked_by)},
      {"tie", plan.spec.tie},
      {"trials", plan.trials},
      {"seed", plan.seed},
      {"constraints", constraints_json(plan)},
      {"search", counts_json(plan)},
      {"not_offered", not_offered_json(plan.not_offered)},
      {"current", plan.current ? finalist_json(*plan.current) : Json(nullptr)},
      {"finalists", std::move(finalists)},
      {"fronts", std::move(fronts)},
      {"neighbours", std::move(neighbours)},
      {"stability", stability_json(plan.stability)},
      {"diagnostics", std::move(warnings)}};
  constexpr int kIndent = 2;
  return out.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::plan
