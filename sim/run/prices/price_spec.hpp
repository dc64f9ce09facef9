#pragma once

// Prices as the scenario states them: of nodes, energy, storage and people.
//
//   owned:  dollars per GPU and second = purchase ((1 - residual) / lifetime + maintenance / year)
//   energy: (busy GPU time * busy power + other GPU time * idle power) / GPUs per node * PUE
//   carbon: energy * intensity
//
// symbol      | meaning                                                       | unit   | origin
// ------------|---------------------------------------------------------------|--------|---------
// gpu_hour    | price of one GPU of a node that is not spot, owned, reserved  | $/h    | scenario
// changes     | later prices of the same, each from a time on                 | $/h    | scenario
// reserved    | nodes paid for whether they are used or not                   | $/h    | scenario
// commitment  | until when they are paid for, even when the run ends earlier  | s      | scenario
// purchase    | price of one GPU with its share of host and network           | $      | scenario
// lifetime    | over which the purchase is written off, in a straight line    | s      | scenario
// maintenance | spare parts and service per year, as a share of the purchase  | 1/year | scenario
// busy, idle  | power of one node while it trains and while it does not       | W      | scenario
// pue         | power of the site / power of the machines                     | 1      | scenario
// intensity   | carbon dioxide per energy                                     | kg/kWh | scenario
//
// A price without a date is a number without a meaning: `as_of` is printed beside the cost. Energy
// is part of the cost only with a price of energy; rented nodes usually include it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::run {

// From a time after the start of training, or from a date.
struct PriceChange {
  std::optional<Seconds> after;
  std::optional<std::int64_t> date;  // seconds since 1970-01-01T00:00Z
  DollarsPerSecond gpu_hour;
};

struct ReservedSpec {
  std::int64_t nodes = 0;
  DollarsPerSecond gpu_hour;
  std::optional<Seconds> commitment;
};

struct OwnedSpec {
  Dollars purchase;
  Seconds lifetime;
  double residual = 0.0;     // share of the purchase price left at the end
  double maintenance = 0.0;  // share of the purchase price per year
};

struct EnergySpec {
  std::optional<double> busy_watts;  // of a node; default: its GPUs at their limit
  std::optional<double> idle_watts;  // default: a third of busy
  double pue = 1.0;
  std::optional<Dollars> per_kilowatt_hour;
  std::optional<double> kilograms_per_kilowatt_hour;
};

struct StoragePriceSpec {
  std::optional<Dollars> per_gigabyte_month;  // of the checkpoints that are kept, and of `data`
  Bytes data;
  std::optional<Dollars> per_gigabyte_out;
  Bytes out;  // leaves the provider in the course of the run
};

struct OperatorSpec {
  DollarsPerSecond per_hour;
  Seconds per_failure;  // work of people on one failure
};

struct PricePreset;

struct PriceSpec {
  std::shared_ptr<const PricePreset> preset;
  std::optional<DollarsPerSecond> gpu_hour;  // per GPU
  std::string as_of;                         // date of the price, as printed
  bool bill_spares = true;  // spares and nodes in repair cost as much as the others
  std::vector<PriceChange> changes;
  std::optional<DollarsPerSecond> spot_gpu_hour;
  std::optional<ReservedSpec> reserved;
  std::optional<OwnedSpec> owned;
  std::optional<EnergySpec> energy;
  std::optional<StoragePriceSpec> storage;
  std::optional<OperatorSpec> operators;
};

// Its gpu_hour, spot_gpu_hour and as_of hold where the scenario leaves them out.
struct PricePreset {
  std::string name;
  PriceSpec spec;
};

}  // namespace orrery::run
