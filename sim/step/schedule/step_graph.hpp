#pragma once

// The task graph of one optimizer step: tasks and their dependencies, without times.
//
// Streams of a device: compute (one resource), data-parallel communication (one resource), p2p
// (the wires; a resource per directed pair only in P2pMode::link).
//
// task             | duration from                       | waits for
// -----------------|-------------------------------------|----------------------------------------
// forward ...      | chunk (or bucket of it), pass       | its message, its gathers, the list order
// send_receive     | message class                       | producer; rendezvous: both sides
// gradient_reduce  | bucket                              | the backward that completes it
// parameter_gather | bucket                              | prefetch depth, comm stream order
// parameter_gather_again | bucket, for its backward      | the same
// join             | zero                                | all devices: global gradient norm
// optimizer        | device                              | join
//
// An operation is one task unless communication interleaves with it: then it is one task per
// bucket, forward in the order 0..B-1, backward in reverse. Overlapped steps are never split.
//   gathers per use                        -> every F, B and I
//   gathers per step, overlapped           -> the first F of each chunk
//   reductions per step, overlapped        -> the last B or W of each chunk
//   reductions per micro-batch, overlapped -> every B and W
//
// Assumption: the data-parallel stream of a device runs its collectives in the order of issue: the
// reductions that a compute task releases, then the next gather (BackwardPrefetch::after: the other
// way round). Complexity: O(tasks + messages).

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/step/engine/task_graph.hpp"
#include "sim/step/schedule/schedule.hpp"
#include "sim/step/schedule/schedule_spec.hpp"

namespace orrery::schedule {

// The first four are the operations of a schedule's list, as OpKind.
enum class TaskKind : std::uint8_t {
  forward,
  backward,
  backward_input,
  backward_weight,
  overlapped,  // a forward and a backward (or its input part) as one step
  send_receive,
  gradient_reduce,
  parameter_gather,
  parameter_gather_again,  // for a backward
  optimizer,
  join
};

[[nodiscard]] constexpr TaskKind task_kind(OpKind kind) { return static_cast<TaskKind>(kind); }

enum class Stream : std::uint8_t { compute, data_parallel_comm, p2p };

inline constexpr std::int32_t kWholeChunk = -1;  // StepTask::bucket
inline constexpr std::int32_t kNone = -1;        // fields that do not apply to a kind of task
inline constexpr TaskId kNoTask{kNone};

// Devices, chunks and micro-batches as indices of vectors.
[[nodiscard]] constexpr std::size_t index(std::int32_t value) {
  return static_cast<std::size_t>(value);
}

struct StepTask {
  TaskKind kind = TaskKind::join;
  Stream stream = Stream::compute;
  std::int16_t device = 0;  // send_receive: the sender; join: kNone
  std::int16_t chunk = 0;   // overlapped: of the forward; optimizer and join: kNone
  std::int32_t micro_batch = 0;
  std::int32_t bucket = kWholeChunk;
  std::int32_t message = kNone;             // send_receive: index into StepGraph::messages
  std::int32_t backward_micro_batch = 0;    // overlapped: of the backward
  std::int16_t backward_chunk = 0;          // overlapped: of the backward
  OpKind backward_kind = OpKind::backward;  // overlapped: backward or backward_input
};

// A class of messages that take equally long: all activations or all gradients over one hop.
struct Message {
  int from = 0;  // device
  int to = 0;    // device: the next or the previous one, or over the wrap-around
  bool gradient = false;

  friend constexpr bool operator==(const Message& a, const Message& b) = default;
};

enum class GradientReduction : std::uint8_t { none, per_step, per_micro_batch };
enum class ParameterGather : std::uint8_t { none, per_step, per_use };

// When a gather for the next backward is issued: as soon as its memory is free, beside the backward
// that runs (before); when that backward has ended, ahead of its reduction (after) or behind it.
enum class BackwardPrefetch : std::uint8_t { before, after, none };

struct DataParallelComm {
  GradientReduction gradients = GradientReduction::none;
  bool overlap_gradients = false;
  ParameterGather parameters = ParameterGather::none;
  bool overlap_parameters = false;
  int prefetch = 1;  // gathers ahead of compute, per_use and overlapped only; 0: none
  BackwardPrefetch backward_prefetch = BackwardPrefetch::before;  // per_use and overlapped only
  bool gather_for_backward = true;  // per_use; false: what the forward gathered stays

  friend bool operator==(const DataParallelComm& a, const DataParallelComm& b) = default;
};

struct StepGraphOptions {
  P2pMode p2p = P2pMode::none;                 // one that applies to the schedule
  std::vector<std::vector<int>> buckets = {};  // [device][chunk], >= 1; empty: 1 everywhere
  DataParallelComm comm = {};
  bool optimizer = false;  // false: the step ends with the last tasks

  friend bool operator==(const StepGraphOptions& a, const StepGraphOptions& b) = default;
};

// Tasks that differ in their micro-batches alone.
struct TaskClass {
  StepTask task;           // the first of them
  std::int64_t tasks = 0;  // how many there are
};

struct StepGraph {
  engine::TaskGraph graph;
  std::vector<StepTask> tasks;    // by TaskId; those of one resource in the order they run
  std::vector<Message> messages;  // by delay index, and of every send_receive task

  // As classify_tasks() fills them.
  std::vector<TaskClass> classes;
  std::vector<std::uint32_t> class_of;       // by TaskId
  std::vector<std::uint32_t> class_of_node;  // by node of `graph`; of hidden ones classes.size()
};

// A schedule that can never end: every device that has not finished, with what it waits for.
struct Deadlock {
  struct Stop {
    int device = 0;
    int completed_ops = 0;   // operations of its list that do end
    std::string waiting_at;  // "B0", "send F1", "recv B0"; empty when the device finishes
  };

  std::string message;
  std::vector<Stop> stops;  // by device
};

[[nodiscard]] std::variant<StepGraph, Deadlock> build_step_graph(const Schedule& schedule,
                                                                 const StepGraphOptions& options);

}  // namespace orrery::schedule
