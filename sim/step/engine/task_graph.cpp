#include "sim/step/engine/task_graph.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace orrery::engine {

namespace {

constexpr std::int32_t kNone = -1;

std::size_t index(std::int32_t value) { return static_cast<std::size_t>(value); }

// Counts become the begin of each bucket, with the total behind the last one.
void accumulate_counts(std::vector<std::uint32_t>& begin) {
  std::uint32_t sum = 0;
  for (std::uint32_t& entry : begin) {
    sum += std::exchange(entry, sum);
  }
}

std::vector<bool> marks(std::size_t count, std::span<const std::int32_t> tasks) {
  std::vector<bool> marked(count, false);
  for (const std::int32_t task : tasks) {
    marked[index(task)] = true;
  }
  return marked;
}

// Every task that Kahn's algorithm did not reach has a predecessor that it did not reach either, so
// walking backwards among them must come round to a task seen before: that loop is a cycle.
DependencyCycle find_cycle(const TaskGraph& graph, std::vector<bool> can_complete) {
  const auto first = std::ranges::find(can_complete, false);
  auto task = static_cast<std::int32_t>(first - can_complete.begin());
  std::vector<std::int32_t> position_on_path(can_complete.size(), kNone);
  std::vector<TaskId> path;
  while (position_on_path[index(task)] == kNone) {
    position_on_path[index(task)] = static_cast<std::int32_t>(path.size());
    path.push_back({task});
    const std::span<const Predecessor> predecessors = graph.predecessors({task});
    const auto stuck = std::ranges::find_if(predecessors, [&](const Predecessor& before) {
      return !can_complete[before.task.index()];
    });
    ORRERY_CHECK(stuck != predecessors.end(), "task {} waits for nothing, yet was not reached",
                 task);
    task = stuck->task.value;
  }
  path.erase(path.begin(), path.begin() + position_on_path[index(task)]);
  std::ranges::reverse(path);
  std::rotate(path.begin(), std::ranges::min_element(path), path.end());
  return {.tasks = std::move(path), .can_complete = std::move(can_complete)};
}

// Writes the predecessors of a task into one node, if they fit: most tasks have at most two. Into
// the node's own place, field by field: copies of half-written nodes stall.
bool fit_in_one(std::span<const Predecessor> predecessors,
                std::span<const std::uint32_t> node_of_task, PackedNode& node) {
  if (predecessors.size() > 2) {
    return false;
  }
  for (const Predecessor& before : predecessors) {
    const std::uint32_t other = node_of_task[before.task.index()];
    if (before.delay == kNoDelay && node.plain == 0) {
      node.plain = other;
    } else if (before.delay == kNoDelay && node.plain == other) {
      continue;
    } else if (node.delayed == 0) {
      node.delayed = other;
      node.delay = static_cast<std::uint32_t>(before.delay + 1);
    } else {
      return false;  // two with a delay
    }
  }
  return true;
}

}  // namespace

TaskId GraphBuilder::add_task(std::int32_t resource) {
  ORRERY_CHECK(resource >= kNoResource, "resource {} of a task is negative", resource);
  ORRERY_CHECK(resource_.size() < INT32_MAX, "a graph has at most {} tasks", INT32_MAX);
  const auto task = static_cast<std::int32_t>(resource_.size());
  std::int32_t previous = kNone;
  if (resource != kNoResource) {
    if (index(resource) >= last_of_resource_.size()) {
      last_of_resource_.resize(index(resource) + 1, kNone);
    }
    previous = std::exchange(last_of_resource_[index(resource)], task);
  }
  if (previous != kNone) {
    next_[index(previous)] = task;
  }
  resource_.push_back(resource);
  early_.push_back(0);
  previous_.push_back(previous);
  next_.push_back(kNone);
  return {task};
}

TaskId GraphBuilder::add_early_task(std::int32_t resource) {
  const TaskId task = add_task(resource);
  early_.back() = 1;
  return task;
}

void GraphBuilder::add_edge(TaskId before, TaskId after, std::int32_t delay) {
  const auto count = static_cast<std::int32_t>(resource_.size());
  ORRERY_CHECK(before.value >= 0 && before.value < count && after.value >= 0 && after.value < count,
               "an edge from task {} to task {} in a graph of {} tasks", before.value, after.value,
               count);
  ORRERY_CHECK(delay >= kNoDelay, "delay index {} of an edge is negative", delay);
  edges_.push_back({before.value, after.value, delay});
}

void GraphBuilder::reserve(std::size_t tasks, std::size_t edges) {
  resource_.reserve(tasks);
  early_.reserve(tasks);
  previous_.reserve(tasks);
  next_.reserve(tasks);
  edges_.reserve(edges);
}

std::variant<TaskGraph, DependencyCycle> GraphBuilder::finish() && {
  TaskGraph graph;
  gather_predecessors(graph);
  const std::vector<std::int32_t> order = topological_order(graph);
  if (order.size() < resource_.size()) {
    return find_cycle(graph, marks(resource_.size(), order));
  }
  graph.resource_ = std::move(resource_);
  graph.pack(order);
  graph.collect_last_nodes();
  return graph;
}

// Sorts the edges by their `after` task (a stable counting sort) behind the order edge of each.
void GraphBuilder::gather_predecessors(TaskGraph& graph) const {
  const std::size_t count = resource_.size();
  std::vector<std::uint32_t>& begin = graph.predecessor_begin_;
  begin.assign(count + 1, 0);
  for (std::size_t task = 0; task < count; ++task) {
    begin[task] = previous_[task] == kNone ? 0 : 1;
  }
  for (const Edge& edge : edges_) {
    ++begin[index(edge.after)];
    graph.delay_count_ = std::max(graph.delay_count_, index(edge.delay + 1));
  }
  accumulate_counts(begin);
  graph.predecessors_.resize(begin[count]);
  std::vector<std::uint32_t> cursor(begin.begin(), begin.end() - 1);
  for (std::size_t task = 0; task < count; ++task) {
    if (previous_[task] != kNone) {
      graph.predecessors_[cursor[task]++] = {{previous_[task]}, kNoDelay, true};
    }
  }
  for (const Edge& edge : edges_) {
    graph.predecessors_[cursor[index(edge.after)]++] = {{edge.before}, edge.delay, false};
  }
}

// Kahn's algorithm with a first-in-first-out queue, early tasks first; stops short of all tasks if
// there is a cycle.
std::vector<std::int32_t> GraphBuilder::topological_order(const TaskGraph& graph) const {
  const std::size_t count = resource_.size();
  std::vector<std::uint32_t> begin(count + 1, 0);
  for (const Edge& edge : edges_) {
    ++begin[index(edge.before)];
  }
  accumulate_counts(begin);
  std::vector<std::int32_t> successors(edges_.size());
  std::vector<std::uint32_t> cursor(begin.begin(), begin.end() - 1);
  for (const Edge& edge : edges_) {
    successors[cursor[index(edge.before)]++] = edge.after;
  }
  std::vector<std::uint32_t>& missing = cursor;  // predecessors not yet in the order
  std::vector<std::int32_t> order;
  order.reserve(count);
  std::vector<std::int32_t> waiting;  // first in, first out
  waiting.reserve(count);
  std::vector<std::int32_t> early;
  const auto put = [&](std::int32_t task) {
    (early_[index(task)] != 0 ? early : waiting).push_back(task);
  };
  for (std::size_t task = 0; task < count; ++task) {
    missing[task] = graph.predecessor_begin_[task + 1] - graph.predecessor_begin_[task];
    if (missing[task] == 0) {
      put(static_cast<std::int32_t>(task));
    }
  }
  const auto arrive = [&](std::int32_t task) {
    if (--missing[index(task)] == 0) {
      put(task);
    }
  };
  for (std::size_t head = 0; head < waiting.size() || !early.empty();) {
    if (early.empty()) {
      order.push_back(waiting[head++]);
    } else {
      order.push_back(early.back());
      early.pop_back();
    }
    const std::size_t task = index(order.back());
    if (next_[task] != kNone) {
      arrive(next_[task]);
    }
    for (std::uint32_t i = begin[task]; i < begin[task + 1]; ++i) {
      arrive(successors[i]);
    }
  }
  return order;
}

// Writes the nodes in the given order. A node takes one plain and one delayed predecessor, or two
// plain ones; as long as more are left, a hidden join takes two and becomes a plain predecessor.
void TaskGraph::pack(std::span<const std::int32_t> order) {
  std::vector<std::uint32_t> node_of_task(task_count(), 0);
  nodes_.reserve(order.size() + 1);
  task_of_node_.reserve(order.size() + 1);
  std::vector<std::uint32_t> plain;
  std::vector<PackedNode> delayed;
  for (const std::int32_t task : order) {
    if (fit_in_one(predecessors({task}), node_of_task, nodes_.emplace_back())) {
      task_of_node_.push_back(task);
      node_of_task[index(task)] = static_cast<std::uint32_t>(nodes_.size() - 1);
      continue;
    }
    nodes_.pop_back();
    plain.clear();
    delayed.clear();
    for (const Predecessor& before : predecessors({task})) {
      const std::uint32_t node = node_of_task[before.task.index()];
      if (before.delay != kNoDelay) {
        delayed.push_back({0, node, static_cast<std::uint32_t>(before.delay) + 1});
      } else if (std::ranges::find(plain, node) == plain.end()) {
        plain.push_back(node);
      }
    }
    PackedNode last;
    std::size_t delayed_taken = 0;
    std::size_t plain_taken = 0;
    for (;;) {
      if (last.plain == 0 && plain_taken < plain.size()) {
        last.plain = plain[plain_taken++];
      }
      if (delayed_taken < delayed.size()) {
        last.delayed = delayed[delayed_taken].delayed;
        last.delay = delayed[delayed_taken++].delay;
      } else if (plain_taken < plain.size()) {
        last.delayed = plain[plain_taken++];
      }
      if (delayed_taken == delayed.size() && plain_taken == plain.size()) {
        break;
      }
      append_node(last, kHidden);
      last = {.plain = static_cast<std::uint32_t>(nodes_.size() - 1)};
    }
    append_node(last, task);
    node_of_task[index(task)] = static_cast<std::uint32_t>(nodes_.size() - 1);
  }
}

void TaskGraph::append_node(const PackedNode& node, std::int32_t task) {
  nodes_.push_back(node);
  task_of_node_.push_back(task);
}

void TaskGraph::collect_last_nodes() {
  std::vector<std::uint8_t> is_awaited(nodes_.size(), 0);
  is_awaited[0] = 1;
  for (const PackedNode& node : nodes_) {
    is_awaited[node.plain] = 1;
    is_awaited[node.delayed] = 1;
  }
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    if (is_awaited[node] == 0) {
      last_nodes_.push_back(node);
    }
  }
}

}  // namespace orrery::engine
