#pragma once

// Limits of the simulation of a step, which legal but extreme input may exceed:
//
//   tasks   = passes x buckets x (1 + gather + reduction) <= 2^24
//   seconds = tasks x longest task <= 100 years, so that integer nanoseconds cannot overflow
//
// symbol  | meaning                                                   | unit  | origin
// --------|-----------------------------------------------------------|-------|----------
// passes  | forwards and backwards of all devices                     | -     | schedule
// buckets | groups of layers into which a pass is cut                 | -     | stage costs
//
// Both are reported to the user: the key that decides, the numbers and what to change.

#include <optional>
#include <vector>

#include "sim/schedule/step_graph.hpp"
#include "sim/step/costs/stage_costs.hpp"
#include "sim/step/step_simulator.hpp"

namespace orrery::step {

[[nodiscard]] std::optional<StepProblem> graph_too_large(const schedule::Schedule& schedule,
                                                         const schedule::StepGraphOptions& options);

[[nodiscard]] std::optional<StepProblem> step_too_long(const StageCosts& costs, std::size_t tasks);

}  // namespace orrery::step
