// A step with its operations as a trace, made by hand: one stage, one task, one collective.

#include "sim/answer/report/export/operation_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "sim/step/simulate/operations/operation_timeline.hpp"

namespace orrery::report {
namespace {

using step::OperationKind;
using step::OperationStream;
using step::StepCategory;

// 60 us of a product of layer 7, then an all-reduce of 60 us of which 40 are waited for.
Evaluation one_task() {
  Evaluation evaluation;
  evaluation.step.stage_ledgers.resize(1);
  step::Slice slice;
  slice.task.kind = schedule::TaskKind::forward;
  slice.task.micro_batch = 3;
  slice.start = {1000};
  slice.end = {101'000};
  evaluation.step.slices = {slice};
  auto timeline = std::make_shared<step::OperationTimeline>();
  timeline->operations = {{.name = "qkv fprop", .kind = OperationKind::gemm, .flop = 6e10},
                          {.name = "tensor_all_reduce",
                           .kind = OperationKind::collective,
                           .stream = OperationStream::tensor,
                           .bytes = bytes(6e6),
                           .ranks = 8}};
  timeline->sequences = {
      {{0, StepCategory::compute, microseconds(60.0), {}, false},
       {1, StepCategory::exposed_tensor, microseconds(40.0), microseconds(20.0), false}}};
  step::TaskKindOperations kind;
  kind.parts = {{0, 7}};
  kind.total = {100'000};
  kind.by_category[static_cast<std::size_t>(StepCategory::compute)] = {60'000};
  kind.by_category[static_cast<std::size_t>(StepCategory::exposed_tensor)] = {40'000};
  timeline->kinds = {kind};
  timeline->runs = {{0, {}, {}}};
  timeline->waits = {{0, StepCategory::idle, {0}, {1000}}};
  evaluation.step.operation_timeline = std::move(timeline);
  return evaluation;
}

const TraceSlice* find_slice(const Trace& trace, std::string_view name) {
  const auto found =
      std::find_if(trace.slices.begin(), trace.slices.end(),
                   [&](const TraceSlice& slice) { return trace.name(slice.name) == name; });
  return found != trace.slices.end() ? &*found : nullptr;
}

std::int64_t argument(const Trace& trace, const TraceSlice& slice, std::string_view key) {
  for (const TraceArgument& one : trace.arguments_of(slice)) {
    if (trace.name(one.key) == key) {
      return one.value;
    }
  }
  return -1;
}

TEST(OperationTrace, NestsTaskLayerAndKernel) {
  const Trace trace = operation_trace(one_task());
  const TraceSlice* task = find_slice(trace, "forward 3");
  const TraceSlice* layer = find_slice(trace, "layer 7");
  const TraceSlice* kernel = find_slice(trace, "qkv fprop");
  ASSERT_TRUE(task != nullptr && layer != nullptr && kernel != nullptr);
  EXPECT_EQ(trace.path_of(kernel->track), "pipeline device 0/compute");
  EXPECT_EQ(task->track, kernel->track);
  EXPECT_EQ(layer->track, kernel->track);
  EXPECT_EQ(layer->begin.ns, 1000);
  EXPECT_EQ(layer->end.ns, 101'000);
  EXPECT_EQ(kernel->end.ns, 61'000);
  EXPECT_EQ(argument(trace, *kernel, "flop"), 60'000'000'000);
}

TEST(OperationTrace, SaysWhatOfACollectiveIsHidden) {
  const Trace trace = operation_trace(one_task());
  const TraceSlice* collective = find_slice(trace, "layer 7 · tensor_all_reduce");
  ASSERT_NE(collective, nullptr);
  EXPECT_EQ(trace.path_of(collective->track), "pipeline device 0/tensor communication");
  EXPECT_EQ((collective->end - collective->begin).ns, 60'000);
  EXPECT_EQ(argument(trace, *collective, "ranks"), 8);
  EXPECT_EQ(argument(trace, *collective, "exposed_ns"), 40'000);
  EXPECT_EQ(argument(trace, *collective, "hidden_ns"), 20'000);
}

// A combined step: attention of layer 1 forward 60 us, of which 10 because an all-to-all of layer 9
// backward runs beside it; the experts of layer 9 backward wait 20 us more for that one.
Evaluation combined() {
  Evaluation evaluation = one_task();
  evaluation.step.slices[0].task.kind = schedule::TaskKind::overlapped;
  auto timeline = std::make_shared<step::OperationTimeline>();
  timeline->operations = {{.name = "attention forward", .kind = OperationKind::attention},
                          {.name = "expert_combine_backward",
                           .kind = OperationKind::collective,
                           .stream = OperationStream::expert,
                           .ranks = 64},
                          {.name = "expert_down dgrad", .kind = OperationKind::gemm}};
  timeline->sequences = {
      {{0, StepCategory::compute, microseconds(50.0), {}, false}},
      {{1, StepCategory::exposed_expert, microseconds(80.0), {}, false}},
      {{2, StepCategory::compute, microseconds(20.0), {}, false}},
  };
  const auto at = [](std::int64_t from, std::int64_t to) {
    return step::PartTime{.start = {from * 1000}, .end = {to * 1000}};
  };
  step::PartTime attention = at(0, 60);
  attention.slowed = {10'000};
  step::PartTime exchange = at(0, 80);
  exchange.exposed = {20'000};
  exchange.exchange = true;
  step::TaskKindOperations kind;
  kind.parts = {{0, 1, step::PartPass::forward, attention},
                {1, 9, step::PartPass::backward, exchange},
                {2, 9, step::PartPass::backward, at(80, 100)}};
  kind.total = {100'000};
  kind.by_category[static_cast<std::size_t>(StepCategory::compute)] = {70'000};
  kind.by_category[static_cast<std::size_t>(StepCategory::exposed_expert)] = {30'000};
  timeline->kinds = {kind};
  timeline->runs = {{0, {}, {}}};
  evaluation.step.operation_timeline = std::move(timeline);
  return evaluation;
}

TEST(OperationTrace, DrawsBothPassesOfACombinedStepWhereTheyRun) {
  const Trace trace = operation_trace(combined());
  const TraceSlice* kernel = find_slice(trace, "attention forward");
  const TraceSlice* exchange = find_slice(trace, "layer 9 · expert_combine_backward");
  const TraceSlice* experts = find_slice(trace, "expert_down dgrad");
  ASSERT_TRUE(kernel != nullptr && exchange != nullptr && experts != nullptr);
  EXPECT_EQ(kernel->begin.ns, 1000);
  EXPECT_EQ(kernel->end.ns, 61'000);
  EXPECT_EQ(argument(trace, *kernel, "slowed_ns"), 10'000);
  EXPECT_EQ(trace.path_of(exchange->track), "pipeline device 0/expert communication");
  EXPECT_EQ(exchange->begin.ns, 1000);
  EXPECT_EQ(exchange->end.ns, 81'000);
  EXPECT_EQ(argument(trace, *exchange, "exposed_ns"), 20'000);
  EXPECT_EQ(argument(trace, *exchange, "hidden_ns"), 60'000);
  EXPECT_EQ(experts->begin.ns, 81'000);
  EXPECT_EQ(experts->end.ns, 101'000);
  const TraceSlice* forward = find_slice(trace, "layer 1 forward");
  const TraceSlice* backward = find_slice(trace, "layer 9 backward");
  ASSERT_TRUE(forward != nullptr && backward != nullptr);
  EXPECT_EQ(forward->end.ns, 61'000);
  EXPECT_EQ(backward->begin.ns, 61'000);  // with the part of the all-to-all that it waits for
  EXPECT_EQ(backward->end.ns, 101'000);
}

TEST(OperationTrace, ShowsWhatTheDeviceWaitsFor) {
  const Trace trace = operation_trace(one_task());
  const TraceSlice* wait = find_slice(trace, "idle");
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(trace.path_of(wait->track), "pipeline device 0/waiting");
}

TEST(OperationTrace, IsEmptyWithoutOperations) { EXPECT_TRUE(operation_trace({}).slices.empty()); }

}  // namespace
}  // namespace orrery::report
