#include "sim/schedule/task_writer.hpp"

#include "sim/base/check.hpp"
#include "sim/schedule/index.hpp"
#include "sim/schedule/task_classes.hpp"

namespace orrery::schedule {

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

TaskId TaskWriter::add_collective(const StepTask& task) {
  return add(task, devices_ + task.device);
}

TaskId TaskWriter::add_free(const StepTask& task) {
  return add(task, engine::kNoResource);
}

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
               "a message from device {} to {} of {}, which is no neighbour",
               message.from,
               message.to,
               devices_);
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
