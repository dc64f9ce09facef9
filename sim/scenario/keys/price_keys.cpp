// Keys of `prices`: nodes by contract, energy, storage, people.

#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using run::PriceSpec;
using yaml::between;
namespace kind = yaml::kind;

bool is_priced(const Draft& draft) {
  const PriceSpec& prices = draft.run.prices;
  return prices.gpu_hour || prices.owned || prices.preset;
}

bool has_spares(const Draft& draft) {
  const run::CapacitySpec& capacity = draft.run.capacity;
  return capacity.spares + capacity.warm.nodes + capacity.cold.nodes > 0;
}

PriceSpec& prices(Draft& draft) { return draft.run.prices; }

void add_hourly(Rows& keys) {
  keys.preset("prices.preset", "Dated prices of a provider; keys stated here replace its values.",
              "aws-p5-h100-2026", PresetKind::prices,
              preset_at(&Preset::prices, ORRERY_AT(run.prices.preset)),
              {.note = "prices are stated, or there are none"});
  keys.value<kind::PriceRate>(
      "prices.gpu_hour", "Price of one GPU of a node that is not on spot, reserved or owned.",
      "$2.50/h", {}, ORRERY_AT(run.prices.gpu_hour), {.note = "no dollars in the answer"});
  Key& as_of = keys.value<kind::Date>(
      "prices.as_of", "Date of the price, printed beside the cost.", "2026-11-01", {},
      [](Draft&, const yaml::DateTime&) {},
      {.note = "the preset's, else not printed",
       .idle = {ORRERY_WHEN(
           in_run(d) && !is_priced(d) && !d.run.prices.spot_gpu_hour && !d.run.prices.reserved,
           "there is no price")}});
  as_of.print = [](Draft& draft) -> std::optional<std::string> {
    const std::string& date = draft.run.prices.as_of;
    return date.empty() ? std::nullopt : std::optional(date);
  };
  as_of.read = [](const yaml::Value& value, const std::string& path, Reading& reading) {
    if (yaml::read_value<kind::Date>(value, path, reading.diagnostics)) {
      prices(reading.draft).as_of = value.text;
    }
  };
  keys.flag(
      "prices.bill_spares", "Spares and nodes in repair cost as much as the others.", "false",
      ORRERY_AT(run.prices.bill_spares),
      {.fallback = "true",
       .idle = {ORRERY_WHEN(in_run(d) && !is_priced(d), "there is no price"),
                ORRERY_WHEN(in_run(d) && is_priced(d) && !has_spares(d), "there are no spares")}});
  keys.value<kind::PriceRate>("prices.spot_gpu_hour",
                              "Price of one GPU on spot; prices in a trace come before it.",
                              "$1.20/h", {}, ORRERY_AT(run.prices.spot_gpu_hour),
                              {.note = "prices.gpu_hour",
                               .idle = {ORRERY_WHEN(in_run(d) && !d.run.capacity.spot,
                                                    "no node is on spot (capacity.spot)")}});
}

void read_from(const yaml::Value& value, const std::string& path, Reading& reading) {
  run::PriceChange& change = prices(reading.draft).changes.back();
  if (kind::Date::parse(value.text).value) {
    change.date = kind::Date::parse(value.text).value->unix_seconds;
    return;
  }
  change.after = yaml::read_value<kind::Time>(value, path, reading.diagnostics, kSpan);
}

void add_changes(Rows& keys) {
  keys.list("prices.changes", "Later prices of the same, in the order of time.",
            "[{from: 2027-01-01, gpu_hour: $2.00/h}]", ORRERY_AT(run.prices.changes),
            {.note = "one price for the whole run"});
  Key& from = keys.add("prices.changes[].from", "A date, or a time after the start of the run.",
                       "30d", {.required = true});
  from.forms = {form_of<kind::Date>({}), form_of<kind::Time>(kSpan)};
  from.read = read_from;
  from.print = [](Draft& draft) {
    const run::PriceChange& change = prices(draft).changes.back();
    return change.date ? kind::Date::format({*change.date}) : kind::Time::format(*change.after);
  };
  keys.value<kind::PriceRate>("prices.changes[].gpu_hour", "Price of one GPU from then on.",
                              "$2.00/h", {}, ORRERY_AT(run.prices.changes.back().gpu_hour),
                              {.required = true});
}

void add_reserved(Rows& keys) {
  keys.part("prices.reserved", "Nodes that are paid for whether they are used or not.",
            "{nodes: 128, gpu_hour: $1.80/h, commitment: 365d}", ORRERY_AT(run.prices.reserved),
            {.note = "nothing is reserved"});
  keys.count("prices.reserved.nodes", "How many; they are used before others.", "128",
             {1, 1'000'000}, ORRERY_AT(run.prices.reserved->nodes), {.required = true});
  keys.value<kind::PriceRate>("prices.reserved.gpu_hour", "Price of one reserved GPU.", "$1.80/h",
                              {}, ORRERY_AT(run.prices.reserved->gpu_hour), {.required = true});
  keys.value<kind::Time>(
      "prices.reserved.commitment",
      "From the start of the run on; what is left of it at the end is paid, too.", "365d",
      kPositiveSpan, ORRERY_AT(run.prices.reserved->commitment), {.note = "as long as the run"});
}

void add_owned(Rows& keys) {
  keys.part("prices.owned", "Nodes that belong to whoever trains, in place of a price per hour.",
            "{gpu: $35k, lifetime: 1460d}", ORRERY_AT(run.prices.owned),
            {.note = "nodes are rented"});
  keys.value<kind::Money>("prices.owned.gpu",
                          "Purchase price of one GPU with its share of host, network and building.",
                          "$35k", {}, ORRERY_AT(run.prices.owned->purchase), {.required = true});
  keys.value<kind::Time>(
      "prices.owned.lifetime", "Time over which the purchase is written off, in a straight line.",
      "1460d", kPositiveSpan, ORRERY_AT(run.prices.owned->lifetime), {.required = true});
  keys.value<kind::Number>(
      "prices.owned.residual", "Share of the purchase price that is left then.", "0.1",
      between(0.0, 1.0), ORRERY_AT(run.prices.owned->residual), {.fallback = "0"});
  keys.value<kind::Number>("prices.owned.maintenance",
                           "Service and spare parts per year, as a share of the purchase price.",
                           "0.05", between(0.0, 10.0), ORRERY_AT(run.prices.owned->maintenance),
                           {.fallback = "0"});
}

void add_energy(Rows& keys) {
  keys.part("prices.energy", "Power of the nodes, and what energy costs and emits.",
            "{busy: 10.2kW, idle: 3kW, kilowatt_hour: $0.08}", ORRERY_AT(run.prices.energy),
            {.note = "energy is in the price of the nodes"});
  keys.value<kind::Power>("prices.energy.busy",
                          "Power of a node that trains, evaluates or warms up.", "10.2kW", {},
                          ORRERY_AT(run.prices.energy->busy_watts),
                          {.note = "the GPUs of a node at the power limit of their profile"});
  keys.value<kind::Power>(
      "prices.energy.idle",
      "Power of a node that waits, saves, recovers, or is a spare or in repair.", "3kW", {},
      ORRERY_AT(run.prices.energy->idle_watts), {.note = "a third of busy (assumed)"});
  keys.value<kind::Number>("prices.energy.pue", "Power of the site over power of the nodes.", "1.1",
                           between(1.0, 10.0), ORRERY_AT(run.prices.energy->pue),
                           {.fallback = "1"});
  keys.value<kind::Money>("prices.energy.kilowatt_hour", "Price of one kilowatt hour.", "$0.08", {},
                          ORRERY_AT(run.prices.energy->per_kilowatt_hour),
                          {.note = "energy is in the price of the nodes"});
  keys.value<kind::CarbonIntensity>("prices.energy.carbon",
                                    "Carbon dioxide of the grid per energy.", "400g/kWh", {},
                                    ORRERY_AT(run.prices.energy->kilograms_per_kilowatt_hour),
                                    {.note = "no carbon in the answer"});
}

void add_data(Rows& keys) {
  keys.part("prices.storage", "Storage of checkpoints and data.",
            "{gigabyte_month: $0.02, data: 60TB}", ORRERY_AT(run.prices.storage),
            {.note = "storage is free"});
  keys.value<kind::Money>(
      "prices.storage.gigabyte_month",
      "Price of one gigabyte (10^9 bytes) for a month, of the checkpoints kept and of data.",
      "$0.02", {}, ORRERY_AT(run.prices.storage->per_gigabyte_month), {.required = true});
  keys.value<kind::Size>("prices.storage.data",
                         "Data stored beside the checkpoints, such as the training set.", "60TB",
                         {}, ORRERY_AT(run.prices.storage->data), {.fallback = "0B"});
  keys.part("prices.egress", "Data that leaves the provider.", "{gigabyte: $0.09, data: 800GB}",
            ORRERY_AT(run.prices.storage), {.note = "nothing leaves, or leaving is free"});
  keys.value<kind::Money>("prices.egress.gigabyte", "Price of one gigabyte that leaves.", "$0.09",
                          {}, ORRERY_AT(run.prices.storage->per_gigabyte_out), {.required = true});
  keys.value<kind::Size>("prices.egress.data", "How much leaves in the course of the run.", "800GB",
                         {}, ORRERY_AT(run.prices.storage->out), {.required = true});
  keys.part("prices.operators", "Work of people on failures.", "{hour: $150/h, per_failure: 30min}",
            ORRERY_AT(run.prices.operators), {.note = "people are not in the bill"});
  keys.value<kind::PriceRate>("prices.operators.hour", "Price of their time.", "$150/h", {},
                              ORRERY_AT(run.prices.operators->per_hour), {.required = true});
  keys.value<kind::Time>("prices.operators.per_failure", "Their work on one failure, on average.",
                         "30min", kSpan, ORRERY_AT(run.prices.operators->per_failure),
                         {.required = true});
}

}  // namespace

void price_keys(Rows& keys) {
  keys.section(
      "prices", "What nodes, energy, storage and people cost.",
      "{gpu_hour: $2.50/h, as_of: 2026-11-01}",
      {.note = "no dollars in the answer",
       .idle = {ORRERY_WHEN(!in_run(d) && !d.scenario.rollout, "there is no `training`, so no run"),
                ORRERY_WHEN(d.scenario.rollout && !d.scenario.rollout->gpu_hour,
                            "a rollout counts prices.gpu_hour alone")}});
  add_hourly(keys);
  add_changes(keys);
  add_reserved(keys);
  add_owned(keys);
  add_energy(keys);
  add_data(keys);
}

}  // namespace orrery::scenario
