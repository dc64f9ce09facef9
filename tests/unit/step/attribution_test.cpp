// Hand-made step graphs, every nanosecond of which is booked in a comment.

#include "sim/step/simulate/replay/attribution.hpp"

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
    return add({.kind = kind, .device = static_cast<std::int16_t>(device)}, device, ns,
               kind == TaskKind::optimizer ? StepCategory::optimizer : StepCategory::compute);
  }

  // A forward of which a part is not compute.
  TaskId forward(int device, std::int64_t compute_ns, StepCategory category, std::int64_t ns) {
    const TaskId task = compute(device, compute_ns);
    parts_.back().parts[static_cast<std::size_t>(category)] = {ns};
    parts_.back().total += SimTime{ns};
    durations_.back() += SimTime{ns};
    return task;
  }

  TaskId collective(int device, std::int64_t ns, TaskKind kind) {
    return add({.kind = kind,
                .stream = Stream::data_parallel_comm,
                .device = static_cast<std::int16_t>(device)},
               devices_ + device, ns, StepCategory::exposed_data);
  }

  // A blocking transfer: both sides wait for it.
  TaskId transfer(int from, std::int64_t ns) {
    return add({.kind = TaskKind::send_receive,
                .stream = Stream::p2p,
                .device = static_cast<std::int16_t>(from)},
               kNoResource, ns, StepCategory::exposed_pipeline);
  }

  // A copy that occupies the sender.
  TaskId copy(int from, std::int64_t ns) {
    return add({.kind = TaskKind::send_receive,
                .stream = Stream::compute,
                .device = static_cast<std::int16_t>(from)},
               from, ns, StepCategory::exposed_pipeline);
  }

  TaskId join() {
    return add(
        {.kind = TaskKind::join, .stream = Stream::data_parallel_comm, .device = schedule::kNone},
        kNoResource, 0, StepCategory::idle);
  }

  void after(TaskId before, TaskId after_it) { builder_.add_edge(before, after_it); }

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
    for (std::size_t i = 0; i < tasks_.size(); ++i) {  // a class each
      graph.classes.push_back({tasks_[i], 1});
      graph.class_of.push_back(static_cast<std::uint32_t>(i));
    }
    for (const std::int32_t task : graph.graph.tasks_of_nodes()) {
      graph.class_of_node.push_back(task == engine::TaskGraph::kHidden
                                        ? static_cast<std::uint32_t>(tasks_.size())
                                        : static_cast<std::uint32_t>(task));
    }
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
    return attribute_step({.step = {.graph = graph,
                                    .timing = timing,
                                    .delays = delays_,
                                    .parts = parts,
                                    .stretch = stretch_,
                                    .devices = devices_},
                           .gpus_per_device = gpus_per_device})
        .ledgers;
  }

  [[nodiscard]] std::int64_t makespan() const { return makespan_; }

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
// Without messages the step ends at 50; with backwards of 15 on both devices too, which then
// wait 25.
TEST(Attribution, AMessageIsChargedWithWhatTheStepTakesLongerForIt) {
  HandMade step(2);
  const TaskId f0 = step.compute(0, 10);
  const TaskId b0 = step.compute(0, 20, TaskKind::backward);
  const TaskId f1 = step.compute(1, 10);
  const TaskId b1 = step.compute(1, 10, TaskKind::backward);
  step.after_message(f0, f1, 3);
  step.after_message(b1, b0, 3);
  const auto ledgers = std::move(step).book(8);
  EXPECT_EQ(step.makespan(), 56);
  // Busy 30 of 50: it waits less than the ideal bubble.
  EXPECT_EQ(cells(ledgers[0]), (Cells{{StepCategory::compute, 8 * 30},
                                      {StepCategory::bubble, 8 * 20},
                                      {StepCategory::exposed_pipeline, 8 * 6}}));
  // Busy 20 of 50: the ideal bubble, and 5 because the other stage is heavier.
  EXPECT_EQ(cells(ledgers[1]), (Cells{{StepCategory::compute, 8 * 20},
                                      {StepCategory::bubble, 8 * 25},
                                      {StepCategory::stage_imbalance, 8 * 5},
                                      {StepCategory::exposed_pipeline, 8 * 6}}));
}

// Two forwards one after the other, 10 each and 2 for what is not compute: [0,12) [12,24). Without
// it both devices wait 10 of 20; with it 12 of 24.
TEST(Attribution, WhatPassesTakeLongerMakesTheOthersWaitAndIsChargedWithThat) {
  for (const StepCategory category : {StepCategory::exposed_tensor, StepCategory::exposed_context,
                                      StepCategory::exposed_expert, StepCategory::idle}) {
    HandMade step(2);
    const TaskId f0 = step.forward(0, 10, category, 2);
    const TaskId f1 = step.forward(1, 10, category, 2);
    step.after(f0, f1);
    for (const StepLedger& ledger : std::move(step).book()) {
      EXPECT_EQ(cells(ledger),
                (Cells{{StepCategory::compute, 10}, {StepCategory::bubble, 10}, {category, 4}}));
    }
  }
}

// The second device waits 10 of 20 for the first. Its own 4 on a wire fall into that waiting: the
// step takes no longer, so what it waits for is less by them.
TEST(Attribution, TimeThatFallsIntoWaitingIsTakenFromIt) {
  HandMade step(2);
  step.compute(0, 20);
  step.forward(1, 10, StepCategory::exposed_tensor, 4);
  const auto ledgers = std::move(step).book();
  EXPECT_EQ(cells(ledgers[0]), (Cells{{StepCategory::compute, 20}}));
  EXPECT_EQ(cells(ledgers[1]), (Cells{{StepCategory::compute, 10},
                                      {StepCategory::exposed_tensor, 4},
                                      {StepCategory::stage_imbalance, 6}}));
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
  EXPECT_EQ(cells(ledgers[0]), (Cells{{StepCategory::compute, 10},
                                      {StepCategory::exposed_data, 6},
                                      {StepCategory::optimizer, 2}}));
}

// Device 1 reduces last: backward ends at 30, its reduction at 35, optimizer until 38. Without
// reductions the step ends at 33; with equal backwards of 20 and optimizers of 2 nobody waits.
TEST(Attribution, WaitingForTheHeaviestStageIsImbalanceAndForItsReductionCommunication) {
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
  EXPECT_EQ(cells(ledgers[0]), (Cells{{StepCategory::compute, 10},
                                      {StepCategory::stage_imbalance, 22},
                                      {StepCategory::exposed_data, 5},
                                      {StepCategory::optimizer, 1}}));
  EXPECT_EQ(cells(ledgers[1]), (Cells{{StepCategory::compute, 30},
                                      {StepCategory::exposed_data, 5},
                                      {StepCategory::optimizer, 3}}));
}

// Device 0: F [0,10) blocks in the transfer [30,35), which starts when device 1 has come to it;
// device 1: F [0,30), transfer, F [35,40). Without the transfer the step ends at 40. With passes of
// 13.75 on average device 0 takes 14 + 14 and device 1 24 + 4: both wait 10 of 38.
TEST(Attribution, ABlockingTransferWaitsForTheOtherSide) {
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
  EXPECT_EQ(cells(ledgers[0]), (Cells{{StepCategory::compute, 20},
                                      {StepCategory::bubble, 10},
                                      {StepCategory::stage_imbalance, 10},
                                      {StepCategory::exposed_pipeline, 5}}));
  EXPECT_EQ(cells(ledgers[1]), (Cells{{StepCategory::compute, 35},
                                      {StepCategory::bubble, 5},
                                      {StepCategory::exposed_pipeline, 5}}));
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

// The sender copies [10,14) and goes on until 20; the receiver runs [14,22). Without the copy it
// runs [10,18), the sender until 16.
TEST(Attribution, ACopyThatOccupiesTheSenderIsExposedOnBothSides) {
  HandMade step(2);
  step.compute(0, 10);
  const TaskId copy = step.copy(0, 4);
  step.compute(0, 6);
  const TaskId f1 = step.compute(1, 8);
  step.after(copy, f1);
  const auto ledgers = std::move(step).book();
  EXPECT_EQ(cells(ledgers[0]), (Cells{{StepCategory::compute, 16},
                                      {StepCategory::bubble, 2},
                                      {StepCategory::exposed_pipeline, 4}}));
  EXPECT_EQ(cells(ledgers[1]), (Cells{{StepCategory::compute, 8},
                                      {StepCategory::bubble, 10},
                                      {StepCategory::exposed_pipeline, 4}}));
}

// A message arrives at 18, a gather at 15 or 25. What both delay is the message's, which comes
// first in the order of causes; what the gather delays beyond is its own.
TEST(Attribution, WhatTwoCausesDoTogetherGoesToTheFirstToDelayTheStep) {
  for (const std::int64_t gather_ns : {15, 25}) {
    HandMade step(2);
    const TaskId f0 = step.compute(0, 10);
    const TaskId gather = step.collective(1, gather_ns, TaskKind::parameter_gather);
    const TaskId f1 = step.compute(1, 6);
    step.after_message(f0, f1, 8);
    step.after(gather, f1);
    Cells expected = {{StepCategory::compute, 6},
                      {StepCategory::bubble, 8},
                      {StepCategory::stage_imbalance, 2},
                      {StepCategory::exposed_pipeline, 8}};
    if (gather_ns > 18) {
      expected[StepCategory::exposed_data] = gather_ns - 18;
    }
    EXPECT_EQ(cells(std::move(step).book()[1]), expected);
  }
}

// One device waits for nobody.
TEST(Attribution, WithoutPipelineNothingIsBubble) {
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
