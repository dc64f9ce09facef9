#include "sim/schedule/step_graph.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "sim/base/check.hpp"
#include "sim/schedule/data_parallel_stream.hpp"
#include "sim/schedule/index.hpp"
#include "sim/schedule/task_kind.hpp"
#include "sim/schedule/task_writer.hpp"
#include "sim/schedule/transfers.hpp"

namespace orrery::schedule {

namespace {

constexpr std::size_t kMostStopsShown = 8;

void check_options(const Schedule& schedule, const StepGraphOptions& options) {
  ORRERY_CHECK(p2p_mode_applies(options.p2p, schedule.kind),
               "p2p mode {} is not defined for schedule {}",
               to_string(options.p2p),
               to_string(schedule.kind));
  ORRERY_CHECK(schedule.lists.size() == index(schedule.devices),
               "{} lists for {} devices",
               schedule.lists.size(),
               schedule.devices);
  ORRERY_CHECK(
      options.p2p != P2pMode::rendezvous_fused || schedule.warm_up.size() == schedule.lists.size(),
      "p2p mode rendezvous_fused needs the warm-up of all {} devices",
      schedule.devices);
  ORRERY_CHECK(options.buckets.empty() || options.buckets.size() == schedule.lists.size(),
               "buckets of {} devices for {} devices",
               options.buckets.size(),
               schedule.devices);
  for (const std::vector<int>& chunks : options.buckets) {
    ORRERY_CHECK(chunks.size() == index(schedule.chunks) &&
                     *std::min_element(chunks.begin(), chunks.end()) >= 1,
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
        places += fmt::format("{}device {} waits at {} after {} operations",
                              places.empty() ? "" : ", ",
                              device,
                              stop.waiting_at,
                              stop.completed_ops);
      }
      deadlock.stops.push_back(stop);
    }
    deadlock.message = fmt::format("schedule {} with p2p mode {} deadlocks: {}",
                                   to_string(schedule_.kind),
                                   to_string(options_.p2p),
                                   places);
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
