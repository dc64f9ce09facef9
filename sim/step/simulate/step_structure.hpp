#pragma once

// Structure of a step from layout, scenario and stack: which schedule it runs, how its messages,
// gathers and reductions behave, and the graph of its tasks. Used inside step/ only.

#include <variant>
#include <vector>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/schedule/schedule.hpp"
#include "sim/step/schedule/step_graph.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::step {

[[nodiscard]] schedule::DataParallelComm data_parallel_comm(const StepInput& input,
                                                            const cost::CostModel& costs);

[[nodiscard]] schedule::P2pMode p2p_mode(const StepInput& input, const cost::CostModel& costs);

[[nodiscard]] schedule::ScheduleRequest schedule_request(const StepInput& input);

[[nodiscard]] schedule::StepGraphOptions graph_options(
    const StepInput& input, const cost::CostModel& costs,
    const std::vector<std::vector<int>>& buckets);

struct StepStructure {
  schedule::Schedule plan;
  schedule::StepGraph graph;
};

// Or why the layout cannot run the schedule, or has too many tasks.
[[nodiscard]] std::variant<StepStructure, StepProblem> build_structure(
    const schedule::ScheduleRequest& request, const schedule::StepGraphOptions& options);

}  // namespace orrery::step
