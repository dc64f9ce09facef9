#pragma once

// The structure of a computation: tasks, resources and dependencies, without any times, so that one
// graph serves every set of durations.
//
//   start(t) = max over predecessors p of ( end(p) + delay(p -> t) ),  end(t) = start(t) + duration
//
// symbol   | meaning                                              | unit | origin
// ---------|------------------------------------------------------|------|----------------------
// task     | something that takes time; TaskId counts add_task    | -    | caller
// resource | runs one task at a time, in the order of addition    | -    | caller, or kNoResource
// edge     | `after` may start once `before` has ended and the    | -    | caller
//          | delay has passed                                     |      |
// delay    | index into the table of delays given at replay       | -    | caller, kNoDelay: zero
//
// Tasks of one resource are linked by an implicit order edge from each to the next, so a resource
// needs no queue at replay: the order is part of the structure. Tasks that may overlap with
// anything (joins, transfers on an unshared wire) have no resource.
//
// Packed form, for the linear pass of replay.hpp: nodes in topological order (Kahn's algorithm,
// first in first out: level by level, so predecessors are recent and neighbours independent; early
// tasks directly behind the last that they wait for), each with one predecessor without a delay and
// one with a delay. A task with more predecessors is preceded by hidden joins: nodes of zero
// duration that no caller sees. Where n tasks wait for the same m, add a task without resource and
// duration between them: n + m edges in place of n m.
//
// Assumption: the order of the tasks of a resource is static; no choice is made at run time.
// Complexity of finish(): O(tasks + edges) time and memory. Source: A. B. Kahn, "Topological
// sorting of large networks", CACM 5 (1962).
//
// Example (two tasks on one device, a message to a third on another):
//   GraphBuilder builder;
//   const TaskId forward = builder.add_task(0);
//   const TaskId backward = builder.add_task(0);
//   const TaskId remote = builder.add_task(1);
//   builder.add_edge(forward, remote, 0);   // delays[0]: the latency of the wire
//   builder.add_edge(remote, backward, 0);
//   auto result = std::move(builder).finish();

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "sim/base/ids.hpp"

namespace orrery::engine {

inline constexpr std::int32_t kNoResource = -1;
inline constexpr std::int32_t kNoDelay = -1;

struct Predecessor {
  TaskId task;
  std::int32_t delay = kNoDelay;
  bool is_order = false;  // the implicit edge from the previous task of the same resource

  friend constexpr bool operator==(const Predecessor& a, const Predecessor& b) = default;
};

// One step of the linear pass. Indices count nodes; node 0 is the origin, which ends at time 0 and
// stands for "no predecessor". `delay` is the user's index + 1, so that 0 stands for "no delay".
struct PackedNode {
  std::uint32_t plain = 0;    // predecessor without a delay
  std::uint32_t delayed = 0;  // predecessor with a delay
  std::uint32_t delay = 0;
};

// Why a graph has no order: these tasks wait for each other for ever. An answer, not an error of
// the program: schedules are generated from user input.
struct DependencyCycle {
  std::vector<TaskId> tasks;       // each waits for the one before it, the first for the last
  std::vector<bool> can_complete;  // by TaskId: false on a cycle and for all that depends on one
};

class TaskGraph {
 public:
  static constexpr std::int32_t kHidden = -1;  // in tasks_of_nodes(): the origin or a join

  // A graph without tasks.
  TaskGraph() : nodes_(1), task_of_node_(1, kHidden), predecessor_begin_(1, 0) {}

  [[nodiscard]] std::size_t task_count() const { return resource_.size(); }

  // Number of delays a replay must be given: the greatest index used + 1.
  [[nodiscard]] std::size_t delay_count() const { return delay_count_; }

  [[nodiscard]] std::int32_t resource(TaskId task) const { return resource_[task.index()]; }

  // The order edge first, then the others in the order of add_edge.
  [[nodiscard]] std::span<const Predecessor> predecessors(TaskId task) const {
    const std::size_t begin = predecessor_begin_[task.index()];
    return std::span(predecessors_).subspan(begin, predecessor_begin_[task.index() + 1] - begin);
  }

  // Packed form: node 0 is the origin, every other node comes after its predecessors.
  [[nodiscard]] std::span<const PackedNode> nodes() const { return nodes_; }

  // The task of every node, kHidden for the origin and joins.
  [[nodiscard]] std::span<const std::int32_t> tasks_of_nodes() const { return task_of_node_; }

  // The nodes that no other waits for: the latest of them is the latest of all.
  [[nodiscard]] std::span<const std::uint32_t> last_nodes() const { return last_nodes_; }

 private:
  friend class GraphBuilder;

  void pack(std::span<const std::int32_t> order);
  void append_node(const PackedNode& node, std::int32_t task);
  void collect_last_nodes();

  std::vector<PackedNode> nodes_;
  std::vector<std::int32_t> task_of_node_;
  std::vector<std::uint32_t> last_nodes_;
  std::vector<std::int32_t> resource_;
  std::vector<std::uint32_t> predecessor_begin_;
  std::vector<Predecessor> predecessors_;
  std::size_t delay_count_ = 0;
};

class GraphBuilder {
 public:
  // Adds a task behind the tasks that the resource already has; resources are small numbers >= 0.
  TaskId add_task(std::int32_t resource);

  // One that stands in the packed form directly behind the last task that it waits for, so before
  // every later one of that task's resource.
  TaskId add_early_task(std::int32_t resource);

  // Lets `after` wait for the end of `before` and for the delay of that index.
  void add_edge(TaskId before, TaskId after, std::int32_t delay = kNoDelay);

  void reserve(std::size_t tasks, std::size_t edges);

  [[nodiscard]] std::size_t task_count() const { return resource_.size(); }

  [[nodiscard]] std::variant<TaskGraph, DependencyCycle> finish() &&;

 private:
  struct Edge {
    std::int32_t before = 0;
    std::int32_t after = 0;
    std::int32_t delay = kNoDelay;
  };

  void gather_predecessors(TaskGraph& graph) const;
  [[nodiscard]] std::vector<std::int32_t> topological_order(const TaskGraph& graph) const;

  std::vector<std::int32_t> resource_;
  std::vector<std::uint8_t> early_;             // by task
  std::vector<std::int32_t> previous_;          // task before it on its resource, or kNone
  std::vector<std::int32_t> next_;              // task behind it on its resource, or kNone
  std::vector<std::int32_t> last_of_resource_;  // by resource, kNone while it has no task
  std::vector<Edge> edges_;
};

}  // namespace orrery::engine
