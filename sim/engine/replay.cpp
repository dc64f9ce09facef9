#include "sim/engine/replay.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace orrery::engine {

namespace {

// What an event of the event-driven pass means; the order of ties cannot change the result.
enum Priority : std::uint8_t {
  kTaskEnds = 0,
  kEdgeArrives = 1,
};

void check_durations(const TaskGraph& graph, std::span<const SimTime> durations) {
  ORRERY_CHECK(durations.size() == graph.task_count(),
               "{} durations for {} tasks",
               durations.size(),
               graph.task_count());
}

}  // namespace

void pack_durations(const TaskGraph& graph,
                    std::span<const SimTime> durations,
                    std::vector<SimTime>& out) {
  check_durations(graph, durations);
  const std::span<const std::int32_t> tasks = graph.tasks_of_nodes();
  out.resize(tasks.size());
  std::int64_t signs = 0;  // the sign bit survives a bitwise or: one check instead of one per task
  for (std::size_t node = 0; node < tasks.size(); ++node) {
    SimTime duration;
    if (tasks[node] != TaskGraph::kHidden) {
      duration = durations[static_cast<std::size_t>(tasks[node])];
    }
    out[node] = duration;
    signs |= duration.ns;
  }
  ORRERY_CHECK(signs >= 0, "a task has a negative duration");
}

void pack_delays(const TaskGraph& graph,
                 std::span<const SimTime> delays,
                 std::vector<SimTime>& out) {
  ORRERY_CHECK(delays.size() >= graph.delay_count(),
               "{} delays for a graph that uses {}",
               delays.size(),
               graph.delay_count());
  out.resize(delays.size() + 1);
  out[0] = SimTime{};
  for (std::size_t i = 0; i < delays.size(); ++i) {
    ORRERY_CHECK(delays[i].ns >= 0, "delay {} is negative: {} ns", i, delays[i].ns);
    out[i + 1] = delays[i];
  }
}

SimTime replay_packed(const TaskGraph& graph,
                      std::span<const SimTime> durations,
                      std::span<const SimTime> delays,
                      std::span<SimTime> end) {
  const std::span<const PackedNode> nodes = graph.nodes();
  ORRERY_CHECK(durations.size() == nodes.size() && end.size() == nodes.size(),
               "{} durations and {} ends for {} nodes",
               durations.size(),
               end.size(),
               nodes.size());
  ORRERY_CHECK(delays.size() > graph.delay_count() && delays[0] == SimTime{},
               "{} packed delays for a graph that uses {}, or the first is not zero",
               delays.size(),
               graph.delay_count());
  end[0] = SimTime{};
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const PackedNode& node = nodes[i];
    end[i] = std::max(end[node.plain], end[node.delayed] + delays[node.delay]) + durations[i];
  }
  SimTime makespan;
  for (const std::uint32_t node : graph.last_nodes()) {
    makespan = std::max(makespan, end[node]);
  }
  return makespan;
}

void replay_linear(const TaskGraph& graph,
                   std::span<const SimTime> durations,
                   std::span<const SimTime> delays,
                   Timing& out) {
  Timing::Packed& packed = out.packed;
  pack_durations(graph, durations, packed.durations);
  pack_delays(graph, delays, packed.delays);
  packed.end.resize(graph.nodes().size());
  out.makespan = replay_packed(graph, packed.durations, packed.delays, packed.end);
  unpack(graph, durations, out);
}

void unpack(const TaskGraph& graph, std::span<const SimTime> durations, Timing& out) {
  const std::span<const std::int32_t> tasks = graph.tasks_of_nodes();
  out.start.resize(durations.size());
  out.end.resize(durations.size());
  for (std::size_t node = 1; node < tasks.size(); ++node) {
    if (tasks[node] != TaskGraph::kHidden) {
      out.end[static_cast<std::size_t>(tasks[node])] = out.packed.end[node];
    }
  }
  // A loop of its own: tasks of different resources often lie a power of two apart, and with every
  // array in one loop they would evict each other from the cache.
  for (std::size_t task = 0; task < durations.size(); ++task) {
    out.start[task] = out.end[task] - durations[task];
  }
}

void replay_events(const TaskGraph& graph,
                   std::span<const SimTime> durations,
                   std::span<const SimTime> delays,
                   Timing& out) {
  EventReplay(graph).run(durations, delays, out);
}

EventReplay::EventReplay(const TaskGraph& graph)
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

void EventReplay::run(std::span<const SimTime> durations,
                      std::span<const SimTime> delays,
                      Timing& out) {
  check_durations(graph_, durations);
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

void EventReplay::begin_task(std::uint32_t task, std::span<const SimTime> durations, Timing& out) {
  out.start[task] = queue_.now();
  out.end[task] = queue_.now() + durations[task];
  queue_.push(out.end[task], kTaskEnds, task);
}

void EventReplay::arrive(std::uint32_t task, std::span<const SimTime> durations, Timing& out) {
  if (--missing_[task] == 0) {
    begin_task(task, durations, out);
  }
}

}  // namespace orrery::engine
