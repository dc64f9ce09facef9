#include "sim/run/prices/billing.hpp"

#include <algorithm>
#include <numeric>

namespace orrery::run {

namespace {

bool is_busy(RunCategory category) {
  switch (category) {
    case RunCategory::productive:
    case RunCategory::lost_work:
    case RunCategory::rework:
    case RunCategory::degraded:
    case RunCategory::evaluation:
    case RunCategory::restart_warm_up:
      return true;
    default:
      return false;
  }
}

}  // namespace

Billing::Billing(const RunPlan& plan) : plan_(plan), flat_(plan.pricing.is_flat()) {}

void Billing::reset(std::uint32_t trial, const HeldNodes& nodes, RunTimeline* timeline) {
  held_ = nodes;
  timeline_ = timeline;
  since_ = SimTime{};
  step_ = 0;
  nodes_.fill(0.0);
  walks_.clear();
  if (plan_.pricing.traced_spot) {
    const PlannedSpot& spot = *plan_.capacity.spot;
    const SimTime offset = trace_offset(spot, plan_.simulation.seed, trial);
    for (const SpotTrace& trace : spot.traces) {
      walks_.emplace_back(trace, offset);
    }
  }
}

// What is held costs until `until`, price by price.
void Billing::integrate(SimTime until) {
  const std::vector<PriceStep>& prices = plan_.pricing.fixed;
  while (since_ < until) {
    SimTime end = until;
    while (step_ + 1 < prices.size() && prices[step_ + 1].from <= since_) {
      ++step_;
    }
    if (step_ + 1 < prices.size()) {
      end = std::min(end, prices[step_ + 1].from);
    }
    const std::optional<PlannedReservation>& reserved = plan_.pricing.reserved;
    if (reserved && reserved->paid_until && since_ < *reserved->paid_until) {
      end = std::min(end, *reserved->paid_until);
    }
    for (TraceWalk& walk : walks_) {
      while (walk.next() <= since_) {
        walk.step();
      }
      end = std::min(end, walk.next());
    }
    if (timeline_ != nullptr) {
      record(end);
    }
    charge(to_seconds(end - since_));
    since_ = end;
  }
}

// What is held from `since_` on, and what it costs: the charge of that time, on its own.
void Billing::record(SimTime end) {
  const std::array<double, kCostCategoryCount> before = nodes_;
  nodes_.fill(0.0);
  const Seconds length = to_seconds(end - since_);
  charge(length);
  const double paid = std::accumulate(nodes_.begin(), nodes_.end(), 0.0);
  nodes_ = before;
  timeline_->hold({.begin = since_,
                   .end = end,
                   .job = held_.fixed + held_.spot,
                   .spot = held_.spot,
                   .spares = held_.spare,
                   .repair = held_.repair,
                   .rate = dollars(paid) / length});
}

// `length` at the present prices.
void Billing::charge(Seconds length) {
  const PricePlan& prices = plan_.pricing;
  const DollarsPerSecond fixed =
      prices.fixed.empty() ? DollarsPerSecond{} : prices.fixed[step_].per_node;
  DollarsPerSecond spot = prices.spot.value_or(fixed);
  if (!walks_.empty()) {
    const auto price = walks_[static_cast<std::size_t>(held_.zone)].price();
    spot = price ? *price * static_cast<double>(plan_.step.gpus_per_node) : spot;
  }
  // The reservation covers the job first, then spares, then nodes in repair.
  std::int64_t covered = 0;
  if (prices.reserved && (!prices.reserved->paid_until || since_ < *prices.reserved->paid_until)) {
    covered = prices.reserved->nodes;
  }
  const auto pay = [&](CostCategory category, std::int64_t nodes, bool billed) {
    const std::int64_t reserved = std::min(covered, nodes);
    covered -= reserved;
    Dollars paid;
    if (reserved > 0) {
      paid = prices.reserved->per_node * (static_cast<double>(reserved) * length);
    }
    if (billed) {
      paid += fixed * (static_cast<double>(nodes - reserved) * length);
    }
    nodes_[static_cast<std::size_t>(category)] += in_dollars(paid);
  };
  pay(CostCategory::nodes, held_.fixed, true);
  pay(CostCategory::spares, held_.spare, prices.bill_spares);
  pay(CostCategory::repair, held_.repair, prices.bill_spares);
  pay(CostCategory::reservation, covered, false);
  nodes_[static_cast<std::size_t>(CostCategory::nodes)] +=
      in_dollars(spot * (static_cast<double>(held_.spot) * length));
}

Bill Billing::bill(SimTime end, const RunLedger& ledger, const RunUse& use) {
  Bill bill;
  const PricePlan& prices = plan_.pricing;
  const auto per_node = 1.0 / static_cast<double>(plan_.step.gpus_per_node);
  const Seconds spare = ledger.gpu_time(RunCategory::spare_idle) * per_node;
  const Seconds repair = ledger.gpu_time(RunCategory::repair) * per_node;
  if (timeline_ != nullptr && flat_) {
    integrate(end);
  }
  if (!flat_) {
    integrate(end);
    for (std::size_t i = 0; i < kCostCategoryCount; ++i) {
      bill.dollars[i] = dollars(nodes_[i]);
    }
    charge_commitment(end, bill);
  } else if (!prices.fixed.empty()) {
    const DollarsPerSecond price = prices.fixed.front().per_node;
    bill.of(CostCategory::nodes) = price * (ledger.total_gpu_time() * per_node - spare - repair);
    if (prices.bill_spares) {
      bill.of(CostCategory::spares) = price * spare;
      bill.of(CostCategory::repair) = price * repair;
    }
  }
  add_energy(ledger, bill);
  const Seconds wall = to_seconds(end);
  bill.of(CostCategory::storage) =
      wall * (prices.stored_data + prices.per_stored_gigabyte *
                                       (in_gigabytes(plan_.checkpoint.size) *
                                        mean_checkpoints_kept(plan_.checkpoint, use.checkpoints)));
  bill.of(CostCategory::egress) = prices.out;
  bill.of(CostCategory::operators) = prices.per_failure * static_cast<double>(use.failures);
  return bill;
}

// What is left of a commitment when the run is over is paid all the same.
void Billing::charge_commitment(SimTime end, Bill& bill) const {
  const std::optional<PlannedReservation>& reserved = plan_.pricing.reserved;
  if (reserved && reserved->paid_until && end < *reserved->paid_until) {
    bill.of(CostCategory::reservation) +=
        reserved->per_node *
        (static_cast<double>(reserved->nodes) * to_seconds(*reserved->paid_until - end));
  }
}

void Billing::add_energy(const RunLedger& ledger, Bill& bill) const {
  if (!plan_.pricing.energy) {
    return;
  }
  const PlannedEnergy& energy = *plan_.pricing.energy;
  Seconds busy;
  Seconds idle;
  for (std::size_t i = 0; i < RunLedger::kCategories; ++i) {
    const auto category = static_cast<RunCategory>(i);
    (is_busy(category) ? busy : idle) += ledger.gpu_time(category);
  }
  const double per_gpu_second =
      1.0 / (kJoulesPerKilowattHour * static_cast<double>(plan_.step.gpus_per_node));
  bill.busy_kilowatt_hours = in_seconds(busy) * energy.busy_watts * per_gpu_second;
  bill.idle_kilowatt_hours = in_seconds(idle) * energy.idle_watts * per_gpu_second;
  const double all = bill.busy_kilowatt_hours + bill.idle_kilowatt_hours;
  bill.of(CostCategory::energy) = all * energy.per_kilowatt_hour;
  bill.carbon_kilograms = all * energy.kilograms_per_kilowatt_hour.value_or(0.0);
}

double mean_checkpoints_kept(const CheckpointPlan& plan, std::int64_t copies) {
  double frequencies = 0.0;
  for (const PlannedTier& tier : plan.tiers) {
    frequencies += 1.0 / static_cast<double>(tier.every_saves);
  }
  const double last = plan.tiers.empty()
                          ? 1.0
                          : 1.0 / static_cast<double>(plan.tiers.back().every_saves) / frequencies;
  const double saved = last * static_cast<double>(copies);
  if (!plan.kept) {
    return 0.5 * saved;
  }
  const double newest = std::min(saved, static_cast<double>(*plan.kept));
  return newest +
         (plan.kept_every ? 0.5 * (saved - newest) / static_cast<double>(*plan.kept_every) : 0.0);
}

}  // namespace orrery::run
