#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/run/capacity/spot_supply.hpp"
#include "sim/run/planning.hpp"

namespace orrery::run {

namespace {

constexpr std::int64_t kMostSpares = std::int64_t{1} << 30;

void plan_spares(const CapacitySpec& spec, CapacityPlan& plan, Findings& findings) {
  const auto level = [&](std::string_view name, const SpareSpec& spares) {
    findings.require(spares.nodes >= 0 && spares.nodes <= kMostSpares,
                     name == "hot" ? "capacity.spares" : fmt::format("capacity.{}.nodes", name),
                     "must be between 0 and 2^30");
    findings.require_law(spares.ready, fmt::format("capacity.{}.ready", name));
    plan.spares.push_back({std::string(name), spares.nodes, spares.ready, spares.held});
  };
  level("hot", {.nodes = spec.spares, .ready = fixed(Seconds{}), .held = true});
  if (spec.warm.nodes > 0) {
    level("warm", spec.warm);
  }
  if (spec.cold.nodes > 0) {
    level("cold", spec.cold);
  }
}

void plan_repair(const CapacitySpec& spec, const RepairLaw& law, CapacityPlan& plan,
                 Findings& findings) {
  PlannedRepair& repair = plan.repair;
  repair.first = spec.repair_time.value_or(law.first);
  findings.require_law(repair.first, "capacity.repair_time");
  if (!spec.repair_time) {
    repair.escalates = law.by_hand;
    repair.manual = law.manual;
  }
  repair.first_fails = spec.repair.fails;
  findings.require_share(repair.first_fails, "capacity.repair.fails");
  if (spec.repair.manual) {
    const ManualRepairSpec& manual = *spec.repair.manual;
    repair.escalates = manual.escalates;
    repair.manual = manual.time;
    repair.manual_fails = manual.fails;
    findings.require_share(repair.escalates, "capacity.repair.manual.probability");
    findings.require_share(repair.manual_fails, "capacity.repair.manual.fails");
    findings.require_law(repair.manual, "capacity.repair.manual.time");
  }
  findings.require_one(spec.repair.crews, "capacity.repair.crews");
  repair.crews = spec.repair.crews;
  repair.retire = spec.repair.retire;
  findings.require_share(repair.retire, "capacity.repair.retire");
  if (spec.repair.replacement) {
    findings.require_law(*spec.repair.replacement, "capacity.repair.replacement");
    repair.replacement = spec.repair.replacement;
  }
}

void plan_elastic(const ElasticSpec& spec, const RunPlan& run, CapacityPlan& plan,
                  Findings& findings) {
  constexpr std::string_view kKey = "capacity.elastic.min_nodes";
  const std::int64_t nodes = run.step.nodes;
  if (!findings.require(spec.min_nodes >= 1 && spec.min_nodes <= nodes, kKey,
                        fmt::format("{} is no size of a job of {} nodes", spec.min_nodes, nodes),
                        fmt::format("1 to {}", nodes))) {
    return;
  }
  PlannedElastic elastic{spec.min_nodes, spec.grow, {}};
  std::copy_if(run.step.sizes.begin(), run.step.sizes.end(), std::back_inserter(elastic.sizes),
               [&](const ElasticSize& size) { return size.nodes >= spec.min_nodes; });
  if (elastic.sizes.empty() || elastic.sizes.back().nodes < nodes) {
    elastic.sizes.push_back({nodes, run.step.step_time});
  }
  if (elastic.sizes.size() == 1 && spec.min_nodes < nodes) {
    findings.warn(kKey,
                  "has no effect: the layout allows no smaller size (data parallelism shrinks by "
                  "whole replicas)");
  }
  plan.elastic = std::move(elastic);
}

// Preemptions restart the job as failures of this name do.
std::int32_t preemption_cause(RunPlan& plan) {
  constexpr std::string_view kName = "spot preemption";
  PlannedCause cause;
  cause.name = kName;
  cause.life = ExponentialLaw{seconds(std::numeric_limits<double>::infinity())};  // by the pool
  cause.hit_nodes = 1;
  cause.cumulative = plan.causes.empty() ? 1.0 : plan.causes.back().cumulative;
  plan.causes.push_back(std::move(cause));
  return static_cast<std::int32_t>(plan.causes.size()) - 1;
}

// How often spot nodes are taken away from a full job: what an automatic interval must reckon with.
PerSecond preemption_rate(const PlannedSpot& spot) {
  if (spot.mtbp) {
    return static_cast<double>(spot.nodes) / (*spot.mtbp * static_cast<double>(spot.burst));
  }
  return traced_loss_rate(spot);
}

// The last cause takes its share of the failures of the job.
void count_preemptions(PerSecond rate, RunPlan& run) {
  const PerSecond all = rate + (run.mtbf ? 1.0 / *run.mtbf : PerSecond{});
  if (all == PerSecond{}) {
    return;
  }
  for (PlannedCause& cause : run.causes) {
    cause.cumulative *= 1.0 - rate / all;
  }
  run.causes.back().cumulative = 1.0;
  run.mtbf = 1.0 / all;
}

void plan_spot(const SpotSpec& spec, RunPlan& run, CapacityPlan& plan, Findings& findings) {
  findings.require_share(spec.share, "capacity.spot.share");
  findings.require(spec.rate.has_value() != !spec.zones.empty(), "capacity.spot",
                   spec.rate ? "both a rate and traces are stated" : "no supply is stated",
                   "either rate or traces");
  findings.require_rate(spec.rate.value_or(PerSecond{}), "capacity.spot.rate");
  findings.require_one(spec.burst, "capacity.spot.burst");
  findings.require_law(spec.returns, "capacity.spot.returns");
  findings.require_law(spec.migration, "capacity.spot.migration");
  findings.require_law(spec.ready, "capacity.spot.ready");
  findings.require(in_range(spec.notice), "capacity.spot.notice", "must be below 73 years");
  if (!findings.sound()) {
    return;
  }
  PlannedSpot spot;
  spot.nodes = std::llround(spec.share * static_cast<double>(run.step.nodes));
  if (spec.rate && *spec.rate > PerSecond{}) {
    spot.mtbp = 1.0 / *spec.rate;
  }
  spot.burst = spec.burst;
  spot.returns = spec.returns;
  spot.random_start = spec.start == TraceStart::random;
  spot.notice = bounded_time(spec.notice);
  spot.migration = spec.migration;
  spot.ready = spec.ready;
  for (const SpotZoneSpec& zone : spec.zones) {
    if (findings.require(zone.trace.has_value(), "capacity.spot.traces",
                         fmt::format("{} was not read", zone.path))) {
      spot.traces.push_back(*zone.trace);
    }
  }
  if (spot.nodes > 0) {
    spot.cause = preemption_cause(run);
    count_preemptions(preemption_rate(spot), run);
    plan.spot = std::move(spot);
  }
}

}  // namespace

const ElasticSize* PlannedElastic::size_for(std::int64_t nodes) const {
  const auto above = std::upper_bound(
      sizes.begin(), sizes.end(), nodes,
      [](std::int64_t count, const ElasticSize& size) { return count < size.nodes; });
  return above == sizes.begin() ? nullptr : &*(above - 1);
}

void plan_capacity(const RunSpec& spec, const FailureSpec& failures, RunPlan& plan,
                   Findings& findings) {
  CapacityPlan capacity;
  capacity.first_nodes = plan.step.nodes;
  capacity.most_nodes = plan.step.nodes;
  plan_spares(spec.capacity, capacity, findings);
  plan_repair(spec.capacity, failures.repair.value_or(field_repair()), capacity, findings);
  if (spec.capacity.elastic) {
    plan_elastic(*spec.capacity.elastic, plan, capacity, findings);
  }
  if (spec.capacity.spot) {
    plan_spot(*spec.capacity.spot, plan, capacity, findings);
  }
  capacity.bad_share = plan.failures.lemons.fraction;
  capacity.repair.remove_after = plan.failures.lemons.remove_after;
  plan.capacity = std::move(capacity);
}

void fit_capacity_to_phases(RunPlan& plan) {
  if (plan.phases.empty()) {
    return;
  }
  plan.capacity.first_nodes = plan.phases.front().nodes;
  for (const PlannedPhase& phase : plan.phases) {
    plan.capacity.most_nodes = std::max(plan.capacity.most_nodes, phase.nodes);
  }
}

RepairLoad repair_load(const RunPlan& plan) {
  if (!plan.mtbf) {
    return {};
  }
  double taken = 0.0;  // nodes per failure of the job
  double before = 0.0;
  for (const PlannedCause& cause : plan.causes) {
    taken += (cause.cumulative - before) * static_cast<double>(cause.takes_nodes);
    before = cause.cumulative;
  }
  if (plan.capacity.spot) {
    taken *=
        1.0 - static_cast<double>(plan.capacity.spot->nodes) / static_cast<double>(plan.step.nodes);
  }
  return nodes_in_repair(taken / *plan.mtbf, mean_repair(plan));
}

Seconds mean_repair(const RunPlan& plan) {
  const PlannedRepair& repair = plan.capacity.repair;
  return mean(repair.first) + repair.escalates * mean(repair.manual);
}

}  // namespace orrery::run
