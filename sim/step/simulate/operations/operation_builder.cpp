#include "sim/step/simulate/operations/operation_builder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/step/schedule/step_graph.hpp"
#include "sim/step/simulate/operations/operation_names.hpp"
#include "sim/step/simulate/operations/operation_sequences.hpp"
#include "sim/step/simulate/replay/combined_step.hpp"
#include "sim/step/simulate/replay/execution.hpp"
#include "sim/step/simulate/stages/speed_spread.hpp"

namespace orrery::step {

namespace {

using schedule::OpKind;
using schedule::StepTask;
using schedule::TaskKind;

using PartList = std::vector<TaskPart>;

// Tasks that are made of the same operations.
class Builder {
 public:
  explicit Builder(TimelineInput of) : of_(std::move(of)), table_(timeline_) {
    makers_.reserve(of_.input.mixed.size() + 1);
    makers_.emplace_back(of_.input, of_.costs, table_);
    for (const GpuBlock& block : of_.input.mixed) {
      makers_.emplace_back(of_.input, *block.costs, table_);
    }
  }

  OperationTimeline build() {
    timeline_.stretched =
        table_.operation({.name = of_.run.network ? "slowed by communication on shared links"
                                                  : "slowed by data-parallel communication",
                          .kind = OperationKind::slowdown,
                          .stream = OperationStream::data});
    timeline_.slowed = table_.operation({.name = "slowed by the experts' all-to-all",
                                         .kind = OperationKind::slowdown,
                                         .stream = OperationStream::expert});
    add_runs();
    add_messages();
    take_waits();
    for (std::size_t d = 0; d < of_.stages.devices.size(); ++d) {
      timeline_.paces.push_back(of_.speeds.empty()
                                    ? DevicePace{}
                                    : DevicePace{of_.speeds[d].slowest, of_.speeds[d].mean});
    }
    if (of_.input.spec.variation.any()) {
      timeline_.gpu_times = draw_gpu_times(of_.input, of_.draw);
    }
    return std::move(timeline_);
  }

 private:
  struct Chunk {
    const layout::ChunkLayers& layers;
    const ChunkCosts& costs;
    SequenceMaker& maker;
    std::size_t device = 0;
    std::size_t number = 0;
    int buckets = 1;
  };

  [[nodiscard]] Chunk chunk_of(std::int16_t device, std::int16_t chunk) {
    const auto d = static_cast<std::size_t>(device);
    const auto c = static_cast<std::size_t>(chunk);
    return {of_.input.layout.stages[d][c],
            of_.stages.devices[d].chunks[c],
            maker_of(device),
            d,
            c,
            of_.buckets[d][c]};
  }

  [[nodiscard]] BucketSpan span_of(const Chunk& chunk, int bucket) const {
    return bucket_span(of_.input, chunk.device, chunk.number, chunk.buckets, bucket);
  }

  [[nodiscard]] SequenceMaker& maker_of(std::int16_t device) {
    const auto d = static_cast<std::size_t>(device);
    return makers_[of_.stages.types.empty() ? 0 : of_.stages.types[d]];
  }

  void add_runs();
  void add_messages();
  void take_waits();
  std::uint32_t add_kind(const StepTask& task, const TaskParts& times);
  void add_remainders(TaskKindOperations& kind);
  void add_pass(PartList& parts, const Chunk& chunk, TaskKind pass, std::int32_t bucket);
  void add_layers(PartList& parts, const Chunk& chunk, TaskKind pass, int bucket);
  void add_combined(PartList& parts, const StepTask& task);
  void add_one_after_the_other(PartList& parts, const StepTask& task);
  [[nodiscard]] std::int32_t layer_of_bucket(const Chunk& chunk, std::int32_t bucket) const;
  [[nodiscard]] std::uint32_t message_operation(const schedule::Message& message);
  void add_message(TaskId to, const engine::Predecessor& edge);
  [[nodiscard]] std::optional<TaskId> producer_of(TaskId transfer) const;

  TimelineInput of_;
  OperationTimeline timeline_;
  SequenceTable table_;
  std::vector<SequenceMaker> makers_;                // by type of GPU
  std::vector<std::optional<std::uint32_t>> kinds_;  // by class of tasks
  std::vector<std::uint32_t> slice_of_;              // by TaskId
  static constexpr std::uint32_t kNoSlice = UINT32_MAX;
};

void Builder::add_runs() {
  const auto& tasks = of_.graph.tasks;
  const std::span<const SimTime> stretch = of_.run.times.stretch();
  slice_of_.assign(tasks.size(), kNoSlice);
  kinds_.assign(of_.graph.classes.size(), std::nullopt);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!is_slice(tasks[i], of_.run.timing, i)) {
      continue;
    }
    slice_of_[i] = static_cast<std::uint32_t>(timeline_.runs.size());
    const std::uint32_t of_class = of_.graph.class_of[i];
    std::optional<std::uint32_t>& kind = kinds_[of_class];
    if (!kind) {
      kind = add_kind(tasks[i], *of_.run.times.parts()[of_class]);
    }
    timeline_.runs.push_back({*kind, stretch.empty() ? SimTime{} : stretch[i], {}});
  }
}

std::uint32_t Builder::add_kind(const StepTask& task, const TaskParts& times) {
  TaskKindOperations kind;
  kind.total = times.total;
  kind.by_category = times.parts;
  switch (task.kind) {
    case TaskKind::join:
      break;
    case TaskKind::send_receive: {
      const auto& message = of_.graph.messages[static_cast<std::size_t>(task.message)];
      const StepCategory category = StepCategory::exposed_pipeline;
      kind.parts.push_back(
          {table_.sequence(
               {{message_operation(message), category, to_seconds(times.total), {}, false}}),
           kNoLayer});
      break;
    }
    case TaskKind::optimizer: {
      Seconds backward;
      for (const ChunkCosts& chunk :
           of_.stages.devices[static_cast<std::size_t>(task.device)].chunks) {
        for (const std::uint32_t bucket : chunk.buckets) {
          backward += of_.stages.buckets[bucket].backward.total();
        }
      }
      kind.parts.push_back({maker_of(task.device).optimizer(task.device, backward), kNoLayer});
      break;
    }
    case TaskKind::gradient_reduce:
    case TaskKind::parameter_gather:
    case TaskKind::parameter_gather_again: {
      const Chunk chunk = chunk_of(task.device, task.chunk);
      for (int b = 0; b < chunk.buckets; ++b) {
        if (task.bucket == schedule::kWholeChunk || task.bucket == b) {
          const BucketCosts& costs = of_.stages.bucket(chunk.costs, static_cast<std::size_t>(b));
          kind.parts.push_back(
              {chunk.maker.communication(task.kind, costs.held), layer_of_bucket(chunk, b)});
        }
      }
      break;
    }
    case TaskKind::overlapped:
      if (of_.stages.combined.active) {
        add_combined(kind.parts, task);
      } else {
        add_one_after_the_other(kind.parts, task);
      }
      break;
    default:
      add_pass(kind.parts, chunk_of(task.device, task.chunk), task.kind, task.bucket);
  }
  add_remainders(kind);
  timeline_.kinds.push_back(std::move(kind));
  return static_cast<std::uint32_t>(timeline_.kinds.size() - 1);
}

// What the parts of the task hold beyond the operations.
void Builder::add_remainders(TaskKindOperations& kind) {
  constexpr Seconds kNegligible = nanoseconds(2.0);  // of rounding
  const auto sums = booked_by_category(timeline_, kind);
  for (std::size_t c = 0; c < kStepCategories; ++c) {
    const auto category = static_cast<StepCategory>(c);
    const Seconds missing = to_seconds(kind.by_category[c]) - sums[c];
    const bool explained = category != StepCategory::idle && category != StepCategory::offload &&
                           category != StepCategory::launch_gap && sums[c] > Seconds{};
    const Seconds least = sums[c] > Seconds{} ? kNegligible : Seconds{};
    if (!explained && missing > least) {
      kind.parts.push_back({table_.remainder(category, missing), kNoLayer});
    }
  }
}

void Builder::add_pass(PartList& parts, const Chunk& chunk, TaskKind pass, std::int32_t bucket) {
  if (bucket != schedule::kWholeChunk) {
    add_layers(parts, chunk, pass, bucket);
    return;
  }
  for (int i = 0; i < chunk.buckets; ++i) {
    add_layers(parts, chunk, pass, pass == TaskKind::forward ? i : chunk.buckets - 1 - i);
  }
}

// Of a layer that a bucket holds in part all operations appear, shortened to what the task takes.
void Builder::add_layers(PartList& parts, const Chunk& chunk, TaskKind pass, int bucket) {
  const BucketSpan span = span_of(chunk, bucket);
  PartList made;
  if (span.embedding) {
    made.push_back({chunk.maker.embedding().of(pass), kEmbeddingLayer});
  }
  for (std::int64_t i = span.first(); i < span.last(); ++i) {
    const std::int64_t layer = chunk.layers.first_layer + i;
    const model::Recompute policy = recompute_policy(of_.input.spec.recompute, i);
    made.push_back({chunk.maker.layer(layer, policy).of(pass), static_cast<std::int32_t>(layer)});
  }
  if (span.head) {
    made.push_back({chunk.maker.head().of(pass), kHeadLayer});
  }
  if (pass != TaskKind::forward) {
    std::ranges::reverse(made);
  }
  parts.insert(parts.end(), made.begin(), made.end());
}

void Builder::add_one_after_the_other(PartList& parts, const StepTask& task) {
  const auto add = [&](std::int16_t chunk, TaskKind kind, PartPass pass) {
    const std::size_t first = parts.size();
    add_pass(parts, chunk_of(task.device, chunk), kind, schedule::kWholeChunk);
    for (std::size_t i = first; i < parts.size(); ++i) {
      parts[i].pass = pass;
    }
  };
  add(task.chunk, TaskKind::forward, PartPass::forward);
  add(task.backward_chunk, schedule::task_kind(task.backward_kind), PartPass::backward);
}

// Embedding and head by themselves, before and after the two streams.
void Builder::add_combined(PartList& parts, const StepTask& task) {
  const Chunk forward = chunk_of(task.device, task.chunk);
  const Chunk backward = chunk_of(task.device, task.backward_chunk);
  const bool with_weights = task.backward_kind == OpKind::backward;
  const TaskKind pass = schedule::task_kind(task.backward_kind);
  if (backward.layers.has_head) {
    parts.push_back({backward.maker.head().of(pass), kHeadLayer, PartPass::backward});
  }
  if (forward.layers.has_embedding) {
    parts.push_back({forward.maker.embedding().forward, kEmbeddingLayer, PartPass::forward});
  }
  for (const CombinedNode& node :
       combined_nodes(of_.stages, forward.costs, backward.costs, with_weights)) {
    const Chunk& chunk = node.forward ? forward : backward;
    const auto i = static_cast<std::int64_t>(node.layer);
    const std::int64_t layer = chunk.layers.first_layer + i;
    const model::Recompute policy = recompute_policy(of_.input.spec.recompute, i);
    parts.push_back({chunk.maker.layer(layer, policy).nodes[static_cast<std::size_t>(node.node)],
                     static_cast<std::int32_t>(layer),
                     node.forward ? PartPass::forward : PartPass::backward,
                     PartTime{.start = node.start,
                              .end = node.end,
                              .exposed = node.exposed,
                              .slowed = node.slowed,
                              .exchange = schedule::is_all_to_all(node.node)}});
  }
  if (forward.layers.has_head) {
    parts.push_back({forward.maker.head().forward, kHeadLayer, PartPass::forward});
  }
  if (backward.layers.has_embedding) {
    parts.push_back({backward.maker.embedding().of(pass), kEmbeddingLayer, PartPass::backward});
  }
}

// The layer when a bucket holds one alone, or a part of it.
std::int32_t Builder::layer_of_bucket(const Chunk& chunk, std::int32_t bucket) const {
  const BucketSpan span = span_of(chunk, bucket);
  return span.last() - span.first() == 1
             ? static_cast<std::int32_t>(chunk.layers.first_layer + span.first())
             : kNoLayer;
}

std::uint32_t Builder::message_operation(const schedule::Message& message) {
  return table_.operation(
      {.name = fmt::format("{} to stage {}", message.gradient ? "gradients" : "activations",
                           message.to),
       .kind = OperationKind::message,
       .stream = OperationStream::pipeline,
       .bytes = message_bytes(of_.input, message.gradient),
       .ranks = 2,
       .nodes = 2});
}

// The pass that made what a transfer carries.
std::optional<TaskId> Builder::producer_of(TaskId transfer) const {
  const StepTask& task = of_.graph.tasks[transfer.index()];
  std::optional<TaskId> found;
  for (const engine::Predecessor& edge : of_.graph.graph.predecessors(transfer)) {
    const StepTask& before = of_.graph.tasks[edge.task.index()];
    if (before.device == task.device && is_pass(before.kind) &&
        (!found || before.micro_batch == task.micro_batch)) {
      found = edge.task;
    }
  }
  return found;
}

void Builder::add_message(TaskId to, const engine::Predecessor& edge) {
  const StepTask& task = of_.graph.tasks[to.index()];
  const StepTask& before = of_.graph.tasks[edge.task.index()];
  const engine::Timing& timing = of_.run.timing;
  const bool by_transfer = before.kind == TaskKind::send_receive;
  std::int32_t which = edge.delay;
  std::optional<TaskId> from = edge.task;
  SimTime start = timing.end[edge.task.index()];
  SimTime end = start;
  if (by_transfer) {
    const bool same =
        before.micro_batch == task.micro_batch ||
        (task.kind == TaskKind::overlapped && before.micro_batch == task.backward_micro_batch);
    which = same ? before.message : schedule::kNone;
    from = producer_of(edge.task);
    end = start;
    start = timing.start[edge.task.index()];
  } else if (edge.delay != engine::kNoDelay) {
    end = start + of_.run.times.delays()[static_cast<std::size_t>(edge.delay)];
  }
  if (which < 0 || (!by_transfer && edge.delay == engine::kNoDelay) || !from) {
    return;
  }
  const schedule::Message& message = of_.graph.messages[static_cast<std::size_t>(which)];
  const std::uint32_t source = slice_of_[from->index()];
  const std::uint32_t target = slice_of_[to.index()];
  if (message.to == task.device && source != kNoSlice && target != kNoSlice) {
    timeline_.messages.push_back(
        {message_operation(message), by_transfer, source, target, start, end});
  }
}

void Builder::add_messages() {
  for (std::size_t i = 0; i < of_.graph.tasks.size(); ++i) {
    if (is_pass(of_.graph.tasks[i].kind)) {
      const TaskId id{static_cast<std::int32_t>(i)};
      for (const engine::Predecessor& edge : of_.graph.graph.predecessors(id)) {
        add_message(id, edge);
      }
    }
  }
}

// Communication is exposed while compute of its device waits for communication of its kind.
void Builder::take_waits() {
  timeline_.waits = std::move(of_.waits);
  std::ranges::sort(timeline_.waits, [](const DeviceWait& a, const DeviceWait& b) {
    return std::tie(a.device, a.start) < std::tie(b.device, b.start);
  });
  for (std::size_t i = 0; i < of_.graph.tasks.size(); ++i) {
    const StepTask& task = of_.graph.tasks[i];
    if (slice_of_[i] == kNoSlice || task.stream == schedule::Stream::compute) {
      continue;
    }
    const StepCategory wanted = task.stream == schedule::Stream::p2p
                                    ? StepCategory::exposed_pipeline
                                    : StepCategory::exposed_data;
    const SimTime start = of_.run.timing.start[i];
    const SimTime end = of_.run.timing.end[i];
    auto wait = std::partition_point(
        timeline_.waits.begin(), timeline_.waits.end(), [&](const DeviceWait& one) {
          return std::tuple(one.device, one.end) <= std::tuple(std::int32_t{task.device}, start);
        });
    SimTime& exposed = timeline_.runs[slice_of_[i]].exposed;
    for (; wait != timeline_.waits.end() && wait->device == task.device && wait->start < end;
         ++wait) {
      if (wait->category == wanted) {
        exposed += std::min(end, wait->end) - std::max(start, wait->start);
      }
    }
  }
}

}  // namespace

std::shared_ptr<const OperationTimeline> build_operation_timeline(TimelineInput of) {
  return std::make_shared<const OperationTimeline>(Builder(std::move(of)).build());
}

}  // namespace orrery::step
