#pragma once

// Executes a step: start and end of every task, and the slowest replica. Used inside step/ only.
//
//   execution = one replay, compute slowed beside communication (paced_replay.hpp); where flows
//               share links, event by event (fabric/share_links.hpp)
//   draw      = max over the lockstep groups of replicas of the makespan at their speeds; where the
//               network knows ranks, the makespan of all of them together
//   answer    = the draw of the median makespan, shown by its slowest group
//
// Groups of a draw are compared without sharing; the time of the slowest is then that with it.
// Groups run in the order of their slowest device. None can exceed the nominal makespan times that
// speed, since wires do not scale; the search ends where this bound falls below the best so far.

#include <span>
#include <vector>

#include "sim/step/simulate/replay/execution.hpp"
#include "sim/step/simulate/stages/speed_spread.hpp"

namespace orrery::step {

// `speeds` by device; empty: all nominal. Not used where `of` has those of each replica.
[[nodiscard]] Execution execute(const ExecutionInput& of, std::span<const DeviceSpeed> speeds);

struct SlowestReplica {
  std::vector<DeviceSpeed> speeds;                      // empty: all GPUs are alike
  std::vector<SimTime> draws;                           // empty: nothing is drawn
  std::int64_t draw = 0;                                // the one that `speeds` are of
  std::vector<std::vector<DeviceSpeed>> replicas = {};  // all of them, with detail: ranks alone
};

[[nodiscard]] SlowestReplica find_slowest_replica(const StepInput& input,
                                                  const cost::CostModel& costs,
                                                  const ExecutionInput& of, SpeedDraws& kept,
                                                  const ParallelOptions& parallel);

}  // namespace orrery::step
