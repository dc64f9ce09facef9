#include "sim/answer/plan/result/plan_report.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/text/json_text.hpp"

namespace orrery::plan {

namespace {

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

Json traits_json(const std::vector<Trait>& traits) {
  Json json = Json::object();
  for (const Trait& trait : traits) {
    json[trait.name] = trait.value;
  }
  return json;
}

Json variant_json(const Variant& variant) {
  return {
      {"axis", variant.axis}, {"value", variant.value}, {"changes", changes_json(variant.changes)}};
}

Json near_json(const NearLayout& other) {
  return {{"differs", traits_json(other.differs)},
          {"slower", other.slower},
          {"changes", changes_json(other.changes)}};
}

Json proposal_json(const Proposal& proposal) {
  return {{"tag", proposal.tag},
          {"words", proposal.words},
          {"gpus", proposal.gpus},
          {"axes", traits_json(proposal.traits)},
          {"changes", changes_json(proposal.changes)},
          {"alike", json_list(proposal.alike, variant_json)},
          {"near", json_list(proposal.near, near_json)}};
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

Json ledger_row_json(const report::LedgerRow& row) {
  return {{"category", row.category}, {"gpu_s", row.gpu_time}, {"share", row.share}};
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
  json["step_ledger"] = json_list(report::step_ledger_rows(finalist.evaluation), ledger_row_json);
  json["run_ledger"] = json_list(report::run_ledger_rows(finalist.evaluation), ledger_row_json);
  return json;
}

Json front_json(const Front& front) {
  const auto point_json = [&front](const FrontPoint& point) {
    return Json{{front.x.json_key, point.x},
                {front.y.json_key, point.y},
                {"on_front", point.on_front},
                {"best", point.winner},
                {"tag", point.proposal.tag},
                {"words", point.proposal.words},
                {"changes", changes_json(point.proposal.changes)}};
  };
  return {{"x", front.x.json_key},
          {"y", front.y.json_key},
          {"simulated", front.simulated},
          {"points", json_list(front.points, point_json)}};
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

Json perturbation_json(const Perturbation& one) {
  return {{"coefficient", one.coefficient},
          {"change", one.change},
          {"error_known", one.known},
          {"overtaken_by", one.overtaker ? Json(one.overtaker->tag) : Json(nullptr)},
          {"lead", one.by}};
}

Json rival_json(const Rival& rival) {
  return {{"rank", rival.rank},
          {"differs_in", rival.differs},
          {"lead", rival.lead},
          {"error", rival.error},
          {"told_apart", rival.told_apart()}};
}

Json stability_json(const Stability& stability) {
  if (!stability.checked) {
    return nullptr;
  }
  return {{"stable", stability.stable},
          {"errors_known", stability.errors_known},
          {"rivals", json_list(stability.rivals, rival_json)},
          {"free_memory_of_peak", stability.memory_margin},
          {"perturbations", json_list(stability.perturbations, perturbation_json)}};
}

Json published_json(const std::optional<Published>& published) {
  if (!published) {
    return nullptr;
  }
  const PublishedLayout& from = published->from;
  return {{"model", from.model},
          {"gpu", from.gpu},
          {"gpus", from.gpus},
          {"stack", from.stack},
          {"precision", from.precision},
          {"tokens_per_s_per_gpu", from.tokens},
          {"source", from.source},
          {"sets", changes_json(from.sets)},
          {"is_best", published->winner && published->problem.empty()},
          {"rank", published->rank},
          {"problem", published->problem},
          {"error", published->error},
          {"plan", published->plan ? finalist_json(*published->plan) : Json(nullptr)}};
}

Json aside_json(const StepAside& one) {
  return {{"axis", one.change.name},
          {"value", one.change.value},
          {"fits", one.fits},
          {"loss", one.fits ? Json(one.loss) : Json(nullptr)}};
}

Json constraints_json(const Plan& plan) {
  const PlanSpec& spec = plan.spec;
  const Constraints& constraints = spec.constraints;
  return {{"memory_headroom_bytes", plan.headroom.bytes},
          {"memory_headroom_stated", plan.headroom.stated},
          {"memory_error", plan.headroom.error},
          {"memory_error_source", plan.headroom.source},
          {"tensor_within_nvlink", constraints.tensor_within_nvlink},
          {"budget_usd", constraints.budget},
          {"deadline_s", spec.deadline},
          {"global_batch_at_least", constraints.least_batch},
          {"global_batch_at_most", constraints.most_batch},
          {"gpus_at_most", constraints.most_gpus},
          {"changes_at_most", plan.most_changes}};
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
  return json_text(
      {{"schema", kPlanSchema},
       {"scenario", {{"name", plan.name}, {"file", plan.file}, {"sha256", plan.sha256}}},
       {"complete", plan.complete() && !plan.limited},
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
       {"switches",
        {{"changes", changes_json(plan.switches.keys)},
         {"step_time_s_before", plan.switches.before}}},
       {"current", plan.current ? finalist_json(*plan.current) : Json(nullptr)},
       {"published", published_json(plan.published)},
       {"aside", json_list(plan.aside, aside_json)},
       {"finalists", json_list(plan.finalists, finalist_json)},
       {"fronts", json_list(plan.fronts, front_json)},
       {"neighbours", json_list(plan.neighbours, neighbour_json)},
       {"stability", stability_json(plan.stability)},
       {"diagnostics", json_list(plan.diagnostics.all(), [](const Diagnostic& diagnostic) {
          return to_string(diagnostic);
        })}});
}

}  // namespace orrery::plan
