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

void add_hourly(std::vector<Key>& keys) {
  keys.push_back(
      preset_key({.path = "prices.preset",
                  .note = "prices are stated, or there are none",
                  .meaning = "Dated prices of a provider; keys stated here replace its values.",
                  .example = "aws-p5-h100-2026"},
                 PresetKind::prices, preset_at(&Preset::prices, ORRERY_AT(run.prices.preset))));
  keys.push_back(value_key<kind::PriceRate>(
      {.path = "prices.gpu_hour",
       .note = "no dollars in the answer",
       .meaning = "Price of one GPU of a node that is not on spot, reserved or owned.",
       .example = "$2.50/h"},
      {}, ORRERY_AT(run.prices.gpu_hour)));
  Key as_of = value_key<kind::Date>(
      {.path = "prices.as_of",
       .note = "the preset's, else not printed",
       .meaning = "Date of the price, printed beside the cost.",
       .example = "2026-11-01",
       .idle = {ORRERY_WHEN(
           in_run(d) && !is_priced(d) && !d.run.prices.spot_gpu_hour && !d.run.prices.reserved,
           "there is no price")}},
      {}, [](Draft&, const yaml::DateTime&) {});
  as_of.print = [](Draft& draft) -> std::optional<std::string> {
    const std::string& date = draft.run.prices.as_of;
    return date.empty() ? std::nullopt : std::optional(date);
  };
  as_of.read = [](const yaml::Value& value, const std::string& path, Reading& reading) {
    if (yaml::read_value<kind::Date>(value, path, reading.diagnostics)) {
      prices(reading.draft).as_of = value.text;
    }
  };
  keys.push_back(std::move(as_of));
  keys.push_back(flag_key(
      {.path = "prices.bill_spares",
       .fallback = "true",
       .meaning = "Spares and nodes in repair cost as much as the others.",
       .example = "false",
       .idle = {ORRERY_WHEN(in_run(d) && !is_priced(d), "there is no price"),
                ORRERY_WHEN(in_run(d) && is_priced(d) && !has_spares(d), "there are no spares")}},
      ORRERY_AT(run.prices.bill_spares)));
  keys.push_back(value_key<kind::PriceRate>(
      {.path = "prices.spot_gpu_hour",
       .note = "prices.gpu_hour",
       .meaning = "Price of one GPU on spot; prices in a trace come before it.",
       .example = "$1.20/h",
       .idle = {ORRERY_WHEN(in_run(d) && !d.run.capacity.spot,
                            "no node is on spot (capacity.spot)")}},
      {}, ORRERY_AT(run.prices.spot_gpu_hour)));
}

void read_from(const yaml::Value& value, const std::string& path, Reading& reading) {
  run::PriceChange& change = prices(reading.draft).changes.back();
  if (kind::Date::parse(value.text).value) {
    change.date = kind::Date::parse(value.text).value->unix_seconds;
    return;
  }
  change.after = yaml::read_value<kind::Time>(value, path, reading.diagnostics, kSpan);
}

void add_changes(std::vector<Key>& keys) {
  keys.push_back(list_key({.path = "prices.changes",
                           .note = "one price for the whole run",
                           .meaning = "Later prices of the same, in the order of time.",
                           .example = "[{from: 2027-01-01, gpu_hour: $2.00/h}]"},
                          ORRERY_AT(run.prices.changes)));
  Key from = key_of({.path = "prices.changes[].from",
                     .meaning = "A date, or a time after the start of the run.",
                     .example = "30d",
                     .required = true});
  from.forms = {form_of<kind::Date>({}), form_of<kind::Time>(kSpan)};
  from.read = read_from;
  from.print = [](Draft& draft) {
    const run::PriceChange& change = prices(draft).changes.back();
    return change.date ? kind::Date::format({*change.date}) : kind::Time::format(*change.after);
  };
  keys.push_back(std::move(from));
  keys.push_back(value_key<kind::PriceRate>({.path = "prices.changes[].gpu_hour",
                                             .meaning = "Price of one GPU from then on.",
                                             .example = "$2.00/h",
                                             .required = true},
                                            {}, ORRERY_AT(run.prices.changes.back().gpu_hour)));
}

void add_reserved(std::vector<Key>& keys) {
  keys.push_back(section_at({.path = "prices.reserved",
                             .note = "nothing is reserved",
                             .meaning = "Nodes that are paid for whether they are used or not.",
                             .example = "{nodes: 128, gpu_hour: $1.80/h, commitment: 365d}"},
                            ORRERY_AT(run.prices.reserved)));
  keys.push_back(count_key({.path = "prices.reserved.nodes",
                            .meaning = "How many; they are used before others.",
                            .example = "128",
                            .required = true},
                           {1, 1'000'000}, ORRERY_AT(run.prices.reserved->nodes)));
  keys.push_back(value_key<kind::PriceRate>({.path = "prices.reserved.gpu_hour",
                                             .meaning = "Price of one reserved GPU.",
                                             .example = "$1.80/h",
                                             .required = true},
                                            {}, ORRERY_AT(run.prices.reserved->gpu_hour)));
  keys.push_back(value_key<kind::Time>(
      {.path = "prices.reserved.commitment",
       .note = "as long as the run",
       .meaning = "From the start of the run on; what is left of it at the end is paid, too.",
       .example = "365d"},
      kPositiveSpan, ORRERY_AT(run.prices.reserved->commitment)));
}

void add_owned(std::vector<Key>& keys) {
  keys.push_back(section_at({.path = "prices.owned",
                             .note = "nodes are rented",
                             .meaning = "Nodes that belong to whoever trains, in place of a price "
                                        "per hour.",
                             .example = "{gpu: $35k, lifetime: 1460d}"},
                            ORRERY_AT(run.prices.owned)));
  keys.push_back(value_key<kind::Money>(
      {.path = "prices.owned.gpu",
       .meaning = "Purchase price of one GPU with its share of host, network and building.",
       .example = "$35k",
       .required = true},
      {}, ORRERY_AT(run.prices.owned->purchase)));
  keys.push_back(value_key<kind::Time>(
      {.path = "prices.owned.lifetime",
       .meaning = "Time over which the purchase is written off, in a straight line.",
       .example = "1460d",
       .required = true},
      kPositiveSpan, ORRERY_AT(run.prices.owned->lifetime)));
  keys.push_back(
      value_key<kind::Number>({.path = "prices.owned.residual",
                               .fallback = "0",
                               .meaning = "Share of the purchase price that is left then.",
                               .example = "0.1"},
                              between(0.0, 1.0), ORRERY_AT(run.prices.owned->residual)));
  keys.push_back(value_key<kind::Number>(
      {.path = "prices.owned.maintenance",
       .fallback = "0",
       .meaning = "Service and spare parts per year, as a share of the purchase price.",
       .example = "0.05"},
      between(0.0, 10.0), ORRERY_AT(run.prices.owned->maintenance)));
}

void add_energy(std::vector<Key>& keys) {
  keys.push_back(section_at({.path = "prices.energy",
                             .note = "energy is in the price of the nodes",
                             .meaning = "Power of the nodes, and what energy costs and emits.",
                             .example = "{busy: 10.2kW, idle: 3kW, kilowatt_hour: $0.08}"},
                            ORRERY_AT(run.prices.energy)));
  keys.push_back(
      value_key<kind::Power>({.path = "prices.energy.busy",
                              .note = "the GPUs of a node at the power limit of their profile",
                              .meaning = "Power of a node that trains, evaluates or warms up.",
                              .example = "10.2kW"},
                             {}, ORRERY_AT(run.prices.energy->busy_watts)));
  keys.push_back(value_key<kind::Power>(
      {.path = "prices.energy.idle",
       .note = "a third of busy (assumed)",
       .meaning = "Power of a node that waits, saves, recovers, or is a spare or in repair.",
       .example = "3kW"},
      {}, ORRERY_AT(run.prices.energy->idle_watts)));
  keys.push_back(value_key<kind::Number>({.path = "prices.energy.pue",
                                          .fallback = "1",
                                          .meaning = "Power of the site over power of the nodes.",
                                          .example = "1.1"},
                                         between(1.0, 10.0), ORRERY_AT(run.prices.energy->pue)));
  keys.push_back(value_key<kind::Money>({.path = "prices.energy.kilowatt_hour",
                                         .note = "energy is in the price of the nodes",
                                         .meaning = "Price of one kilowatt hour.",
                                         .example = "$0.08"},
                                        {}, ORRERY_AT(run.prices.energy->per_kilowatt_hour)));
  keys.push_back(value_key<kind::CarbonIntensity>(
      {.path = "prices.energy.carbon",
       .note = "no carbon in the answer",
       .meaning = "Carbon dioxide of the grid per energy.",
       .example = "400g/kWh"},
      {}, ORRERY_AT(run.prices.energy->kilograms_per_kilowatt_hour)));
}

void add_data(std::vector<Key>& keys) {
  keys.push_back(section_at({.path = "prices.storage",
                             .note = "storage is free",
                             .meaning = "Storage of checkpoints and data.",
                             .example = "{gigabyte_month: $0.02, data: 60TB}"},
                            ORRERY_AT(run.prices.storage)));
  keys.push_back(value_key<kind::Money>(
      {.path = "prices.storage.gigabyte_month",
       .meaning = "Price of one gigabyte (10^9 bytes) for a month, of the checkpoints kept and of "
                  "data.",
       .example = "$0.02",
       .required = true},
      {}, ORRERY_AT(run.prices.storage->per_gigabyte_month)));
  keys.push_back(value_key<kind::Size>(
      {.path = "prices.storage.data",
       .fallback = "0B",
       .meaning = "Data stored beside the checkpoints, such as the training set.",
       .example = "60TB"},
      {}, ORRERY_AT(run.prices.storage->data)));
  keys.push_back(section_at({.path = "prices.egress",
                             .note = "nothing leaves, or leaving is free",
                             .meaning = "Data that leaves the provider.",
                             .example = "{gigabyte: $0.09, data: 800GB}"},
                            ORRERY_AT(run.prices.storage)));
  keys.push_back(value_key<kind::Money>({.path = "prices.egress.gigabyte",
                                         .meaning = "Price of one gigabyte that leaves.",
                                         .example = "$0.09",
                                         .required = true},
                                        {}, ORRERY_AT(run.prices.storage->per_gigabyte_out)));
  keys.push_back(value_key<kind::Size>({.path = "prices.egress.data",
                                        .meaning = "How much leaves in the course of the run.",
                                        .example = "800GB",
                                        .required = true},
                                       {}, ORRERY_AT(run.prices.storage->out)));
  keys.push_back(section_at({.path = "prices.operators",
                             .note = "people are not in the bill",
                             .meaning = "Work of people on failures.",
                             .example = "{hour: $150/h, per_failure: 30min}"},
                            ORRERY_AT(run.prices.operators)));
  keys.push_back(value_key<kind::PriceRate>({.path = "prices.operators.hour",
                                             .meaning = "Price of their time.",
                                             .example = "$150/h",
                                             .required = true},
                                            {}, ORRERY_AT(run.prices.operators->per_hour)));
  keys.push_back(value_key<kind::Time>({.path = "prices.operators.per_failure",
                                        .meaning = "Their work on one failure, on average.",
                                        .example = "30min",
                                        .required = true},
                                       kSpan, ORRERY_AT(run.prices.operators->per_failure)));
}

}  // namespace

std::vector<Key> price_keys() {
  std::vector<Key> keys;
  keys.push_back(section_key(
      {.path = "prices",
       .note = "no dollars in the answer",
       .meaning = "What nodes, energy, storage and people cost.",
       .example = "{gpu_hour: $2.50/h, as_of: 2026-11-01}",
       .idle = {ORRERY_WHEN(!in_run(d) && !d.scenario.rollout, "there is no `training`, so no run"),
                ORRERY_WHEN(d.scenario.rollout && !d.scenario.rollout->gpu_hour,
                            "a rollout counts prices.gpu_hour alone")}}));
  add_hourly(keys);
  add_changes(keys);
  add_reserved(keys);
  add_owned(keys);
  add_energy(keys);
  add_data(keys);
  return keys;
}

}  // namespace orrery::scenario
