#include "sim/step/engine/replay.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace orrery::engine {

namespace {

void check_durations(const TaskGraph& graph, std::span<const SimTime> durations) {
  ORRERY_CHECK(durations.size() == graph.task_count(), "{} durations for {} tasks",
               durations.size(), graph.task_count());
}

}  // namespace

void pack_durations(const TaskGraph& graph, std::span<const SimTime> durations,
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

void pack_delays(const TaskGraph& graph, std::span<const SimTime> delays,
                 std::vector<SimTime>& out) {
  ORRERY_CHECK(delays.size() >= graph.delay_count(), "{} delays for a graph that uses {}",
               delays.size(), graph.delay_count());
  out.resize(delays.size() + 1);
  out[0] = SimTime{};
  for (std::size_t i = 0; i < delays.size(); ++i) {
    ORRERY_CHECK(delays[i].ns >= 0, "delay {} is negative: {} ns", i, delays[i].ns);
    out[i + 1] = delays[i];
  }
}

SimTime replay_packed(const TaskGraph& graph, std::span<const SimTime> durations,
                      std::span<const SimTime> delays, std::span<SimTime> end) {
  const std::span<const PackedNode> nodes = graph.nodes();
  ORRERY_CHECK(durations.size() == nodes.size() && end.size() == nodes.size(),
               "{} durations and {} ends for {} nodes", durations.size(), end.size(), nodes.size());
  ORRERY_CHECK(delays.size() > graph.delay_count() && delays[0] == SimTime{},
               "{} packed delays for a graph that uses {}, or the first is not zero", delays.size(),
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

void replay_linear(const TaskGraph& graph, std::span<const SimTime> durations,
                   std::span<const SimTime> delays, Timing& out) {
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

}  // namespace orrery::engine
