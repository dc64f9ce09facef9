#pragma once

// Timeline of operations: those within each task of a step, in order, with the cost of each.
//
//   booked(operation) = part of the task's time that the operation takes: all of a kernel, of a
//                       collective what compute waits for
//   sum of booked over a task, by category == parts of the task, to the nanosecond
//   sum over tasks and waits of a device   == its step ledger / its GPUs, to the nanosecond
//
// symbol    | meaning                                                       | unit | origin
// ----------|---------------------------------------------------------------|------|--------------
// sequence  | operations of one pass of one kind of layer (of the embedding,| -    | layer costs
//           | the head, the optimizer, a bucket's communication), in order  |      |
// booked    | time of the task that the operation takes                     | s    | stage costs
// hidden    | rest of a collective: it runs beside compute                  | s    | stage costs
// task      | what one kind of task consists of: sequences with the layer   | -    | stage plan
//           | that runs them                                                |      |
// wait      | time of a device between its tasks, by category               | ns   | attribution
//
// Layers of one kind share one sequence, tasks that are alike share one entry, so that a step of
// any number of GPUs takes kilobytes; place_operations() lays one task out in whole nanoseconds.
// What a task takes beside its operations (host time that the launches need, waiting for the
// slowest GPU, copies to the host) appears as an operation of its own at the end of its layer or
// bucket. A combined step runs a forward beside a backward on two streams (combined_step.hpp): its
// kernels are placed where the compute stream has them, as long as the all-to-all beside them makes
// them; its all-to-all where the communication stream has them, booked as far as compute waits for
// them. The clock of the two streams is that of GPUs at nominal speed: where GPUs are unequal, it
// runs as much slower as the kernels do.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/step/simulate/replay/wait_causes.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::step {

// Where an operation runs: the kernels of a rank, the communication by axis, the host and drives.
enum class OperationStream : std::uint8_t {
  compute,
  tensor,
  context,
  expert,
  pipeline,
  data,
  host,
  count_
};

inline constexpr std::size_t kOperationStreams = static_cast<std::size_t>(OperationStream::count_);

inline constexpr std::array<std::string_view, kOperationStreams> kOperationStreamNames = {
    "compute",           "tensor communication", "context communication", "expert communication",
    "pipeline messages", "data communication",   "host and drives"};

[[nodiscard]] constexpr std::string_view to_string(OperationStream stream) {
  return kOperationStreamNames[static_cast<std::size_t>(stream)];
}

// What an operation is, whichever layer runs it. Work is that of one rank, per run.
struct Operation {
  std::string name;  // "mlp_up fprop", "attention forward", "all_gather tensor (recomputed)"
  OperationKind kind = OperationKind::memory;
  OperationStream stream = OperationStream::compute;
  double flop = 0.0;
  Bytes bytes = {};        // through the memory interface; of communication what one rank sends
  std::int64_t ranks = 1;  // members of the group of a collective
  std::int64_t nodes = 1;  // that the group spans
};

// One operation of a sequence.
struct SequenceEntry {
  std::uint32_t operation = 0;  // index into OperationTimeline::operations
  StepCategory category = StepCategory::compute;
  Seconds booked = {};
  Seconds hidden = {};  // of a collective
  bool hidden_first =
      false;  // it has begun beside what runs before; else it ends beside what follows
};

using Sequence = std::vector<SequenceEntry>;

inline constexpr std::int32_t kNoLayer = -1;  // optimizer, communication of a bucket
inline constexpr std::int32_t kEmbeddingLayer = -2;
inline constexpr std::int32_t kHeadLayer = -3;

// Which pass of its task a part belongs to: a task of two passes has a forward and a backward.
enum class PartPass : std::uint8_t { whole_task, forward, backward };

// Where a node of a combined step runs, on the clock of its two streams (CombinedNode).
struct PartTime {
  SimTime start = {};
  SimTime end = {};
  SimTime exposed = {};   // of an all-to-all: compute waits for its last part
  SimTime slowed = {};    // of compute: what the all-to-all beside it adds
  bool exchange = false;  // an all-to-all, on the stream of communication
};

struct TaskPart {
  std::uint32_t sequence = 0;  // index into OperationTimeline::sequences
  std::int32_t layer = kNoLayer;
  PartPass pass = PartPass::whole_task;
  std::optional<PartTime> time = std::nullopt;  // of a node of a combined step
};

// What tasks of one composition consist of.
struct TaskKindOperations {
  std::vector<TaskPart> parts;
  SimTime total = {};  // without stretch; sum of by_category
  std::array<SimTime, kStepCategories> by_category{};
};

// By slice of the step.
struct TaskRun {
  std::uint32_t kind = 0;  // index into OperationTimeline::kinds
  SimTime stretch = {};    // lost to data-parallel communication on the same GPU, at its end
  SimTime exposed = {};    // of a slice of communication: compute of its device waits meanwhile
};

// A message between pipeline stages: from the end of the task that made it to its arrival. Where
// messages take no resource of the schedule they are no slices of the step, but they are here.
struct MessageRun {
  std::uint32_t operation = 0;
  bool is_slice = false;   // a task of its own
  std::uint32_t from = 0;  // slices of the step
  std::uint32_t to = 0;
  SimTime start = {};
  SimTime end = {};
};

// Time of the compute of a pipeline device / nominal: 1 where all GPUs are alike.
struct DevicePace {
  double slowest = 1.0;  // the GPU that the device waits for
  double mean = 1.0;
};

struct OperationTimeline {
  std::vector<Operation> operations;
  std::vector<Sequence> sequences;
  std::vector<TaskKindOperations> kinds;
  std::vector<TaskRun> runs;      // by index of StepResult::slices
  std::vector<DeviceWait> waits;  // by device and time
  std::vector<MessageRun> messages;
  std::vector<DevicePace> paces;  // by pipeline device
  std::vector<double> gpu_times;  // of compute / nominal, by rank; empty: nothing is drawn
  std::uint32_t stretched = 0;    // the operation that stands for stretches
  std::uint32_t slowed = 0;       // and the one for what all-to-all beside it adds to compute
};

// One operation within its task. Times are whole nanoseconds from the start of the task.
struct PlacedOperation {
  std::uint32_t operation = 0;
  std::int32_t layer = kNoLayer;
  StepCategory category = StepCategory::compute;
  SimTime start =
      {};  // of the operation on its stream: hidden parts may lie outside the booked one
  SimTime end = {};
  SimTime booked_from = {};  // booked parts follow each other without gaps from 0 to the task's end
  SimTime booked = {};
  SimTime slowed = {};  // follows `booked`: what all-to-all beside it adds; exposed_expert
  PartPass pass = PartPass::whole_task;
};

// The operations of one run of a task, in order of `booked_from`. Booked times, and what slows
// them, add up to the task's time by category; the stretch, where there is one, is the last.
// All-to-all of a combined step that compute does not wait for is booked with nothing, and lies
// anywhere in the task.
[[nodiscard]] std::vector<PlacedOperation> place_operations(const OperationTimeline& timeline,
                                                            const TaskRun& run);

// "layer 12 · mlp_up fprop", "head · logits fprop", "gradient reduce_scatter data"
[[nodiscard]] std::string full_name(const OperationTimeline& timeline,
                                    const PlacedOperation& placed);

// Of what the parts of a task hold, by category, before it is rounded to whole nanoseconds.
[[nodiscard]] std::array<Seconds, kStepCategories> booked_by_category(
    const OperationTimeline& timeline, const TaskKindOperations& kind);

// "layer 12", "embedding", "head"; empty for kNoLayer.
[[nodiscard]] std::string layer_name(std::int32_t layer);

}  // namespace orrery::step
