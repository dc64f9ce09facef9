#pragma once

// The builder of a step graph with what its parts share: the tasks by id, the classes of messages,
// and for every device what the next task on its compute stream waits for.
//
// Resources: compute stream of device r: r; its data-parallel stream: p + r; the link from r to its
// next device: 2p + 2r, to its previous device: 2p + 2r + 1.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "sim/step/schedule/step_graph.hpp"

namespace orrery::schedule {

class TaskWriter {
 public:
  explicit TaskWriter(int devices);

  // Room for about so many tasks.
  void reserve(std::size_t tasks) {
    tasks_.reserve(tasks);
    builder_.reserve(tasks, 2 * tasks);
  }

  // On the compute stream, after everything the device waits for; replaces what it waits for.
  TaskId add_compute(const StepTask& task);

  // On the data-parallel stream of task.device.
  TaskId add_collective(const StepTask& task);

  // On no resource.
  TaskId add_free(const StepTask& task);

  // On the link of the class of messages of the task.
  TaskId add_on_link(const StepTask& task);

  void add_edge(TaskId before, TaskId after, std::int32_t delay = engine::kNoDelay) {
    builder_.add_edge(before, after, delay);
  }

  // What the next thing on the compute stream of the device waits for.
  [[nodiscard]] std::span<const TaskId> awaited(int device) const {
    return awaited_[static_cast<std::size_t>(device)];
  }

  void await(int device, std::span<const TaskId> tasks) {
    awaited_[static_cast<std::size_t>(device)].assign(tasks.begin(), tasks.end());
  }

  void await(int device, TaskId task) {
    awaited_[static_cast<std::size_t>(device)].assign(1, task);
  }

  // The class of messages over this hop, made on first use. Devices must be neighbours.
  std::int32_t message_class(const Message& message);

  [[nodiscard]] std::variant<StepGraph, engine::DependencyCycle> finish() &&;

 private:
  TaskId add(const StepTask& task, std::int32_t resource);
  [[nodiscard]] std::int32_t hop(const Message& message) const;

  int devices_;
  engine::GraphBuilder builder_;
  std::vector<StepTask> tasks_;
  std::vector<Message> messages_;
  std::vector<std::int32_t> class_of_hop_;    // by hop and payload, kNone until used
  std::vector<std::vector<TaskId>> awaited_;  // by device
  std::vector<TaskId> previous_;              // by device: last task on the compute stream
};

}  // namespace orrery::schedule
