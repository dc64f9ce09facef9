// Hand-made step graphs, every nanosecond of which is booked in a comment.

#include "sim/step/attribution.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <variant>
#include <vector>

namespace orrery::step {
namespace {

using engine::GraphBuilder;
using engine::kNoResource;
using schedule::StepTask;
using schedule::Stream;
using schedule::TaskKind;

// Tasks with durations; resources as in real step graphs: one compute stream and one stream of
// collectives per device.
class HandMade {
 public:
  explicit HandMade(int devices) : devices_(devices) {}

  TaskId compute(int device, std::int64_t ns, TaskKind kind = TaskKind::forward) {
    return add({.kind = kind, .device = static_cast<std::int16_t>(device)},
               device,
               ns,
               kind == TaskKind::optimizer ? StepCategory::optimizer : StepCategory::compute);
  }

  TaskId collective(int device, std::int64_t ns, TaskKind kind) {
    return add({.kind = kind,
                .stream = Stream::data_parallel_comm,
                .device = static_cast<std::int16_t>(device)},
               devices_ + device,
               ns,
               StepCategory::exposed_data);
  }

  // A blocking transfer: both sides wait for it.
  TaskId transfer(int from, std::int64_t ns) {
    return add({.kind = TaskKind::send_receive,
                .stream = Stream::p2p,
                .device = static_cast<std::int16_t>(from)},
               kNoResource,
               ns,
               StepCategory::exposed_pipeline);
  }

  // A copy that occupies the sender.
  TaskId copy(int from, std::int64_t ns) {
    return add({.kind = TaskKind::send_receive,
                .stream = Stream::compute,
                .device = static_cast<std::int16_t>(from)},
               from,
               ns,
               StepCategory::exposed_pipeline);
  }

  TaskId join() {
    return add(
        {.kind = TaskKind::join, .stream = Stream::data_parallel_comm, .device = schedule::kNone},
        kNoResource,
        0,
        StepCategory::idle);
  }

  void after(TaskId before, TaskId after_it) {
    builder_.add_edge(before, after_it);
  }

  void after_message(TaskId before, TaskId after_it, std::int64_t ns) {
    builder_.add_edge(before, after_it, static_cast<std::int32_t>(delays_.size()));
    delays_.push_back({ns});
  }

  void stretch(TaskId task, std::int64_t ns) {
    stretch_.resize(tasks_.size());
    stretch_[task.index()] = {ns};
    durations_[task.index()] += SimTime{ns};
  }

  std::vector<StepLedger> book(std::int64_t gpus_per_device = 1) && {
    schedule::StepGraph graph;
    graph.graph = std::get<engine::TaskGraph>(std::move(builder_).finish());
    graph.tasks = tasks_;
    delays_.resize(graph.graph.delay_count());
    engine::Timing timing;
    engine::replay_linear(graph.graph, durations_, delays_, timing);
    makespan_ = timing.makespan.ns;
    std::vector<const TaskParts*> parts;
    for (const TaskParts& part : parts_) {
      parts.push_back(&part);
    }
    if (!stretch_.empty()) {
      stretch_.resize(tasks_.size());
    }
    return attribute_step({.graph = graph,
                           .timing = timing,
                           .delays = delays_,
                           .parts = parts,
                           .stretch = stretch_,
                           .devices = devices_,
                           .gpus_per_device = gpus_per_device});
  }

  [[nodiscard]] std::int64_t makespan() const {
    return makespan_;
  }

 private:
  TaskId add(const StepTask& task, std::int32_t resource, std::int64_t ns, StepCategory category) {
    tasks_.push_back(task);
    TaskParts parts;
    parts.total = {ns};
    parts.parts[static_cast<std::size_t>(category)] = {ns};
    parts_.push_back(parts);
    durations_.push_back({ns});
    return builder_.add_task(resource);
  }

  int devices_;
  GraphBuilder builder_;
  std::vector<StepTask> tasks_;
  std::vector<TaskParts> parts_;
  std::vector<SimTime> durations_;
  std::vector<SimTime> delays_;
  std::vector<SimTime> stretch_;
  std::int64_t makespan_ = 0;
};

using Cells = std::map<StepCategory, std::int64_t>;

// The categories of a ledger that are not zero.
Cells cells(const StepLedger& ledger) {
  Cells result;
  for (std::size_t c = 0; c < kStepCategories; ++c) {
    const auto category = static_cast<StepCategory>(c);
    if (ledger.gpu_nanoseconds(category) != 0) {
      result[category] = static_cast<std::int64_t>(ledger.gpu_nanoseconds(category));
    }
  }
  return result;
}

// Device 0: F [0,10) ........ wait ....... B [36,56)
// Device 1: .... F [13,23) B [23,33) ............... message of 3 both ways
TEST(Attribution, WaitingForAMessageIsBubbleUntilItsProducerEndsAndExposedUntilItArrives) {
  HandMade step(2);
  const TaskId f0 = step.compute(0, 10);
  const TaskId b0 = step.compute(0, 20, TaskKind::backward);
  const TaskId f1 = step.compute(1, 10);
  const TaskId b1 = step.compute(1, 10, TaskKind::backward);
  step.after_message(f0, f1, 3);
  step.after_message(b1, b0, 3);
  const auto ledgers = std::move(step).book(8);
  EXPECT_EQ(step.makespan(), 56);
  // Waits [10, 36) for B of device 1, which ends at 33: 23 bubble, 3 on the wire. Eight GPUs.
  EXPECT_EQ(cells(ledgers[0]),
            (Cells{{StepCategory::compute, 8 * 30},
                   {StepCategory::bubble, 8 * 23},
                   {StepCategory::exposed_pipeline, 8 * 3}}));
  // Waits [0, 13) for F of device 0, which ends at 10; nothing to do after 33.
  EXPECT_EQ(cells(ledgers[1]),
            (Cells{{StepCategory::compute, 8 * 20},
                   {StepCategory::bubble, 8 * 10},
                   {StepCategory::exposed_pipeline, 8 * 3},
                   {StepCategory::idle, 8 * 23}}));
}

// Gathers [0,7) [7,19); F0 [7,12), F1 waits for its gather until 19.
TEST(Attribution, AGatherThatArrivesLateIsExposedDataCommunication) {
  HandMade step(1);
  const TaskId gather_0 = step.collective(0, 7, TaskKind::parameter_gather);
  const TaskId f0 = step.compute(0, 5);
  const TaskId gather_1 = step.collective(0, 12, TaskKind::parameter_gather);
  const TaskId f1 = step.compute(0, 4);
  step.after(gather_0, f0);
  step.after(gather_1, f1);
  const auto ledgers = std::move(step).book();
  EXPECT_EQ(step.makespan(), 23);
  EXPECT_EQ(cells(ledgers[0]),
            (Cells{{StepCategory::compute, 9}, {StepCategory::exposed_data, 7 + 7}}));
}

// B [0,10), reduction [10,16), join, optimizer [16,18): the reduction is all exposed.
TEST(Attribution, TheReductionBeforeTheOptimizerIsExposedDataCommunication) {
  HandMade step(1);
  const TaskId backward = step.compute(0, 10, TaskKind::backward);
  const TaskId reduce = step.collective(0, 6, TaskKind::gradient_reduce);
  const TaskId join = step.join();
  const TaskId optimizer = step.compute(0, 2, TaskKind::optimizer);
  step.after(backward, reduce);
  step.after(backward, join);
  step.after(reduce, join);
  step.after(join, optimizer);
  const auto ledgers = std::move(step).book();
  EXPECT_EQ(cells(ledgers[0]),
            (Cells{{StepCategory::compute, 10},
                   {StepCategory::exposed_data, 6},
                   {StepCategory::optimizer, 2}}));
}

// Device 1 reduces last: backward ends at 30, its reduction at 35. Device 0 ended at 10 and reduced
// until 14: it waits 20 for device 1's compute and 5 for its reduction.
TEST(Attribution, WaitingForTheSlowestDeviceIsBubbleUntilItsComputeEnds) {
  HandMade step(2);
  const TaskId b0 = step.compute(0, 10, TaskKind::backward);
  const TaskId r0 = step.collective(0, 4, TaskKind::gradient_reduce);
  const TaskId b1 = step.compute(1, 30, TaskKind::backward);
  const TaskId r1 = step.collective(1, 5, TaskKind::gradient_reduce);
  const TaskId join = step.join();
  const TaskId o0 = step.compute(0, 1, TaskKind::optimizer);
  const TaskId o1 = step.compute(1, 3, TaskKind::optimizer);
  step.after(b0, r0);
  step.after(b1, r1);
  step.after(r0, join);
  step.after(r1, join);
  step.after(join, o0);
  step.after(join, o1);
  const auto ledgers = std::move(step).book();
  EXPECT_EQ(step.makespan(), 38);
  EXPECT_EQ(cells(ledgers[0]),
            (Cells{{StepCategory::compute, 10},
                   {StepCategory::bubble, 20},
                   {StepCategory::exposed_data, 5},
                   {StepCategory::optimizer, 1},
                   {StepCategory::idle, 2}}));
  EXPECT_EQ(cells(ledgers[1]),
            (Cells{{StepCategory::compute, 30},
                   {StepCategory::exposed_data, 5},
                   {StepCategory::optimizer, 3}}));
}

// Device 0: F [0,10) blocks in the transfer [30,35), which starts when device 1 has come to it;
// device 1: F [0,30), transfer, F [35,40).
TEST(Attribution, ABlockingTransferWaitsForTheOtherSideAsBubble) {
  HandMade step(2);
  const TaskId f0 = step.compute(0, 10);
  const TaskId next_0 = step.compute(0, 10);
  const TaskId f1 = step.compute(1, 30);
  const TaskId next_1 = step.compute(1, 5);
  const TaskId transfer = step.transfer(0, 5);
  step.after(f0, transfer);
  step.after(f1, transfer);
  step.after(transfer, next_0);
  step.after(transfer, next_1);
  const auto ledgers = std::move(step).book();
  EXPECT_EQ(step.makespan(), 45);
  EXPECT_EQ(cells(ledgers[0]),
            (Cells{{StepCategory::compute, 20},
                   {StepCategory::bubble, 20},
                   {StepCategory::exposed_pipeline, 5}}));
  EXPECT_EQ(cells(ledgers[1]),
            (Cells{{StepCategory::compute, 35},
                   {StepCategory::exposed_pipeline, 5},
                   {StepCategory::idle, 5}}));
}

// Transfers one after another: the second begins when the first has ended, at 15. All 12 ns that
// device 0 blocks are communication, none is bubble.
TEST(Attribution, ATransferBehindATransferIsExposedPipelineCommunication) {
  HandMade step(2);
  const TaskId f0 = step.compute(0, 10);
  const TaskId next = step.compute(0, 10);
  const TaskId first = step.transfer(0, 5);
  const TaskId second = step.transfer(0, 7);
  step.after(f0, first);
  step.after(first, second);
  step.after(second, next);
  const auto ledgers = std::move(step).book();
  EXPECT_EQ(cells(ledgers[0]),
            (Cells{{StepCategory::compute, 20}, {StepCategory::exposed_pipeline, 12}}));
}

// The sender copies [10,14) and goes on; the receiver waits 10 for the producer and 4 for the copy.
TEST(Attribution, ACopyThatOccupiesTheSenderIsExposedOnBothSides) {
  HandMade step(2);
  step.compute(0, 10);
  const TaskId copy = step.copy(0, 4);
  step.compute(0, 6);
  const TaskId f1 = step.compute(1, 6);
  step.after(copy, f1);
  const auto ledgers = std::move(step).book();
  EXPECT_EQ(cells(ledgers[0]),
            (Cells{{StepCategory::compute, 16}, {StepCategory::exposed_pipeline, 4}}));
  EXPECT_EQ(cells(ledgers[1]),
            (Cells{{StepCategory::compute, 6},
                   {StepCategory::bubble, 10},
                   {StepCategory::exposed_pipeline, 4}}));
}

// The kind of exposed communication is that of what arrives last: a message at 18 against a gather
// at 15, after the producer's end at 10.
TEST(Attribution, TheLastArrivalNamesTheExposedCommunication) {
  for (const auto& [gather_ns, nature] :
       {std::pair{15, StepCategory::exposed_pipeline}, std::pair{25, StepCategory::exposed_data}}) {
    HandMade step(2);
    const TaskId f0 = step.compute(0, 10);
    const TaskId gather = step.collective(1, gather_ns, TaskKind::parameter_gather);
    const TaskId f1 = step.compute(1, 5);
    step.after_message(f0, f1, 8);
    step.after(gather, f1);
    const auto ledgers = std::move(step).book();
    EXPECT_EQ(cells(ledgers[1]),
              (Cells{{StepCategory::compute, 5},
                     {StepCategory::bubble, 10},
                     {nature, std::max(18, gather_ns) - 10}}));
  }
}

// One device has no pipeline to wait for: before the producer's end it is idle.
TEST(Attribution, WithoutPipelineWaitingForComputeIsIdle) {
  HandMade step(1);
  const TaskId join = step.join();
  const TaskId first = step.compute(0, 4);
  const TaskId last = step.compute(0, 4);
  step.after(first, join);
  step.after(join, last);
  EXPECT_EQ(cells(std::move(step).book()[0]), (Cells{{StepCategory::compute, 8}}));
}

// Time that overlapped communication takes from a compute task is exposed data communication.
TEST(Attribution, StretchOfComputeIsExposedDataCommunication) {
  HandMade step(1);
  const TaskId task = step.compute(0, 10);
  step.stretch(task, 3);
  EXPECT_EQ(cells(std::move(step).book()[0]),
            (Cells{{StepCategory::compute, 10}, {StepCategory::exposed_data, 3}}));
}

}  // namespace
}  // namespace orrery::step
