#pragma once

// What does each node cost at each moment, from what the scenario says? Internal to run/.
//
// symbol | meaning                                            | unit | origin
// -------|----------------------------------------------------|------|---------
// spec   | prices as the scenario states them                 | -    | scenario
// plan   | step and capacity are in it already                | -    | resolve_run

#include "sim/run/findings.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

// Fills plan.pricing.
void plan_prices(const RunSpec& spec, RunPlan& plan, Findings& findings);

// Price per GPU at which spot nodes and nodes on demand cost the same per step, given the goodput
// of a run on each: spot = on demand * goodput on spot / goodput on demand.
[[nodiscard]] DollarsPerSecond break_even_spot_price(DollarsPerSecond on_demand,
                                                     double goodput_on_demand,
                                                     double goodput_on_spot);

}  // namespace orrery::run
