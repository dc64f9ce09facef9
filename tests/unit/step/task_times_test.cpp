#include "sim/step/simulate/replay/task_times.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <variant>
#include <vector>

#include "sim/step/schedule/schedule.hpp"
#include "sim/step/simulate/replay/paced_replay.hpp"

namespace orrery::step {
namespace {

constexpr auto kCompute = static_cast<std::size_t>(StepCategory::compute);
constexpr auto kGap = static_cast<std::size_t>(StepCategory::launch_gap);
constexpr auto kIdle = static_cast<std::size_t>(StepCategory::idle);
constexpr auto kData = static_cast<std::size_t>(StepCategory::exposed_data);

Parts lasting(double ns, std::size_t category = kCompute) {
  Parts parts;
  parts.by_category[category] = nanoseconds(ns);
  return parts;
}

std::vector<SimTime> times(std::initializer_list<std::int64_t> values) {
  std::vector<SimTime> result;
  for (const std::int64_t ns : values) {
    result.push_back({ns});
  }
  return result;
}

// Two layers on one device, one micro-batch: forward 5 a layer, backward 10, reduction 6.
StageCosts two_layers() {
  BucketCosts layer;
  layer.forward = lasting(5);
  layer.backward = lasting(10);
  layer.gradient_reduce = lasting(6, kData);
  StageCosts costs;
  costs.buckets = {layer};
  costs.devices = {{.chunks = {{.buckets = {0, 0}}}, .optimizer = lasting(2)}};
  costs.send_forward.resize(1);
  costs.send_backward.resize(1);
  return costs;
}

schedule::StepGraph overlapped_graph() {
  const auto plan = std::get<schedule::Schedule>(
      schedule::generate({.kind = schedule::ScheduleKind::none, .group_size = {}}));
  auto built = schedule::build_step_graph(
      plan,
      {.buckets = {{2}},
       .comm = {.gradients = schedule::GradientReduction::per_step, .overlap_gradients = true},
       .optimizer = true});
  return std::get<schedule::StepGraph>(std::move(built));
}

// Ties go to the even nanosecond, each part by itself: 0.5 -> 0, 1.5 -> 2, 2.5 -> 2.
TEST(RoundParts, RoundsEachPartAndAddsThemUp) {
  Parts parts;
  parts.by_category[kCompute] = nanoseconds(0.5);
  parts.by_category[kGap] = nanoseconds(1.5);
  parts.by_category[kIdle] = nanoseconds(2.5);
  parts.by_category[kData] = nanoseconds(7.4);
  const TaskParts rounded = round_parts(parts);
  EXPECT_EQ(rounded.parts[kCompute].ns, 0);
  EXPECT_EQ(rounded.parts[kGap].ns, 2);
  EXPECT_EQ(rounded.parts[kIdle].ns, 2);
  EXPECT_EQ(rounded.parts[kData].ns, 7);
  EXPECT_EQ(rounded.total.ns, 11);
}

// Whole forward 10; backward 10, reduction 6 of the last layer; 10 and 6 of the first; join;
// optimizer 2.
TEST(TaskTimes, GivesEveryTaskTheCostOfItsChunkOrBucket) {
  const schedule::StepGraph graph = overlapped_graph();
  const StageCosts costs = two_layers();
  const TaskTimes task_times(graph, costs);
  const std::vector<SimTime> durations(task_times.durations().begin(),
                                       task_times.durations().end());
  EXPECT_EQ(durations, times({10, 10, 6, 10, 6, 0, 2}));
}

// F [0,10) B1 [10,20) reduce1 [20,26) beside B0 [20,33), reduce0 [33,39), optimizer [39,41):
// B0 shares 6 ns with a reduction: at a slow-down of 1/2 it takes 3 more, and all after it move.
TEST(PacedReplay, StretchesComputeByItsShareOfOverlappedCommunication) {
  const schedule::StepGraph graph = overlapped_graph();
  const StageCosts costs = two_layers();
  TaskTimes task_times(graph, costs);
  engine::Timing timing;
  PacedReplay(graph, 0.5).run(task_times, timing);
  const std::vector<SimTime> stretch(task_times.stretch().begin(), task_times.stretch().end());
  EXPECT_EQ(stretch, times({0, 0, 0, 3, 0, 0, 0}));
  EXPECT_EQ(timing.makespan.ns, 41);

  // F 10 + B 20 computed, 3 stretched, 6 of the last reduction exposed, optimizer booked as such.
  const auto ledgers = attribute_step({.step = {.graph = graph,
                                                .timing = timing,
                                                .delays = task_times.delays(),
                                                .parts = task_times.parts(),
                                                .stretch = task_times.stretch()}})
                           .ledgers;
  EXPECT_EQ(ledgers[0].gpu_nanoseconds(StepCategory::compute), 30 + 2);
  EXPECT_EQ(ledgers[0].gpu_nanoseconds(StepCategory::exposed_data), 3 + 6);
}

TEST(PacedReplay, WithoutSlowDownNothingIsStretched) {
  const schedule::StepGraph graph = overlapped_graph();
  const StageCosts costs = two_layers();
  TaskTimes task_times(graph, costs);
  engine::Timing timing;
  PacedReplay(graph, 0.0).run(task_times, timing);
  EXPECT_EQ(timing.makespan.ns, 38);
  EXPECT_TRUE(task_times.stretch().empty());
}

// Three devices in a V: chunk 1 runs back up, so its forward message goes to the device before,
// over the wire of that direction.
TEST(TaskTimes, MessagesTakeTheWireOfTheirDirection) {
  const auto plan =
      std::get<schedule::Schedule>(schedule::generate({.kind = schedule::ScheduleKind::zb_v,
                                                       .devices = 3,
                                                       .chunks = 2,
                                                       .micro_batches = 6,
                                                       .group_size = {}}));
  auto built = schedule::build_step_graph(plan, {.p2p = schedule::P2pMode::latency});
  const auto& graph = std::get<schedule::StepGraph>(built);
  StageCosts costs;
  costs.buckets.resize(1);
  costs.devices.resize(3, {.chunks = {{.buckets = {0}}, {.buckets = {0}}}, .optimizer = {}});
  costs.send_forward = {lasting(1), lasting(2), lasting(3)};   // 0 -> 1, 1 -> 2, 2 -> 0
  costs.send_backward = {lasting(4), lasting(5), lasting(6)};  // 0 -> 2, 1 -> 0, 2 -> 1
  const TaskTimes task_times(graph, costs);
  for (std::size_t i = 0; i < graph.messages.size(); ++i) {
    const schedule::Message& message = graph.messages[i];
    const auto from = static_cast<std::int64_t>(message.from);
    EXPECT_EQ(task_times.delays()[i].ns, message.to > message.from ? 1 + from : 4 + from);
  }
}

}  // namespace
}  // namespace orrery::step
