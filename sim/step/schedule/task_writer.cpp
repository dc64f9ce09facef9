#include "sim/step/schedule/task_writer.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/base/check.hpp"
#include "sim/step/schedule/step_graph.hpp"

namespace orrery::schedule {

namespace {

// Tasks of a step graph that differ in their micro-batches alone. They consist of the same
// operations, so whoever times, sums or replays a step does it by class: tens to hundreds in place
// of up to hundreds of thousands of tasks.

// Numbers what tells classes apart. Devices, chunks and buckets count from -1, which means none.
class Numbering {
 public:
  explicit Numbering(const StepGraph& graph) {
    for (const StepTask& task : graph.tasks) {
      devices_ = std::max(devices_, from_none(task.device) + 1);
      chunks_ = std::max(chunks_, from_none(task.chunk) + 1);
      buckets_ = std::max(buckets_, from_none(task.bucket) + 1);
    }
    overlapped_ = kKinds * devices_ * chunks_ * buckets_;
    messages_ = overlapped_ + 2 * devices_ * chunks_ * chunks_;
    count_ = messages_ + graph.messages.size() + 1;
  }

  [[nodiscard]] std::size_t count() const { return count_; }

  [[nodiscard]] std::size_t of(const StepTask& task) const {
    if (task.kind == TaskKind::send_receive) {
      return messages_ + from_none(task.message);
    }
    const std::size_t chunk = from_none(task.device) * chunks_ + from_none(task.chunk);
    if (task.kind == TaskKind::overlapped) {
      const std::size_t pair = chunk * chunks_ + from_none(task.backward_chunk);
      return overlapped_ + 2 * pair + (task.backward_kind == OpKind::backward ? 0 : 1);
    }
    return (chunk * buckets_ + from_none(task.bucket)) * kKinds +
           static_cast<std::size_t>(task.kind);
  }

 private:
  static constexpr std::size_t kKinds = static_cast<std::size_t>(TaskKind::join) + 1;

  static std::size_t from_none(std::int32_t value) {
    return static_cast<std::size_t>(value - kNone);
  }

  std::size_t devices_ = 0;
  std::size_t chunks_ = 0;
  std::size_t buckets_ = 0;
  std::size_t overlapped_ = 0;  // the first number of overlapped passes; others come before
  std::size_t messages_ = 0;    // likewise of messages
  std::size_t count_ = 0;
};

// Fills classes, class_of and class_of_node of a graph from its tasks. O(tasks).
void classify_tasks(StepGraph& graph) {
  constexpr std::uint32_t kUnknown = UINT32_MAX;
  const Numbering numbering(graph);
  std::vector<std::uint32_t> known(numbering.count(), kUnknown);
  graph.classes.clear();
  graph.class_of.clear();
  graph.class_of.reserve(graph.tasks.size());
  for (const StepTask& task : graph.tasks) {
    std::uint32_t& number = known[numbering.of(task)];
    if (number == kUnknown) {
      number = static_cast<std::uint32_t>(graph.classes.size());
      graph.classes.push_back({task, 0});
    }
    ++graph.classes[number].tasks;
    graph.class_of.push_back(number);
  }
  graph.class_of_node.clear();
  for (const std::int32_t task : graph.graph.tasks_of_nodes()) {
    graph.class_of_node.push_back(task == engine::TaskGraph::kHidden
                                      ? static_cast<std::uint32_t>(graph.classes.size())
                                      : graph.class_of[static_cast<std::size_t>(task)]);
  }
}

}  // namespace

TaskWriter::TaskWriter(int devices)
    : devices_(devices),
      class_of_hop_(4 * index(devices), kNone),
      awaited_(index(devices)),
      previous_(index(devices), kNoTask) {}

TaskId TaskWriter::add_compute(const StepTask& task) {
  const std::size_t device = index(task.device);
  const TaskId id = add(task, task.device);
  for (const TaskId before : awaited_[device]) {
    if (before != previous_[device]) {  // the order of the stream says that already
      add_edge(before, id);
    }
  }
  awaited_[device].assign(1, id);
  previous_[device] = id;
  return id;
}

// Early: whoever replays the step meets a collective before the passes that may run beside it.
TaskId TaskWriter::add_collective(const StepTask& task) {
  tasks_.push_back(task);
  return builder_.add_early_task(devices_ + task.device);
}

TaskId TaskWriter::add_free(const StepTask& task) { return add(task, engine::kNoResource); }

TaskId TaskWriter::add_on_link(const StepTask& task) {
  return add(task, 2 * devices_ + hop(messages_[index(task.message)]));
}

TaskId TaskWriter::add(const StepTask& task, std::int32_t resource) {
  tasks_.push_back(task);
  return builder_.add_task(resource);
}

// 2r for the next device, 2r + 1 for the previous one; with two devices they are the same.
std::int32_t TaskWriter::hop(const Message& message) const {
  const bool to_next = message.to == (message.from + 1) % devices_;
  ORRERY_CHECK(to_next || message.from == (message.to + 1) % devices_,
               "a message from device {} to {} of {}, which is no neighbour", message.from,
               message.to, devices_);
  return 2 * message.from + (to_next ? 0 : 1);
}

std::int32_t TaskWriter::message_class(const Message& message) {
  std::int32_t& known = class_of_hop_[index(2 * hop(message) + (message.gradient ? 1 : 0))];
  if (known == kNone) {
    known = static_cast<std::int32_t>(messages_.size());
    messages_.push_back(message);
  }
  return known;
}

std::variant<StepGraph, engine::DependencyCycle> TaskWriter::finish() && {
  auto finished = std::move(builder_).finish();
  if (auto* cycle = std::get_if<engine::DependencyCycle>(&finished)) {
    return std::move(*cycle);
  }
  StepGraph graph;
  graph.graph = std::get<engine::TaskGraph>(std::move(finished));
  graph.tasks = std::move(tasks_);
  graph.messages = std::move(messages_);
  classify_tasks(graph);
  return graph;
}

}  // namespace orrery::schedule
