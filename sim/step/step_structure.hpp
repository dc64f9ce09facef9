#pragma once

// Structure of a step from layout, scenario and stack: which schedule it runs, and how its
// messages, gathers and reductions behave. Used inside step/ only.

#include "sim/cost/cost_model.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/schedule/step_graph.hpp"
#include "sim/step/step_simulator.hpp"

namespace orrery::step {

[[nodiscard]] schedule::DataParallelComm data_parallel_comm(const StepInput& input,
                                                            const cost::CostModel& costs);

[[nodiscard]] schedule::P2pMode p2p_mode(const StepInput& input, const cost::CostModel& costs);

[[nodiscard]] schedule::ScheduleRequest schedule_request(const StepInput& input);

}  // namespace orrery::step
