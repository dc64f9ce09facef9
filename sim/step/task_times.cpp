#include "sim/step/task_times.hpp"

#include <algorithm>
#include <unordered_map>

#include "sim/base/check.hpp"

namespace orrery::step {

namespace {

using schedule::OpKind;
using schedule::StepTask;
using schedule::Stream;
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
    default:
      break;
  }
  ORRERY_CHECK(false, "task kind {} has no cost per bucket", static_cast<int>(kind));
}

TaskKind kind_of(OpKind kind) {
  switch (kind) {
    case OpKind::forward:
      return TaskKind::forward;
    case OpKind::backward:
      return TaskKind::backward;
    case OpKind::backward_input:
      return TaskKind::backward_input;
    case OpKind::backward_weight:
      return TaskKind::backward_weight;
  }
  return TaskKind::forward;
}

// One bucket, or all buckets of the chunk.
Parts chunk_parts(const ChunkCosts& chunk, TaskKind kind, std::int32_t bucket) {
  if (bucket != schedule::kWholeChunk) {
    return pass_of(chunk.buckets[static_cast<std::size_t>(bucket)], kind);
  }
  Parts sum;
  for (const BucketCosts& part : chunk.buckets) {
    sum.add(pass_of(part, kind));
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
  if (task.kind != TaskKind::overlapped) {
    return chunk_parts(chunk, task.kind, task.bucket);
  }
  Parts both = chunk_parts(chunk, TaskKind::forward, schedule::kWholeChunk);
  both.add(chunk_parts(device.chunks[static_cast<std::size_t>(task.backward_chunk)],
                       kind_of(task.backward_kind),
                       schedule::kWholeChunk));
  return both;
}

// Tasks with the same key have the same composition. Fields are small: 8 bits of kind, 16 of each
// of device and chunk, 24 of bucket or message.
std::uint64_t key_of(const StepTask& task) {
  constexpr std::uint64_t kBits16 = 0xffff;
  constexpr std::uint64_t kBits24 = 0xffffff;
  const std::int32_t last = task.kind == TaskKind::send_receive ? task.message
                            : task.kind == TaskKind::overlapped
                                ? task.backward_chunk * 4 + static_cast<int>(task.backward_kind)
                                : task.bucket;
  std::uint64_t key = static_cast<std::uint64_t>(task.kind);
  key = key << 16U | (static_cast<std::uint64_t>(task.device) & kBits16);
  key = key << 16U | (static_cast<std::uint64_t>(task.chunk) & kBits16);
  return key << 24U | (static_cast<std::uint64_t>(last) & kBits24);
}

struct Span {
  SimTime start;
  SimTime end;
};

// Communication tasks of every device, in the order they run, so sorted and disjoint.
std::vector<std::vector<Span>> communication_spans(const schedule::StepGraph& graph,
                                                   const engine::Timing& timing) {
  std::vector<std::vector<Span>> spans;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const StepTask& task = graph.tasks[i];
    if (task.stream == Stream::data_parallel_comm && timing.end[i] > timing.start[i]) {
      const auto device = static_cast<std::size_t>(task.device);
      spans.resize(std::max(spans.size(), device + 1));
      spans[device].push_back({timing.start[i], timing.end[i]});
    }
  }
  return spans;
}

SimTime overlap(const std::vector<Span>& spans, SimTime start, SimTime end) {
  SimTime sum;
  auto it = std::partition_point(
      spans.begin(), spans.end(), [start](const Span& s) { return s.end <= start; });
  for (; it != spans.end() && it->start < end; ++it) {
    sum += std::min(end, it->end) - std::max(start, it->start);
  }
  return sum;
}

}  // namespace

TaskParts round_parts(const Parts& parts) {
  TaskParts rounded;
  for (std::size_t c = 0; c < kStepCategories; ++c) {
    rounded.parts[c] = to_sim_time(parts.by_category[c]);
    rounded.total += rounded.parts[c];
  }
  return rounded;
}

TaskTimes::TaskTimes(const schedule::StepGraph& graph, const StageCosts& costs) : graph_(graph) {
  std::unordered_map<std::uint64_t, std::size_t> known;
  std::vector<std::size_t> which;
  which.reserve(graph.tasks.size());
  for (const StepTask& task : graph.tasks) {
    const auto [it, is_new] = known.try_emplace(key_of(task), compositions_.size());
    if (is_new) {
      compositions_.push_back(round_parts(task_parts(graph, costs, task)));
    }
    which.push_back(it->second);
  }
  for (const std::size_t index : which) {
    parts_.push_back(&compositions_[index]);
    durations_.push_back(compositions_[index].total);
  }
  for (const schedule::Message& message : graph.messages) {
    delays_.push_back(round_parts(message_parts(costs, message)).total);
  }
  delays_.resize(std::max(delays_.size(), graph.graph.delay_count()));
}

bool TaskTimes::stretch_overlapped(const engine::Timing& timing, double slowdown) {
  if (slowdown <= 0.0) {
    return false;
  }
  const auto spans = communication_spans(graph_, timing);
  if (spans.empty()) {
    return false;
  }
  stretch_.assign(durations_.size(), SimTime{});
  bool changed = false;
  for (std::size_t i = 0; i < durations_.size(); ++i) {
    const StepTask& task = graph_.tasks[i];
    if (task.stream != Stream::compute || task.kind == TaskKind::join ||
        static_cast<std::size_t>(task.device) >= spans.size()) {
      continue;
    }
    const SimTime shared =
        overlap(spans[static_cast<std::size_t>(task.device)], timing.start[i], timing.end[i]);
    stretch_[i] = to_sim_time(to_seconds(shared) * slowdown);
    durations_[i] += stretch_[i];
    changed = changed || stretch_[i] > SimTime{};
  }
  return changed;
}

}  // namespace orrery::step
