// A step with its operations as a trace, made by hand: one stage, one task, one collective.

#include "sim/report/operation_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "sim/step/operation_timeline.hpp"

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
      std::find_if(trace.slices.begin(), trace.slices.end(), [&](const TraceSlice& slice) {
        return trace.name(slice.name) == name;
      });
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
  EXPECT_EQ(trace.path_of(collective->track), "pipeline device 0/tensor parallel");
  EXPECT_EQ((collective->end - collective->begin).ns, 60'000);
  EXPECT_EQ(argument(trace, *collective, "ranks"), 8);
  EXPECT_EQ(argument(trace, *collective, "exposed_ns"), 40'000);
  EXPECT_EQ(argument(trace, *collective, "hidden_ns"), 20'000);
}

TEST(OperationTrace, ShowsWhatTheDeviceWaitsFor) {
  const Trace trace = operation_trace(one_task());
  const TraceSlice* wait = find_slice(trace, "idle");
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(trace.path_of(wait->track), "pipeline device 0/waiting");
}

TEST(OperationTrace, IsEmptyWithoutOperations) {
  EXPECT_TRUE(operation_trace({}).slices.empty());
}

}  // namespace
}  // namespace orrery::report
