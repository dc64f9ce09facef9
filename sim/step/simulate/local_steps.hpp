#pragma once

// Time of one step of an island, and the cost of the outer step:
//
//   island       = the job with data / K replicas, global batch / K, GPUs / K
//   outer        = 2 (K - 1) / K * N bits / 8 / rate + 2 (K - 1) latency    (ring all-reduce)
//   mean step    = island's step + exposed outer / H
//   with overlap = island's step + max(0, outer / H - island's step)
//
// symbol | meaning                                                             | unit   | origin
// -------|---------------------------------------------------------------------|--------|--------
// K, H   | islands, inner steps between two outer ones                         | -      | scenario
// N      | parameters of one replica of the model, all of them                 | -      | model
// rate   | one direction between islands; default: nodes x NICs x nic_rate     | byte/s | scenario
//
// Islands are alike, so one of them is simulated and its ledger counted K times. Each keeps the
// outer parameters and their momentum, 8 bytes per parameter, in host memory: not booked, since it
// is touched once in H steps.

#include <optional>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::step {

// The job of one island, or nothing when its layout does not divide: `data` and every group that is
// cut from it must be whole multiples.
[[nodiscard]] std::optional<StepProblem> check_islands(const StepInput& input);
[[nodiscard]] StepInput island_of(const StepInput& input);

// Adds the outer step to the mean of the island's steps and counts all islands.
void add_outer_step(StepResult& result, const StepInput& input, const cost::CostModel& costs);

[[nodiscard]] Seconds outer_time(const StepInput& input, const cost::CostModel& costs);

// The step goes on for `time` after its last task, in one category on all GPUs. What prolongs it
// are rates that the scenario states.
void prolong(StepResult& result, StepCategory category, SimTime time);

}  // namespace orrery::step
