#pragma once

// Replay of a TaskGraph event by event, to compare the linear pass with (engine/replay.hpp).
//
// Each end of a task and each arrival of a delayed edge is an event of the queue. Both give the
// same nanoseconds on every graph (integers: no rounding, no dependence on the order of sums).
//
// Complexity: O(edges log pending).

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/step/engine/event_queue.hpp"
#include "sim/step/engine/replay.hpp"
#include "sim/step/engine/task_graph.hpp"

namespace orrery::engine {

// The event-driven pass with its structures built once, for many replays. At most 2^24 tasks. The
// graph must outlive it.
class EventReplay {
 public:
  explicit EventReplay(const TaskGraph& graph);

  void run(std::span<const SimTime> durations, std::span<const SimTime> delays, Timing& out);

 private:
  // What an event means; the order of ties cannot change the result.
  enum Priority : std::uint8_t {
    kTaskEnds = 0,
    kEdgeArrives = 1,
  };

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

inline EventReplay::EventReplay(const TaskGraph& graph)
    : graph_(graph),
      successor_begin_(graph.task_count() + 1, 0),
      predecessor_count_(graph.task_count()) {
  const auto tasks = static_cast<std::uint32_t>(graph.task_count());
  for (std::uint32_t task = 0; task < tasks; ++task) {
    const auto predecessors = graph.predecessors({static_cast<std::int32_t>(task)});
    predecessor_count_[task] = static_cast<std::uint32_t>(predecessors.size());
    for (const Predecessor& before : predecessors) {
      ++successor_begin_[before.task.index() + 1];
    }
  }
  for (std::size_t task = 0; task < tasks; ++task) {
    successor_begin_[task + 1] += successor_begin_[task];
  }
  successors_.resize(successor_begin_[tasks]);
  std::vector<std::uint32_t> cursor(successor_begin_.begin(), successor_begin_.end() - 1);
  for (std::uint32_t task = 0; task < tasks; ++task) {
    for (const Predecessor& before : graph.predecessors({static_cast<std::int32_t>(task)})) {
      successors_[cursor[before.task.index()]++] = {task,
                                                    static_cast<std::uint32_t>(before.delay + 1)};
    }
  }
}

inline void EventReplay::run(std::span<const SimTime> durations, std::span<const SimTime> delays,
                             Timing& out) {
  ORRERY_CHECK(durations.size() == graph_.task_count(), "{} durations for {} tasks",
               durations.size(), graph_.task_count());
  pack_delays(graph_, delays, out.packed.delays);
  out.start.resize(durations.size());
  out.end.resize(durations.size());
  out.makespan = SimTime{};
  missing_ = predecessor_count_;
  queue_.clear();
  const auto tasks = static_cast<std::uint32_t>(durations.size());
  for (std::uint32_t task = 0; task < tasks; ++task) {
    if (missing_[task] == 0) {
      begin_task(task, durations, out);
    }
  }
  while (!queue_.empty()) {
    const Event event = queue_.pop();
    if (event.priority == kEdgeArrives) {
      arrive(event.payload, durations, out);
      continue;
    }
    out.makespan = event.time;
    for (std::uint32_t i = successor_begin_[event.payload]; i < successor_begin_[event.payload + 1];
         ++i) {
      const Successor successor = successors_[i];
      if (out.packed.delays[successor.delay] == SimTime{}) {
        arrive(successor.task, durations, out);
      } else {
        queue_.push(event.time + out.packed.delays[successor.delay], kEdgeArrives, successor.task);
      }
    }
  }
}

inline void EventReplay::begin_task(std::uint32_t task, std::span<const SimTime> durations,
                                    Timing& out) {
  out.start[task] = queue_.now();
  out.end[task] = queue_.now() + durations[task];
  queue_.push(out.end[task], kTaskEnds, task);
}

inline void EventReplay::arrive(std::uint32_t task, std::span<const SimTime> durations,
                                Timing& out) {
  if (--missing_[task] == 0) {
    begin_task(task, durations, out);
  }
}

// Same arguments and result as replay_linear.
inline void replay_events(const TaskGraph& graph, std::span<const SimTime> durations,
                          std::span<const SimTime> delays, Timing& out) {
  EventReplay(graph).run(durations, delays, out);
}

}  // namespace orrery::engine
