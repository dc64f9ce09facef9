#include <algorithm>

#include "sim/run/planning.hpp"

namespace orrery::run {

namespace {

constexpr double kDaysPerYear = 365.0;
constexpr double kMonthsPerYear = 12.0;
constexpr double kIdleShare = 1.0 / 3.0;  // assumed: a node that waits draws a third of its power

// Of any price, power or amount, in the unit of its key: beyond it a sum could leave the numbers.
constexpr double kMostOfAll = kGiga;
constexpr const char* kPrices = "$0 to $1,000,000,000";
constexpr const char* kPowers = "0 W to 1 GW";

bool is_amount(double value) { return value >= 0.0 && value <= kMostOfAll; }

bool is_price(DollarsPerSecond price) { return is_amount(in_dollars_per_hour(price)); }

void require_price(Dollars price, std::string_view key, Findings& findings) {
  findings.require(is_amount(in_dollars(price)), key, "is no price", kPrices);
}

bool require_price(DollarsPerSecond price, std::string_view key, Findings& findings) {
  return findings.require(is_price(price), key, "is no price", kPrices);
}

PriceSpec with_preset(const PriceSpec& spec) {
  PriceSpec result = spec;
  if (spec.preset == nullptr) {
    return result;
  }
  const PriceSpec& base = spec.preset->spec;
  if (!spec.owned && !spec.gpu_hour) {
    result.gpu_hour = base.gpu_hour;
  }
  if (!spec.spot_gpu_hour) {
    result.spot_gpu_hour = base.spot_gpu_hour;
  }
  if (spec.as_of.empty()) {
    result.as_of = base.as_of;
  }
  return result;
}

// Dollars per owned GPU and second, whether it works or not.
DollarsPerSecond owned_price(const OwnedSpec& owned) {
  const Seconds year = days(kDaysPerYear);
  return owned.purchase * (1.0 - owned.residual) / owned.lifetime +
         owned.purchase * owned.maintenance / year;
}

void check_owned(const PriceSpec& spec, Findings& findings) {
  const OwnedSpec& owned = *spec.owned;
  findings.require(!spec.gpu_hour, "prices.owned", "owned nodes have no price per hour",
                   "either prices.owned or prices.gpu_hour");
  findings.require(spec.changes.empty(), "prices.changes",
                   "the cost of owned nodes does not change with a price per hour");
  require_price(owned.purchase, "prices.owned.gpu", findings);
  findings.require_positive_time(owned.lifetime, "prices.owned.lifetime");
  findings.require_share(owned.residual, "prices.owned.residual");
  findings.require(is_amount(owned.maintenance), "prices.owned.maintenance",
                   "must not be negative");
}

std::optional<SimTime> begin_of(const PriceChange& change, std::optional<std::int64_t> start,
                                Findings& findings) {
  constexpr std::string_view kKey = "prices.changes";
  if (change.after) {
    return findings.require(in_range(*change.after), kKey, "must begin within 73 years")
               ? std::optional(bounded_time(*change.after))
               : std::nullopt;
  }
  if (!findings.require(start.has_value(), kKey, "a price from a date on needs training.start",
                        "a date with training.start, or a time such as 30d")) {
    return std::nullopt;
  }
  const auto after = static_cast<double>(change.date.value_or(*start) - *start);
  return bounded_time(seconds(std::max(0.0, after)));
}

void plan_fixed(const PriceSpec& spec, std::optional<std::int64_t> start, RunPlan& plan,
                Findings& findings) {
  const auto per_node = static_cast<double>(plan.step.gpus_per_node);
  PricePlan& pricing = plan.pricing;
  if (spec.owned) {
    check_owned(spec, findings);
    if (findings.sound()) {
      pricing.fixed.push_back({SimTime{}, owned_price(*spec.owned) * per_node});
    }
    return;
  }
  if (!spec.gpu_hour) {
    findings.require(spec.changes.empty(), "prices.changes", "changes no price", "prices.gpu_hour");
    return;
  }
  require_price(*spec.gpu_hour, "prices.gpu_hour", findings);
  pricing.fixed.push_back({SimTime{}, *spec.gpu_hour * per_node});
  for (const PriceChange& change : spec.changes) {
    const std::optional<SimTime> from = begin_of(change, start, findings);
    if (!from || !require_price(change.gpu_hour, "prices.changes", findings) ||
        !findings.require(*from >= pricing.fixed.back().from, "prices.changes",
                          "a change comes before the one above it", "in the order of time")) {
      return;
    }
    if (*from == pricing.fixed.back().from) {
      pricing.fixed.pop_back();  // the later one holds
    }
    pricing.fixed.push_back({*from, change.gpu_hour * per_node});
  }
}

void plan_spot_price(const PriceSpec& spec, RunPlan& plan, Findings& findings) {
  const auto per_node = static_cast<double>(plan.step.gpus_per_node);
  if (plan.capacity.spot) {
    const std::vector<SpotTrace>& traces = plan.capacity.spot->traces;
    plan.pricing.traced_spot = std::ranges::any_of(
        traces, [](const SpotTrace& trace) { return trace.rows.front().price.has_value(); });
  }
  if (!spec.spot_gpu_hour) {
    return;
  }
  require_price(*spec.spot_gpu_hour, "prices.spot_gpu_hour", findings);
  if (plan.capacity.spot) {
    plan.pricing.spot = *spec.spot_gpu_hour * per_node;
  }
}

void plan_reservation(const ReservedSpec& spec, RunPlan& plan, Findings& findings) {
  findings.require_one(spec.nodes, "prices.reserved.nodes");
  require_price(spec.gpu_hour, "prices.reserved.gpu_hour", findings);
  PlannedReservation reserved{
      spec.nodes, spec.gpu_hour * static_cast<double>(plan.step.gpus_per_node), std::nullopt};
  if (spec.commitment) {
    findings.require_positive_time(*spec.commitment, "prices.reserved.commitment");
    reserved.paid_until = bounded_time(*spec.commitment);
  }
  plan.pricing.reserved = reserved;
}

void plan_energy(const EnergySpec& spec, RunPlan& plan, Findings& findings) {
  const double busy = spec.busy_watts.value_or(plan.step.node_watts);
  const double idle = spec.idle_watts.value_or(busy * kIdleShare);
  findings.require(is_amount(busy), "prices.energy.busy", "is no power of a node", kPowers);
  findings.require(is_amount(idle), "prices.energy.idle", "is no power of a node", kPowers);
  findings.require(is_amount(spec.pue) && spec.pue >= 1.0, "prices.energy.pue",
                   "must be at least 1", "1 to 3");
  const Dollars price = spec.per_kilowatt_hour.value_or(Dollars{});
  require_price(price, "prices.energy.kilowatt_hour", findings);
  findings.require(is_amount(spec.kilograms_per_kilowatt_hour.value_or(0.0)),
                   "prices.energy.carbon", "must not be negative");
  plan.pricing.energy =
      PlannedEnergy{busy * spec.pue, idle * spec.pue, price, spec.kilograms_per_kilowatt_hour};
}

void plan_storage(const StoragePriceSpec& spec, RunPlan& plan, Findings& findings) {
  const Dollars stored = spec.per_gigabyte_month.value_or(Dollars{});
  const Dollars out = spec.per_gigabyte_out.value_or(Dollars{});
  require_price(stored, "prices.storage.gigabyte_month", findings);
  require_price(out, "prices.egress.gigabyte", findings);
  plan.pricing.per_stored_gigabyte = stored / days(kDaysPerYear / kMonthsPerYear);
  plan.pricing.stored_data = plan.pricing.per_stored_gigabyte * in_gigabytes(spec.data);
  plan.pricing.out = out * in_gigabytes(spec.out);
}

}  // namespace

std::optional<Seconds> budget_window(Dollars money, const RunSpec& spec, const StepInput& step) {
  const PriceSpec prices = with_preset(spec.prices);
  const std::int64_t held = step.nodes + (prices.bill_spares ? spec.capacity.spares : 0);
  if (!prices.gpu_hour || !is_price(*prices.gpu_hour) || *prices.gpu_hour <= DollarsPerSecond{} ||
      prices.owned || prices.reserved || !prices.changes.empty() || spec.capacity.spot) {
    return std::nullopt;
  }
  return money / (*prices.gpu_hour * static_cast<double>(held * step.gpus_per_node));
}

void plan_prices(const RunSpec& run, RunPlan& plan, Findings& findings) {
  const PriceSpec spec = with_preset(run.prices);
  plan.pricing = {};
  plan.pricing.bill_spares = spec.bill_spares;
  plan.pricing.as_of = spec.as_of;
  plan_fixed(spec, run.training.start, plan, findings);
  plan_spot_price(spec, plan, findings);
  if (spec.reserved) {
    plan_reservation(*spec.reserved, plan, findings);
  }
  if (spec.energy) {
    plan_energy(*spec.energy, plan, findings);
  }
  if (spec.storage) {
    plan_storage(*spec.storage, plan, findings);
  }
  if (spec.operators) {
    const OperatorSpec& operators = *spec.operators;
    findings.require(is_price(operators.per_hour) && in_range(operators.per_failure),
                     "prices.operators", "neither the price nor the time may be negative", kPrices);
    plan.pricing.per_failure = operators.per_hour * operators.per_failure;
  }
  const PricePlan& pricing = plan.pricing;
  plan.pricing.priced = !pricing.fixed.empty() || pricing.spot || pricing.traced_spot ||
                        pricing.reserved || spec.storage || spec.operators ||
                        (spec.energy && spec.energy->per_kilowatt_hour);
}

}  // namespace orrery::run
