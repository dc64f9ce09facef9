#pragma once

// Executes a step: start and end of every task, and the slowest replica. Used inside step/ only.
//
//   execution = one replay, compute slowed beside communication (paced_replay.hpp)
//   draw      = max over the lockstep groups of replicas of the makespan at their speeds
//   answer    = the draw of the median makespan, shown by its slowest group
//
// symbol  | meaning                                                          | unit | origin
// --------|------------------------------------------------------------------|------|------------
// speeds  | by device: slowest GPU that it waits for, mean of all its GPUs   | 1    | speed_spread
// draws   | step times of all draws, ascending                               | ns   | computed
//
// Groups run in the order of their slowest device. None can exceed the nominal makespan times that
// speed, since wires do not scale; the search ends where this bound falls below the best so far.

#include <span>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/step/costs/speed_spread.hpp"
#include "sim/step/replay/task_times.hpp"

namespace orrery::step {

struct Execution {
  TaskTimes times;
  engine::Timing timing;
};

// `speeds` by device; empty: all nominal.
[[nodiscard]] Execution execute(const schedule::StepGraph& graph,
                                const StageCosts& stages,
                                double slowdown,
                                std::span<const DeviceSpeed> speeds);

struct SlowestReplica {
  std::vector<DeviceSpeed> speeds;  // empty: all GPUs are alike
  std::vector<SimTime> draws;       // empty: nothing is drawn
};

[[nodiscard]] SlowestReplica find_slowest_replica(const StepInput& input,
                                                  const cost::CostModel& costs,
                                                  const schedule::StepGraph& graph,
                                                  const StageCosts& stages,
                                                  SpeedDraws& kept,
                                                  const ParallelOptions& parallel);

}  // namespace orrery::step
