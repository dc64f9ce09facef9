#include "sim/step/schedule/step_graph.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/step/schedule/data_parallel_stream.hpp"
#include "sim/step/schedule/task_writer.hpp"

namespace orrery::schedule {

namespace {

// Point-to-point messages between devices: their tasks and edges in a step graph, by P2pMode.
//
// none, latency  edges; link: a task per message on its link; occupying: one on the sender's
// compute stream. Rendezvous: one task per message that starts when both sides have come to it, and
// which both wait for: a cycle through such a task is a deadlock.

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
  void exchange(int device, std::span<const PipelineOp> done, std::span<const PipelineOp> next,
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

bool is_backward(OpKind kind) { return kind == OpKind::backward || kind == OpKind::backward_input; }

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

void Transfers::exchange(int device, std::span<const PipelineOp> done,
                         std::span<const PipelineOp> next, bool grouped) {
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
               "the list of device {} lacks a pass of micro-batch {} through chunk {}", at.device,
               micro_batch, at.chunk);
  if (const auto from = upstream(map_, at)) {
    connect({*from, at, false}, micro_batch, forward_[index(*from, micro_batch)].last,
            forward_[here].first);
  }
  if (const auto from = downstream(map_, at)) {
    connect({*from, at, true}, micro_batch, backward_[index(*from, micro_batch)].last,
            backward_[here].first);
  } else {
    writer_.add_edge(forward_[here].last, backward_[here].first);
  }
  if (weight_[here].first != kNoTask) {
    writer_.add_edge(backward_[here].last, weight_[here].first);
  }
}

void Transfers::connect(const Hop& hop, std::int32_t micro_batch, TaskId producer,
                        TaskId consumer) {
  if (hop.from.device == hop.to.device) {
    writer_.add_edge(producer, consumer);
    return;
  }
  if (traits_of(schedule_.kind).stale) {
    return;  // what a pass needs came while the step before was still running
  }
  switch (mode_) {
    case P2pMode::none:
      writer_.add_edge(producer, consumer);
      return;
    case P2pMode::latency:
      writer_.add_edge(producer, consumer,
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

constexpr std::size_t kMostStopsShown = 8;

void check_options(const Schedule& schedule, const StepGraphOptions& options) {
  ORRERY_CHECK(p2p_mode_applies(options.p2p, schedule.kind),
               "p2p mode {} is not defined for schedule {}", to_string(options.p2p),
               to_string(schedule.kind));
  ORRERY_CHECK(schedule.lists.size() == index(schedule.devices), "{} lists for {} devices",
               schedule.lists.size(), schedule.devices);
  ORRERY_CHECK(
      options.p2p != P2pMode::rendezvous_fused || schedule.warm_up.size() == schedule.lists.size(),
      "p2p mode rendezvous_fused needs the warm-up of all {} devices", schedule.devices);
  ORRERY_CHECK(options.buckets.empty() || options.buckets.size() == schedule.lists.size(),
               "buckets of {} devices for {} devices", options.buckets.size(), schedule.devices);
  for (const std::vector<int>& chunks : options.buckets) {
    ORRERY_CHECK(chunks.size() == index(schedule.chunks) && *std::ranges::min_element(chunks) >= 1,
                 "a device needs a positive number of buckets for each of its {} chunks",
                 schedule.chunks);
  }
}

class StepGraphBuilder {
 public:
  StepGraphBuilder(const Schedule& schedule, const StepGraphOptions& options)
      : schedule_(schedule),
        options_(options),
        writer_(schedule.devices),
        transfers_(schedule, options.p2p, writer_) {
    writer_.reserve(likely_tasks());
  }

  std::variant<StepGraph, Deadlock> build() {
    for (int device = 0; device < schedule_.devices; ++device) {
      walk(device);
    }
    transfers_.connect();
    if (options_.optimizer) {
      add_optimizer();
    }
    auto finished = std::move(writer_).finish();
    if (const auto* cycle = std::get_if<engine::DependencyCycle>(&finished)) {
      return explain(*cycle);
    }
    auto& graph = std::get<StepGraph>(finished);
    graph.last_tasks = std::move(last_tasks_);
    return std::move(graph);
  }

 private:
  void walk(int device) {
    const std::span<const PipelineOp> list = schedule_.lists[index(device)];
    DataParallelStream stream(schedule_, options_.comm, device, buckets(device), writer_);
    stream.start();
    std::span<const PipelineOp> done;
    TaskId last{kNone};
    for (std::size_t place = 0; place < list.size();) {
      const std::size_t length = list[place].with_next ? 2 : 1;
      const std::span<const PipelineOp> step = list.subspan(place, length);
      transfers_.exchange(device, done, step, is_grouped(device, place));
      last = length == 2 ? add_overlapped(device, stream, place) : add_op(device, stream, place);
      done = step;
      place += length;
    }
    transfers_.exchange(device, done, {}, false);
    stream.finish(last);
    last_tasks_.push_back(last);
    if (stream.last_reduction()) {
      last_reductions_.push_back(*stream.last_reduction());
    }
  }

  // Operations and their transfers; gathers, reductions and the operations that are split for them.
  [[nodiscard]] std::size_t likely_tasks() const {
    std::size_t count = 0;
    for (const std::vector<PipelineOp>& list : schedule_.lists) {
      count += 2 * list.size() + 2;
    }
    for (const std::vector<int>& chunks : options_.buckets) {
      for (const int buckets_of_chunk : chunks) {
        count += 4 * index(buckets_of_chunk);
      }
    }
    return count;
  }

  [[nodiscard]] std::vector<int> buckets(int device) const {
    return options_.buckets.empty() ? std::vector<int>(index(schedule_.chunks), 1)
                                    : options_.buckets[index(device)];
  }

  // Are the send after the operation before `place` and the receive for `place` one group? Only
  // between two operations of the steady state, which follows the warm-up.
  [[nodiscard]] bool is_grouped(int device, std::size_t place) const {
    if (options_.p2p != P2pMode::rendezvous_fused) {
      return false;
    }
    const std::size_t warm_up = index(schedule_.warm_up[index(device)]);
    const std::size_t passes = schedule_.lists[index(device)].size() / 2;
    return place > warm_up && place < warm_up + 2 * (passes - warm_up);
  }

  [[nodiscard]] static StepTask compute_task(int device, const PipelineOp& op) {
    return {.kind = task_kind(op.kind),
            .stream = Stream::compute,
            .device = static_cast<std::int16_t>(device),
            .chunk = op.chunk,
            .micro_batch = op.micro_batch};
  }

  TaskId add_op(int device, DataParallelStream& stream, std::size_t place) {
    const PipelineOp& op = schedule_.lists[index(device)][place];
    const bool split = stream.splits(place);
    const int count = split ? stream.buckets(op.chunk) : 1;
    OpTasks tasks;
    for (int k = 0; k < count; ++k) {
      StepTask task = compute_task(device, op);
      if (split) {
        task.bucket = op.kind == OpKind::forward ? k : count - 1 - k;
      }
      tasks.last = writer_.add_compute(task);
      if (k == 0) {
        tasks.first = tasks.last;
      }
      stream.begin(tasks.last, place, task.bucket);
      stream.end(tasks.last, place, task.bucket);
    }
    transfers_.note(device, op, tasks);
    return tasks.last;
  }

  TaskId add_overlapped(int device, DataParallelStream& stream, std::size_t place) {
    const PipelineOp& forward = schedule_.lists[index(device)][place];
    const PipelineOp& backward = schedule_.lists[index(device)][place + 1];
    StepTask task = compute_task(device, forward);
    task.kind = TaskKind::overlapped;
    task.backward_kind = backward.kind;
    task.backward_chunk = backward.chunk;
    task.backward_micro_batch = backward.micro_batch;
    const TaskId id = writer_.add_compute(task);
    for (const std::size_t part : {place, place + 1}) {
      stream.begin(id, part, kWholeChunk);
    }
    for (const std::size_t part : {place, place + 1}) {
      stream.end(id, part, kWholeChunk);
    }
    transfers_.note(device, forward, {id, id});
    transfers_.note(device, backward, {id, id});
    return id;
  }

  // The norm of all gradients is known when every device has reduced its own.
  void add_optimizer() {
    const TaskId join = writer_.add_free({.kind = TaskKind::join,
                                          .stream = Stream::data_parallel_comm,
                                          .device = kNone,
                                          .chunk = kNone,
                                          .micro_batch = kNone});
    for (const TaskId before : last_tasks_) {
      writer_.add_edge(before, join);
    }
    for (const TaskId before : last_reductions_) {
      writer_.add_edge(before, join);
    }
    for (int device = 0; device < schedule_.devices; ++device) {
      const TaskId id = writer_.add_compute({.kind = TaskKind::optimizer,
                                             .stream = Stream::compute,
                                             .device = static_cast<std::int16_t>(device),
                                             .chunk = kNone,
                                             .micro_batch = kNone});
      writer_.add_edge(join, id);
    }
  }

  // Where a device stands when nothing can proceed any more: at its first unfinished item.
  [[nodiscard]] Deadlock::Stop stop_of(int device, const engine::DependencyCycle& cycle) const {
    Deadlock::Stop stop;
    stop.device = device;
    for (const Item& item : transfers_.items(device)) {
      const bool completes = cycle.can_complete[item.task.index()];
      if (completes && item.kind == Item::Kind::op) {
        ++stop.completed_ops;
      }
      if (!completes && stop.waiting_at.empty()) {
        const std::string op = to_string(item.op, schedule_.chunks);
        stop.waiting_at = item.kind == Item::Kind::send      ? "send " + op
                          : item.kind == Item::Kind::receive ? "recv " + op
                                                             : op;
      }
    }
    return stop;
  }

  [[nodiscard]] Deadlock explain(const engine::DependencyCycle& cycle) const {
    Deadlock deadlock;
    std::size_t waiting = 0;
    std::string places;
    for (int device = 0; device < schedule_.devices; ++device) {
      const Deadlock::Stop stop = stop_of(device, cycle);
      if (!stop.waiting_at.empty() && ++waiting <= kMostStopsShown) {
        places +=
            fmt::format("{}device {} waits at {} after {} operations", places.empty() ? "" : ", ",
                        device, stop.waiting_at, stop.completed_ops);
      }
      deadlock.stops.push_back(stop);
    }
    deadlock.message = fmt::format("schedule {} with p2p mode {} deadlocks: {}",
                                   to_string(schedule_.kind), to_string(options_.p2p), places);
    if (waiting > kMostStopsShown) {
      deadlock.message += fmt::format(", and {} more", waiting - kMostStopsShown);
    }
    return deadlock;
  }

  const Schedule& schedule_;
  const StepGraphOptions& options_;
  TaskWriter writer_;
  Transfers transfers_;
  std::vector<TaskId> last_tasks_;       // by device
  std::vector<TaskId> last_reductions_;  // of the devices that reduce
};

}  // namespace

std::variant<StepGraph, Deadlock> build_step_graph(const Schedule& schedule,
                                                   const StepGraphOptions& options) {
  check_options(schedule, options);
  return StepGraphBuilder(schedule, options).build();
}

}  // namespace orrery::schedule
