#pragma once

// The rate at which a job on traces of spot capacity loses nodes, for `mtbf` and automatic
// intervals of checkpoints.
//
//   rate = losses / length of the longest trace
//
// symbol | meaning                                                              | unit | origin
// -------|----------------------------------------------------------------------|------|---------
// losses | events that take nodes from a job that holds as many as it can, by   | -    | traces
//        | SpotSupply's own choice of the zone, from the begin of the traces on |      |
//
// A drop in a zone where the job is not, or of nodes that it does not hold, is none.

#include "sim/base/units.hpp"
#include "sim/run/capacity/capacity_plan.hpp"

namespace orrery::run {

// Zero without traces.
[[nodiscard]] PerSecond traced_loss_rate(const PlannedSpot& spot);

}  // namespace orrery::run
