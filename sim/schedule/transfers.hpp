#pragma once

// Point-to-point messages between devices: their tasks and edges in a step graph, by P2pMode.
//
// none, latency  edges; link: a task per message on its link; occupying: one on the sender's
// compute stream. Rendezvous: one task per message that starts when both sides have come to it, and
// which both wait for: a cycle through such a task is a deadlock.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/schedule/task_writer.hpp"

namespace orrery::schedule {

// Where an operation begins and ends in the graph: its first and last task.
struct OpTasks {
  TaskId first{kNone};
  TaskId last{kNone};
};

// Something a device does in order: compute an operation, or block in a transfer for it.
struct Item {
  enum class Kind : std::uint8_t { op, send, receive };

  Kind kind = Kind::op;
  PipelineOp op;
  TaskId task{kNone};
};

class Transfers {
 public:
  Transfers(const Schedule& schedule, P2pMode mode, TaskWriter& writer);

  // What a device does between one step of its list and the next: sends the outputs of `done`,
  // receives the inputs of `next`. Either may be empty (first and last). `grouped`: concurrently.
  void exchange(int device,
                std::span<const PipelineOp> done,
                std::span<const PipelineOp> next,
                bool grouped);

  // Notes the tasks of an operation of the device.
  void note(int device, const PipelineOp& op, const OpTasks& tasks);

  // Adds the data edges, when all operations are noted.
  void connect();

  // In the order of the device: only as far as rendezvous goes do items other than operations
  // occur.
  [[nodiscard]] std::span<const Item> items(int device) const {
    return items_[static_cast<std::size_t>(device)];
  }

 private:
  struct Hop {
    Position from;
    Position to;
    bool gradient = false;
  };

  [[nodiscard]] bool is_rendezvous() const {
    return mode_ == P2pMode::rendezvous || mode_ == P2pMode::rendezvous_fused;
  }

  [[nodiscard]] std::size_t index(Position at, std::int32_t micro_batch) const;
  [[nodiscard]] StepTask transfer_task(const Hop& hop, std::int32_t micro_batch);
  void send(int device, const PipelineOp& op);
  void block(int device, std::span<const Item> transfers, bool grouped);
  [[nodiscard]] TaskId rendezvous(const Hop& hop, std::int32_t micro_batch);
  void connect(const Hop& hop, std::int32_t micro_batch, TaskId producer, TaskId consumer);
  void connect_op(Position at, std::int32_t micro_batch);

  const Schedule& schedule_;
  StageMap map_;
  P2pMode mode_;
  TaskWriter& writer_;
  // By index(): of the producing operation.
  std::vector<OpTasks> forward_;
  std::vector<OpTasks> backward_;        // B or I
  std::vector<OpTasks> weight_;          // W
  std::vector<TaskId> forward_message_;  // the task that carries the output, if there is one
  std::vector<TaskId> backward_message_;
  std::vector<std::vector<Item>> items_;  // by device
  std::vector<Item> scratch_;             // of exchange() and block()
  std::vector<TaskId> group_;
};

}  // namespace orrery::schedule
