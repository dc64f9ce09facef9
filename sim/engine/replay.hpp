#pragma once

// Replay of a TaskGraph: the start and end of every task for given durations and delays.
//
//   start(t) = max(0, max over predecessors p of (end(p) + delay(p -> t)))
//   end(t)   = start(t) + duration(t)
//
// symbol    | meaning                                             | unit | origin
// ----------|-----------------------------------------------------|------|---------------------
// durations | by TaskId, >= 0                                     | ns   | caller
// delays    | by the delay index of the edges, >= 0               | ns   | caller
// start,end | by TaskId                                           | ns   | computed
// makespan  | greatest end, 0 for a graph without tasks           | ns   | computed
//
// replay_linear is one pass over the topologically numbered nodes: a maximum and two sums per task.
// replay_events runs the same graph through the event queue, where each end of a task and each
// arrival of a delayed edge is an event: the way that models with contention work. Both give the
// same nanoseconds on every graph (integers: no rounding, no dependence on the order of sums).
//
// Assumption: the sum of durations and delays along any path stays below 2^63 ns (292 years).
// Complexity: replay_linear O(tasks + edges), without allocation when `out` has served a graph of
// that size before; events O(edges log pending).

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/engine/task_graph.hpp"

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
void replay_linear(const TaskGraph& graph,
                   std::span<const SimTime> durations,
                   std::span<const SimTime> delays,
                   Timing& out);

// Evaluates the graph event by event: same arguments, same result.
void replay_events(const TaskGraph& graph,
                   std::span<const SimTime> durations,
                   std::span<const SimTime> delays,
                   Timing& out);

// The bare linear pass, for many replays of one large graph: everything in the order of the nodes
// of the packed form, 20 bytes read and 8 written per task. Returns the makespan.
//   durations  by node, >= 0; those of hidden nodes are zero (pack_durations sees to both)
//   delays     entry 0 is zero, entry i + 1 is the delay of index i (pack_delays)
//   end        by node (computed)
SimTime replay_packed(const TaskGraph& graph,
                      std::span<const SimTime> durations,
                      std::span<const SimTime> delays,
                      std::span<SimTime> end);

void pack_durations(const TaskGraph& graph,
                    std::span<const SimTime> durations,
                    std::vector<SimTime>& out);

// `start` and `end` of every task from the ends of the nodes. `durations` by TaskId.
void unpack(const TaskGraph& graph, std::span<const SimTime> durations, Timing& out);

void pack_delays(const TaskGraph& graph,
                 std::span<const SimTime> delays,
                 std::vector<SimTime>& out);

// The event-driven pass with its structures built once, for many replays. At most 2^24 tasks. The
// graph must outlive it.
class EventReplay {
 public:
  explicit EventReplay(const TaskGraph& graph);

  void run(std::span<const SimTime> durations, std::span<const SimTime> delays, Timing& out);

 private:
  struct Successor {
    std::uint32_t task = 0;
    std::uint32_t delay = 0;  // index into the packed delays: 0 for none
  };

  void begin_task(std::uint32_t task, std::span<const SimTime> durations, Timing& out);
  void arrive(std::uint32_t task, std::span<const SimTime> durations, Timing& out);

  const TaskGraph& graph_;
  std::vector<std::uint32_t> successor_begin_;
  std::vector<Successor> successors_;
  std::vector<std::uint32_t> predecessor_count_;
  std::vector<std::uint32_t> missing_;  // predecessors that have not arrived yet
  EventQueue queue_;
};

}  // namespace orrery::engine
