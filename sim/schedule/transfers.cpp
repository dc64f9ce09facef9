#include "sim/schedule/transfers.hpp"

#include <optional>

#include "sim/base/check.hpp"
#include "sim/schedule/index.hpp"

namespace orrery::schedule {

namespace {

bool is_backward(OpKind kind) {
  return kind == OpKind::backward || kind == OpKind::backward_input;
}

}  // namespace

Transfers::Transfers(const Schedule& schedule, P2pMode mode, TaskWriter& writer)
    : schedule_(schedule),
      map_(schedule.stage_map()),
      mode_(mode),
      writer_(writer),
      items_(schedule.lists.size()) {
  const std::size_t count = index({schedule.devices, 0}, 0);
  forward_.resize(count);
  backward_.resize(count);
  weight_.resize(count);
  forward_message_.resize(count, kNoTask);
  backward_message_.resize(count, kNoTask);
}

std::size_t Transfers::index(Position at, std::int32_t micro_batch) const {
  const auto chunk =
      static_cast<std::size_t>(at.device) * static_cast<std::size_t>(schedule_.chunks) +
      static_cast<std::size_t>(at.chunk);
  return chunk * static_cast<std::size_t>(schedule_.micro_batches_per_chunk()) +
         static_cast<std::size_t>(micro_batch);
}

void Transfers::note(int device, const PipelineOp& op, const OpTasks& tasks) {
  const std::size_t at = index({device, op.chunk}, op.micro_batch);
  if (op.kind == OpKind::forward) {
    forward_[at] = tasks;
  } else {
    (is_backward(op.kind) ? backward_ : weight_)[at] = tasks;
  }
  items_[static_cast<std::size_t>(device)].push_back({Item::Kind::op, op, tasks.last});
}

StepTask Transfers::transfer_task(const Hop& hop, std::int32_t micro_batch) {
  return {.kind = TaskKind::send_receive,
          .stream = Stream::p2p,
          .device = static_cast<std::int16_t>(hop.from.device),
          .chunk = static_cast<std::int16_t>(hop.from.chunk),
          .micro_batch = micro_batch,
          .message = writer_.message_class({hop.from.device, hop.to.device, hop.gradient})};
}

void Transfers::exchange(int device,
                         std::span<const PipelineOp> done,
                         std::span<const PipelineOp> next,
                         bool grouped) {
  if (!is_rendezvous()) {
    for (const PipelineOp& op : done) {
      send(device, op);
    }
    return;
  }
  std::vector<Item>& transfers = scratch_;
  transfers.clear();
  for (const PipelineOp& op : done) {
    const Position at{device, op.chunk};
    const bool forward = op.kind == OpKind::forward;
    const auto to = forward                ? downstream(map_, at)
                    : is_backward(op.kind) ? upstream(map_, at)
                                           : std::nullopt;
    if (to && to->device != device) {
      transfers.push_back({Item::Kind::send, op, rendezvous({at, *to, !forward}, op.micro_batch)});
    }
  }
  for (const PipelineOp& op : next) {
    const Position at{device, op.chunk};
    const bool forward = op.kind == OpKind::forward;
    const auto from = forward                ? upstream(map_, at)
                      : is_backward(op.kind) ? downstream(map_, at)
                                             : std::nullopt;
    if (from && from->device != device) {
      transfers.push_back(
          {Item::Kind::receive, op, rendezvous({*from, at, !forward}, op.micro_batch)});
    }
  }
  block(device, transfers, grouped);
}

// The task of a message that both sides name; the first to name it makes it.
TaskId Transfers::rendezvous(const Hop& hop, std::int32_t micro_batch) {
  TaskId& task =
      (hop.gradient ? backward_message_ : forward_message_)[index(hop.from, micro_batch)];
  if (task == kNoTask) {
    task = writer_.add_free(transfer_task(hop, micro_batch));
  }
  return task;
}

// Lets each transfer wait for the device, and the device for the transfers: one after another, or
// all at once.
void Transfers::block(int device, std::span<const Item> transfers, bool grouped) {
  std::vector<TaskId>& group = group_;
  group.clear();
  for (const Item& item : transfers) {
    items_[static_cast<std::size_t>(device)].push_back(item);
    for (const TaskId before : writer_.awaited(device)) {
      writer_.add_edge(before, item.task);
    }
    if (grouped) {
      group.push_back(item.task);
    } else {
      writer_.await(device, item.task);
    }
  }
  if (!group.empty()) {
    writer_.await(device, group);
  }
}

// Asynchronous modes with a task per message; it is added at once, in the order of production.
void Transfers::send(int device, const PipelineOp& op) {
  if ((mode_ != P2pMode::link && mode_ != P2pMode::occupying) ||
      op.kind == OpKind::backward_weight) {
    return;
  }
  const Position at{device, op.chunk};
  const bool gradient = op.kind != OpKind::forward;
  const auto to = gradient ? upstream(map_, at) : downstream(map_, at);
  if (!to || to->device == device) {
    return;
  }
  const std::size_t which = index(at, op.micro_batch);
  StepTask task = transfer_task({at, *to, gradient}, op.micro_batch);
  TaskId& message = (gradient ? backward_message_ : forward_message_)[which];
  if (mode_ == P2pMode::occupying) {
    task.stream = Stream::compute;  // the sender's own copy
    message = writer_.add_compute(task);
  } else {
    message = writer_.add_on_link(task);
    writer_.add_edge((gradient ? backward_ : forward_)[which].last, message);
  }
}

void Transfers::connect() {
  for (int device = 0; device < schedule_.devices; ++device) {
    for (int chunk = 0; chunk < schedule_.chunks; ++chunk) {
      for (std::int32_t i = 0; i < schedule_.micro_batches_per_chunk(); ++i) {
        connect_op({device, chunk}, i);
      }
    }
  }
}

void Transfers::connect_op(Position at, std::int32_t micro_batch) {
  const std::size_t here = index(at, micro_batch);
  ORRERY_CHECK(forward_[here].first != kNoTask && backward_[here].first != kNoTask,
               "the list of device {} lacks a pass of micro-batch {} through chunk {}",
               at.device,
               micro_batch,
               at.chunk);
  if (const auto from = upstream(map_, at)) {
    connect({*from, at, false},
            micro_batch,
            forward_[index(*from, micro_batch)].last,
            forward_[here].first);
  }
  if (const auto from = downstream(map_, at)) {
    connect({*from, at, true},
            micro_batch,
            backward_[index(*from, micro_batch)].last,
            backward_[here].first);
  } else {
    writer_.add_edge(forward_[here].last, backward_[here].first);
  }
  if (weight_[here].first != kNoTask) {
    writer_.add_edge(backward_[here].last, weight_[here].first);
  }
}

void Transfers::connect(const Hop& hop,
                        std::int32_t micro_batch,
                        TaskId producer,
                        TaskId consumer) {
  if (hop.from.device == hop.to.device) {
    writer_.add_edge(producer, consumer);
    return;
  }
  switch (mode_) {
    case P2pMode::none:
      writer_.add_edge(producer, consumer);
      return;
    case P2pMode::latency:
      writer_.add_edge(producer,
                       consumer,
                       writer_.message_class({hop.from.device, hop.to.device, hop.gradient}));
      return;
    case P2pMode::link:
    case P2pMode::occupying:
      writer_.add_edge(
          (hop.gradient ? backward_message_ : forward_message_)[index(hop.from, micro_batch)],
          consumer);
      return;
    case P2pMode::rendezvous:
    case P2pMode::rendezvous_fused:
      return;  // the receiver waits for the transfer by its place in the list
  }
}

}  // namespace orrery::schedule
