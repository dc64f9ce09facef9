#include <gtest/gtest.h>

#include <fstream>

#include "tests/support.hpp"
#include "tests/unit/scenario/dump_lines.hpp"
#include "tests/unit/scenario/key_effect.hpp"

namespace orrery::scenario {

void dump_capacity(Lines& lines, const run::CapacitySpec& capacity) {
  lines.add("capacity.spares", capacity.spares);
  lines.add("capacity.warm.nodes", capacity.warm.nodes);
  lines.law("capacity.warm.ready", capacity.warm.ready);
  lines.add("capacity.warm.held", capacity.warm.held);
  lines.add("capacity.cold.nodes", capacity.cold.nodes);
  lines.law("capacity.cold.ready", capacity.cold.ready);
  lines.add("capacity.cold.held", capacity.cold.held);
  lines.law("capacity.repair_time", capacity.repair_time);
  lines.add("capacity.repair.fails", capacity.repair.fails);
  lines.add("capacity.repair.crews", capacity.repair.crews);
  lines.add("capacity.repair.retire", capacity.repair.retire);
  lines.law("capacity.repair.replacement", capacity.repair.replacement);
  const run::ManualRepairSpec manual = capacity.repair.manual.value_or(run::ManualRepairSpec{});
  lines.add("capacity.repair.manual.escalates", manual.escalates);
  lines.law("capacity.repair.manual.time", manual.time);
  lines.add("capacity.repair.manual.fails", manual.fails);
  const run::ElasticSpec elastic = capacity.elastic.value_or(run::ElasticSpec{});
  lines.add("capacity.elastic.min_nodes", elastic.min_nodes);
  lines.add("capacity.elastic.grow", elastic.grow);
  const run::BatchRange batch = elastic.batch.value_or(run::BatchRange{});
  lines.add("capacity.elastic.batch.min", batch.min);
  lines.add("capacity.elastic.batch.max", batch.max);
  const run::SpotSpec spot = capacity.spot.value_or(run::SpotSpec{});
  lines.add("capacity.spot.share", spot.share);
  lines.add("capacity.spot.rate", spot.rate);
  lines.add("capacity.spot.burst", spot.burst);
  lines.law("capacity.spot.returns", spot.returns);
  lines.add("capacity.spot.start", spot.start);
  lines.add("capacity.spot.notice", spot.notice);
  lines.law("capacity.spot.ready", spot.ready);
  lines.law("capacity.spot.migration", spot.migration);
  for (std::size_t i = 0; i < spot.zones.size(); ++i) {
    const std::string field = fmt::format("capacity.spot.traces[{}]", i);
    lines.add(field, spot.zones[i].name);
    lines.add(field + ".rows", spot.zones[i].trace ? spot.zones[i].trace->rows.size() : 0);
  }
}

void dump_prices(Lines& lines, const run::PriceSpec& prices) {
  lines.add("prices.preset", prices.preset ? prices.preset->name : "");
  lines.add("prices.gpu_hour", prices.gpu_hour);
  lines.add("prices.as_of", prices.as_of);
  lines.add("prices.bill_spares", prices.bill_spares);
  lines.add("prices.spot_gpu_hour", prices.spot_gpu_hour);
  for (std::size_t i = 0; i < prices.changes.size(); ++i) {
    const std::string field = fmt::format("prices.changes[{}].", i);
    lines.add(field + "after", prices.changes[i].after);
    lines.add(field + "date", prices.changes[i].date);
    lines.add(field + "gpu_hour", prices.changes[i].gpu_hour);
  }
  if (prices.reserved) {
    lines.add("prices.reserved.nodes", prices.reserved->nodes);
    lines.add("prices.reserved.gpu_hour", prices.reserved->gpu_hour);
    lines.add("prices.reserved.commitment", prices.reserved->commitment);
  }
  if (prices.owned) {
    lines.add("prices.owned.gpu", prices.owned->purchase);
    lines.add("prices.owned.lifetime", prices.owned->lifetime);
    lines.add("prices.owned.residual", prices.owned->residual);
    lines.add("prices.owned.maintenance", prices.owned->maintenance);
  }
  const run::EnergySpec energy = prices.energy.value_or(run::EnergySpec{});
  lines.add("prices.energy.busy_watts", energy.busy_watts);
  lines.add("prices.energy.idle_watts", energy.idle_watts);
  lines.add("prices.energy.pue", energy.pue);
  lines.add("prices.energy.per_kilowatt_hour", energy.per_kilowatt_hour);
  lines.add("prices.energy.carbon", energy.kilograms_per_kilowatt_hour);
  const run::StoragePriceSpec storage = prices.storage.value_or(run::StoragePriceSpec{});
  lines.add("prices.storage.gigabyte_month", storage.per_gigabyte_month);
  lines.add("prices.storage.data", storage.data);
  lines.add("prices.egress.gigabyte", storage.per_gigabyte_out);
  lines.add("prices.egress.data", storage.out);
  if (prices.operators) {
    lines.add("prices.operators.hour", prices.operators->per_hour);
    lines.add("prices.operators.per_failure", prices.operators->per_failure);
  }
}

namespace {

// A trace of two rows in a folder for such files.
std::string trace_file() {
  static const TempFolder folder;
  return folder.write("capacity_effects_zone.csv", "time,available\n0,4\n60,2\n120,2\n").string();
}

}  // namespace

const std::vector<Effect>& capacity_effects() {
  static const std::vector<Effect> effects = {
      {"capacity.spares", "4", "capacity.spares = 4"},
      {"capacity.warm.nodes", "48", "capacity.warm.nodes = 48"},
      {"capacity.warm.held", "false", "capacity.warm.held = false"},
      {"capacity.cold.nodes", "200", "capacity.cold.nodes = 200"},
      {"capacity.cold.held", "true", "capacity.cold.held = true"},
      {"capacity.repair_time", "3d", "capacity.repair_time = 259200 s"},
      {"capacity.repair.fails", "0.4", "capacity.repair.fails = 0.4"},
      {"capacity.repair.crews", "4", "capacity.repair.crews = 4"},
      {"capacity.repair.retire", "0.05", "capacity.repair.retire = 0.05"},
      {"capacity.repair.manual.probability", "0.8", "capacity.repair.manual.escalates = 0.8"},
      {"capacity.repair.manual.fails", "0.2", "capacity.repair.manual.fails = 0.2"},
      {"capacity.elastic.min_nodes", "2", "capacity.elastic.min_nodes = 2"},
      {"capacity.elastic.grow", "at_once", "capacity.elastic.grow = #1"},
      {"capacity.elastic.batch.min", "8", "capacity.elastic.batch.min = 8"},
      {"capacity.elastic.batch.max", "900", "capacity.elastic.batch.max = 900"},
      {"capacity.spot.share", "0.75", "capacity.spot.share = 0.75"},
      {"capacity.spot.rate", "2.4/d", "capacity.spot.rate = 2.4 /d"},
      {"capacity.spot.burst", "4", "capacity.spot.burst = 4"},
      {"capacity.spot.start", "beginning", "capacity.spot.start = #1"},
      {"capacity.spot.notice", "2min", "capacity.spot.notice = 120 s"},
      {"capacity.spot.traces", "[" + trace_file() + "]",
       "capacity.spot.traces[0] = capacity_effects_zone; capacity.spot.traces[0].rows = 2"},
  };
  return effects;
}

const std::vector<Effect>& price_effects() {
  using Pairs = ScenarioText::Pairs;
  static const Pairs priced = {{"prices.gpu_hour", "$1/h"}};
  static const Pairs reserved = {{"prices.reserved.nodes", "8"},
                                 {"prices.reserved.gpu_hour", "$1/h"}};
  static const Pairs owned = {{"prices.owned.gpu", "$30k"}, {"prices.owned.lifetime", "1000d"}};
  static const Pairs changing = {{"prices.changes", "[{from: 10d, gpu_hour: $1/h}]"}};
  static const Pairs stored = {{"prices.storage.gigabyte_month", "$0.01"}};
  static const Pairs leaving = {{"prices.egress.gigabyte", "$0.05"}, {"prices.egress.data", "1TB"}};
  static const Pairs people = {{"prices.operators.hour", "$100/h"},
                               {"prices.operators.per_failure", "1h"}};
  static const std::vector<Effect> effects = {
      {"prices.preset", "aws-p4d-a100-2026", "prices.preset = aws-p4d-a100-2026"},
      {"prices.gpu_hour", "$2.50/h", "prices.gpu_hour = 2.5 $/h"},
      {"prices.as_of", "2026-11-01", "prices.as_of = 2026-11-01", priced},
      {"prices.bill_spares",
       "false",
       "prices.bill_spares = false",
       {{"prices.gpu_hour", "$1/h"}, {"capacity.spares", "1"}}},
      {"prices.spot_gpu_hour", "$1.20/h", "prices.spot_gpu_hour = 1.2 $/h"},
      {"prices.changes[].from", "[{from: 30d, gpu_hour: $1/h}]",
       "prices.changes[0].after = 2592000 s", changing, "prices.changes"},
      {"prices.changes[].from", "[{from: 1970-01-02, gpu_hour: $1/h}]",
       "prices.changes[0].after = absent; prices.changes[0].date = 86400", changing,
       "prices.changes"},
      {"prices.changes[].gpu_hour", "[{from: 10d, gpu_hour: $2/h}]",
       "prices.changes[0].gpu_hour = 2 $/h", changing, "prices.changes"},
      {"prices.reserved.nodes", "12", "prices.reserved.nodes = 12", reserved},
      {"prices.reserved.gpu_hour", "$2/h", "prices.reserved.gpu_hour = 2 $/h", reserved},
      {"prices.reserved.commitment", "1d", "prices.reserved.commitment = 86400 s", reserved},
      {"prices.owned.gpu", "$35k", "prices.owned.gpu = 35000 $", owned},
      {"prices.owned.lifetime", "2d", "prices.owned.lifetime = 172800 s", owned},
      {"prices.owned.residual", "0.1", "prices.owned.residual = 0.1", owned},
      {"prices.owned.maintenance", "0.05", "prices.owned.maintenance = 0.05", owned},
      {"prices.energy.busy", "10.2kW", "prices.energy.busy_watts = 10200"},
      {"prices.energy.idle", "3kW", "prices.energy.idle_watts = 3000"},
      {"prices.energy.pue", "1.1", "prices.energy.pue = 1.1"},
      {"prices.energy.kilowatt_hour", "$0.08", "prices.energy.per_kilowatt_hour = 0.08 $"},
      {"prices.energy.carbon", "400g/kWh", "prices.energy.carbon = 0.4"},
      {"prices.storage.gigabyte_month", "$0.02", "prices.storage.gigabyte_month = 0.02 $", stored},
      {"prices.storage.data", "1TB", "prices.storage.data = 1000000000000 B", stored},
      {"prices.egress.gigabyte", "$0.09", "prices.egress.gigabyte = 0.09 $", leaving},
      {"prices.egress.data", "2TB", "prices.egress.data = 2000000000000 B", leaving},
      {"prices.operators.hour", "$150/h", "prices.operators.hour = 150 $/h", people},
      {"prices.operators.per_failure", "30min", "prices.operators.per_failure = 1800 s", people},
  };
  return effects;
}

}  // namespace orrery::scenario
