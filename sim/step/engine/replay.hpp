#pragma once

// Replay of a TaskGraph: the start and end of every task for given durations and delays.
//
//   start(t) = max(0, max over predecessors p of (end(p) + delay(p -> t)))
//   end(t)   = start(t) + duration(t)
//
// replay_linear is one pass over the topologically numbered nodes: a maximum and two sums per task.
// The tests compare it with a replay of the same graph event by event (tests/event_replay.hpp).
//
// Assumption: the sum of durations and delays along any path stays below 2^63 ns (292 years).
// Complexity: O(tasks + edges), without allocation when `out` has served a graph of that size
// before.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/step/engine/task_graph.hpp"

namespace orrery::engine {

struct Timing {
  std::vector<SimTime> start;
  std::vector<SimTime> end;
  SimTime makespan;

  // Working memory of the passes: their inputs and ends in the order of the nodes.
  struct Packed {
    std::vector<SimTime> durations;
    std::vector<SimTime> delays;  // zero, then the delays
    std::vector<SimTime> end;
  };

  Packed packed;
};

// Evaluates the graph in one linear pass. Aborts when a span has the wrong size or an entry < 0.
void replay_linear(const TaskGraph& graph, std::span<const SimTime> durations,
                   std::span<const SimTime> delays, Timing& out);

// The bare linear pass, for many replays of one large graph: everything in the order of the nodes
// of the packed form, 20 bytes read and 8 written per task. Returns the makespan.
//   durations  by node, >= 0; those of hidden nodes are zero (pack_durations sees to both)
//   delays     entry 0 is zero, entry i + 1 is the delay of index i (pack_delays)
//   end        by node (computed)
SimTime replay_packed(const TaskGraph& graph, std::span<const SimTime> durations,
                      std::span<const SimTime> delays, std::span<SimTime> end);

void pack_durations(const TaskGraph& graph, std::span<const SimTime> durations,
                    std::vector<SimTime>& out);

// `start` and `end` of every task from the ends of the nodes. `durations` by TaskId.
void unpack(const TaskGraph& graph, std::span<const SimTime> durations, Timing& out);

void pack_delays(const TaskGraph& graph, std::span<const SimTime> delays,
                 std::vector<SimTime>& out);

}  // namespace orrery::engine
