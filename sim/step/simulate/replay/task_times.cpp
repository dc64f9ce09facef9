#include "sim/step/simulate/replay/task_times.hpp"

#include <algorithm>
#include <cstdint>

#include "sim/base/check.hpp"
#include "sim/step/schedule/step_graph.hpp"
#include "sim/step/simulate/replay/combined_step.hpp"

namespace orrery::step {

namespace {

using schedule::OpKind;
using schedule::StepTask;
using schedule::TaskKind;

const Parts& pass_of(const BucketCosts& bucket, TaskKind kind) {
  switch (kind) {
    case TaskKind::forward:
      return bucket.forward;
    case TaskKind::backward:
      return bucket.backward;
    case TaskKind::backward_input:
      return bucket.backward_input;
    case TaskKind::backward_weight:
      return bucket.backward_weight;
    case TaskKind::gradient_reduce:
      return bucket.gradient_reduce;
    case TaskKind::parameter_gather:
      return bucket.parameter_gather;
    case TaskKind::parameter_gather_again:
      return bucket.parameter_gather_again;
    default:
      break;
  }
  ORRERY_CHECK(false, "task kind {} has no cost per bucket", static_cast<int>(kind));
}

// All buckets of the chunk.
Parts chunk_parts(const StageCosts& costs, const ChunkCosts& chunk, TaskKind kind) {
  Parts sum;
  for (const std::uint32_t bucket : chunk.buckets) {
    sum.add(pass_of(costs.buckets[bucket], kind));
  }
  return sum;
}

// By the wire it takes: in a V, activations too go to the device before.
const Parts& message_parts(const StageCosts& costs, const schedule::Message& message) {
  const auto from = static_cast<std::size_t>(message.from);
  const bool to_next = message.to == (message.from + 1) % static_cast<int>(costs.devices.size());
  return to_next ? costs.send_forward[from] : costs.send_backward[from];
}

Parts task_parts(const schedule::StepGraph& graph, const StageCosts& costs, const StepTask& task) {
  switch (task.kind) {
    case TaskKind::join:
      return {};
    case TaskKind::send_receive:
      return message_parts(costs, graph.messages[static_cast<std::size_t>(task.message)]);
    case TaskKind::optimizer:
      return costs.devices[static_cast<std::size_t>(task.device)].optimizer;
    default:
      break;
  }
  const DeviceCosts& device = costs.devices[static_cast<std::size_t>(task.device)];
  const ChunkCosts& chunk = device.chunks[static_cast<std::size_t>(task.chunk)];
  if (task.kind == TaskKind::overlapped && costs.combined.active) {
    return combined_step(costs, device, static_cast<std::size_t>(task.chunk),
                         static_cast<std::size_t>(task.backward_chunk),
                         task.backward_kind == OpKind::backward);
  }
  if (task.kind == TaskKind::overlapped) {
    Parts both = chunk_parts(costs, chunk, TaskKind::forward);
    both.add(chunk_parts(costs, device.chunks[static_cast<std::size_t>(task.backward_chunk)],
                         schedule::task_kind(task.backward_kind)));
    return both;
  }
  return task.bucket == schedule::kWholeChunk
             ? chunk_parts(costs, chunk, task.kind)
             : pass_of(costs.bucket(chunk, static_cast<std::size_t>(task.bucket)), task.kind);
}

// Numbers the compositions that can occur: tasks with the same number are made of the same. Passes
// of a bucket differ by its index among the distinct ones, wherever it lies.
class Numbering {
 public:
  Numbering(const schedule::StepGraph& graph, const StageCosts& costs)
      : costs_(costs),
        chunks_(costs.devices.empty() ? 0 : costs.devices.front().chunks.size()),
        whole_(kKinds * costs.buckets.size()),
        overlapped_(whole_ + kKinds * costs.devices.size() * chunks_),
        optimizer_(overlapped_ + 2 * costs.devices.size() * chunks_ * chunks_),
        message_(optimizer_ + costs.devices.size()),
        join_(message_ + graph.messages.size()) {}

  [[nodiscard]] std::size_t count() const { return join_ + 1; }

  [[nodiscard]] std::size_t of(const StepTask& task) const {
    const auto device = static_cast<std::size_t>(task.device);
    const auto chunk = static_cast<std::size_t>(task.chunk);
    const auto kind = static_cast<std::size_t>(task.kind);
    switch (task.kind) {
      case TaskKind::join:
        return join_;
      case TaskKind::send_receive:
        return message_ + static_cast<std::size_t>(task.message);
      case TaskKind::optimizer:
        return optimizer_ + device;
      case TaskKind::overlapped: {
        const std::size_t pair =
            (device * chunks_ + chunk) * chunks_ + static_cast<std::size_t>(task.backward_chunk);
        return overlapped_ + 2 * pair + (task.backward_kind == OpKind::backward ? 0 : 1);
      }
      default:
        break;
    }
    if (task.bucket == schedule::kWholeChunk) {
      return whole_ + kKinds * (device * chunks_ + chunk) + kind;
    }
    const ChunkCosts& held = costs_.devices[device].chunks[chunk];
    return kKinds * held.buckets[static_cast<std::size_t>(task.bucket)] + kind;
  }

 private:
  static constexpr std::size_t kKinds = static_cast<std::size_t>(TaskKind::join) + 1;
  const StageCosts& costs_;
  std::size_t chunks_;
  std::size_t whole_;
  std::size_t overlapped_;
  std::size_t optimizer_;
  std::size_t message_;
  std::size_t join_;
};

}  // namespace

TaskParts round_parts(const Parts& parts, const DeviceSpeed& speed) {
  std::array<Seconds, kStepCategories> times = parts.by_category;
  for (const StepCategory scaled :
       {StepCategory::compute, StepCategory::recompute, StepCategory::optimizer}) {
    Seconds& time = times[static_cast<std::size_t>(scaled)];
    const Seconds whole = time * speed.slowest;
    time = time * std::min(speed.mean, speed.slowest);
    times[static_cast<std::size_t>(StepCategory::idle)] += whole - time;
  }
  TaskParts rounded;
  for (std::size_t c = 0; c < kStepCategories; ++c) {
    rounded.parts[c] = to_sim_time(times[c]);
    rounded.total += rounded.parts[c];
  }
  return rounded;
}

TaskTimes::TaskTimes(const schedule::StepGraph& graph, const StageCosts& costs,
                     std::span<const DeviceSpeed> speeds)
    : graph_(graph) {
  const Numbering numbering(graph, costs);
  constexpr std::uint32_t kUnknown = UINT32_MAX;
  // At one speed all devices share compositions; else each has its own.
  std::vector<std::uint32_t> known(numbering.count() * (speeds.size() + 1), kUnknown);
  std::vector<std::uint32_t> composition_of;
  composition_of.reserve(graph.classes.size());
  for (const schedule::TaskClass& one : graph.classes) {
    const StepTask& task = one.task;
    const bool own_speed = !speeds.empty() && task.device != schedule::kNone;
    const std::size_t device = own_speed ? static_cast<std::size_t>(task.device) + 1 : 0;
    std::uint32_t& index = known[numbering.of(task) + numbering.count() * device];
    if (index == kUnknown) {
      index = static_cast<std::uint32_t>(compositions_.size());
      raw_.push_back(
          {task_parts(graph, costs, task), own_speed ? static_cast<std::int32_t>(device) - 1 : -1});
      compositions_.push_back(
          round_parts(raw_.back().parts, own_speed ? speeds[device - 1] : DeviceSpeed{}));
    }
    composition_of.push_back(index);
  }
  parts_.reserve(composition_of.size());
  for (const std::uint32_t index : composition_of) {
    parts_.push_back(&compositions_[index]);
  }
  durations_.resize(graph.tasks.size());
  take_durations();
  for (const schedule::Message& message : graph.messages) {
    delays_.push_back(round_parts(message_parts(costs, message)).total);
  }
  delays_.resize(std::max(delays_.size(), graph.graph.delay_count()));
}

void TaskTimes::set_speeds(std::span<const DeviceSpeed> speeds) {
  for (std::size_t i = 0; i < raw_.size(); ++i) {
    if (raw_[i].device >= 0) {
      compositions_[i] =
          round_parts(raw_[i].parts, speeds[static_cast<std::size_t>(raw_[i].device)]);
    }
  }
  take_durations();
  stretch_.clear();
}

void TaskTimes::take_durations() {
  for (std::size_t i = 0; i < durations_.size(); ++i) {
    durations_[i] = parts_[graph_.class_of[i]]->total;
  }
}

void TaskTimes::take_stretch(std::span<const SimTime> packed) {
  const std::span<const std::int32_t> tasks = graph_.graph.tasks_of_nodes();
  stretch_.assign(durations_.size(), SimTime{});
  for (std::size_t node = 0; node < tasks.size(); ++node) {
    if (tasks[node] != engine::TaskGraph::kHidden) {
      const auto task = static_cast<std::size_t>(tasks[node]);
      durations_[task] = packed[node];
      stretch_[task] = packed[node] - parts_[graph_.class_of[task]]->total;
    }
  }
}

void TaskTimes::take_stretch(const engine::Timing& timing) {
  stretch_.resize(durations_.size());
  for (std::size_t task = 0; task < durations_.size(); ++task) {
    durations_[task] = timing.end[task] - timing.start[task];
    stretch_[task] = durations_[task] - parts_[graph_.class_of[task]]->total;
  }
}

}  // namespace orrery::step
