#pragma once

// The price of each node at each moment: PriceSpec resolved into dollars per node and second.
//
// symbol   | meaning                                                          | unit | origin
// ---------|------------------------------------------------------------------|------|-----------
// fixed    | price of a node that nobody can take away, by time               | $/s  | spec
// spot     | price of a spot node; a trace with prices comes before it        | $/s  | spec, trace
// reserved | nodes paid for until `paid_until`, used or not                   | $/s  | spec
// watts    | power of a node by what it does, PUE included                    | W    | spec
//
// Assumption: a reservation covers the nodes of the job first, then spares, then those in repair.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"

namespace orrery::run {

struct PriceStep {
  SimTime from;
  DollarsPerSecond per_node;
};

struct PlannedReservation {
  std::int64_t nodes = 0;
  DollarsPerSecond per_node;
  std::optional<SimTime> paid_until;  // absent: as long as the run
};

struct PlannedEnergy {
  double busy_watts = 0.0;  // of a node, at the meter of the site
  double idle_watts = 0.0;
  Dollars per_kilowatt_hour;
  std::optional<double> kilograms_per_kilowatt_hour;
};

struct PricePlan {
  bool priced = false;                   // some key gives a price
  std::string as_of;                     // date of the prices, as stated or of the preset
  std::vector<PriceStep> fixed;          // ascending, the first from 0; empty: unpriced
  std::optional<DollarsPerSecond> spot;  // per node
  bool traced_spot = false;              // the traces have prices
  bool bill_spares = true;
  std::optional<PlannedReservation> reserved;
  std::optional<PlannedEnergy> energy;
  DollarsPerSecond stored_data;          // of the data set
  DollarsPerSecond per_stored_gigabyte;  // of checkpoints
  Dollars out;                           // data that leaves, once
  Dollars per_failure;                   // work of operators

  // Nothing is in the bill but nodes at one price.
  [[nodiscard]] bool is_simple() const {
    return is_flat() && !energy && stored_data == DollarsPerSecond{} &&
           per_stored_gigabyte == DollarsPerSecond{} && out == Dollars{} &&
           per_failure == Dollars{};
  }

  // One price for all nodes at all times: the cost follows from the ledger alone.
  [[nodiscard]] bool is_flat() const {
    return fixed.size() <= 1 && !spot && !traced_spot && !reserved;
  }
};

}  // namespace orrery::run
