#pragma once

// Resolves the prices of the scenario into the price of each node at each moment. Internal to run/.
//
// symbol | meaning                                            | unit | origin
// -------|----------------------------------------------------|------|---------
// spec   | prices as the scenario states them                 | -    | scenario
// plan   | step and capacity are in it already                | -    | resolve_run

// A budget lasts for money / (gpu_hour x GPUs of the nodes and of the spares that are billed).

#include "sim/run/findings.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

// Fills plan.pricing.
void plan_prices(const RunSpec& spec, RunPlan& plan, Findings& findings);

// Absent where the price of a GPU is not one number: owned, reserved or spot nodes, later prices.
[[nodiscard]] std::optional<Seconds> budget_window(Dollars money,
                                                   const RunSpec& spec,
                                                   const StepInput& step);

}  // namespace orrery::run
