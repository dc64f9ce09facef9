#pragma once

// Resolves the prices of the scenario into the price of each node at each moment. Internal to run/.
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

}  // namespace orrery::run
