// Where the time of a step went: closed forms, one per rule of the ledger, and the invariant that
// it adds up.

#include "sim/answer/trace/measured_step.hpp"

#include <gtest/gtest.h>

#include "sim/answer/trace/measured_trace.hpp"
#include "sim/base/random.hpp"
#include "tests/unit/trace/kineto_writer.hpp"

namespace orrery::trace {
namespace {

using step::StepCategory;
using testing::KernelOptions;
using testing::KinetoWriter;

constexpr std::int64_t kMicrosecond = 1000;
const char* const kAllReduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
const char* const kAllGather = "ncclDevKernel_AllGather_RING_LL";
const char* const kSend = "ncclDevKernel_SendRecv";

MeasuredStep measure_one(const KinetoWriter& writer, MeasureOptions options = {}) {
  options.search.whole = true;
  const MeasuredTrace measured = measure({writer.trace()}, options);
  EXPECT_EQ(measured.problem, "");
  return measured.ranks.at(0).steps.at(0);
}

std::int64_t booked(const MeasuredStep& step, StepCategory category) {
  return static_cast<std::int64_t>(step.ledger.gpu_nanoseconds(category)) / kMicrosecond;
}

TEST(MeasuredStep, CommunicationIsExposedWhereNoComputeCoversIt) {
  // gemm [0, 100), all-reduce [60, 160), flash [130, 200): exposed [100, 130), hidden 40 + 30.
  KinetoWriter writer;
  writer.kernel("gemm", 0.0, 100.0)
      .kernel(kAllReduce, 60.0, 100.0, {.stream = 20})
      .kernel("flash_fwd_kernel", 130.0, 70.0);
  const MeasuredStep step = measure_one(writer);
  EXPECT_EQ(booked(step, StepCategory::compute), 170);
  EXPECT_EQ(booked(step, StepCategory::exposed_data), 30);
  EXPECT_EQ(step.work[static_cast<std::size_t>(Work::gemm)], 100 * kMicrosecond);
  EXPECT_EQ(step.work[static_cast<std::size_t>(Work::attention)], 70 * kMicrosecond);
  ASSERT_EQ(step.operations.size(), 1U);
  EXPECT_EQ(step.operations[0].busy, 100 * kMicrosecond);
  EXPECT_EQ(step.operations[0].hidden, 70 * kMicrosecond);
  EXPECT_EQ(step.operations[0].count, 1);
}

TEST(MeasuredStep, WhatTwoCollectivesExposeTogetherIsBookedOnce) {
  // Data [0, 100) and tensor [50, 150) alone on the GPU: tensor comes first in the ledger.
  KinetoWriter writer;
  writer.kernel(kAllReduce, 0.0, 100.0, {.stream = 20, .description = "mesh_dp"})
      .kernel(kAllGather, 50.0, 100.0, {.stream = 21, .description = "mesh_tp"});
  const MeasuredStep step = measure_one(writer);
  EXPECT_EQ(booked(step, StepCategory::exposed_tensor), 100);
  EXPECT_EQ(booked(step, StepCategory::exposed_data), 50);
  EXPECT_EQ(step.ledger.total(), 150 * kMicrosecond);
}

TEST(MeasuredStep, CopiesOptimizerAndUnknownKernelsHaveTheirPlace) {
  KinetoWriter writer;
  writer.kernel("somebody's kernel", 0.0, 10.0)
      .kernel("Memcpy HtoD (Pinned -> Device)", 5.0, 25.0, {.stream = 9, .category = "gpu_memcpy"})
      .kernel("Memcpy DtoD (Device -> Device)", 30.0, 10.0, {.category = "gpu_memcpy"})
      .kernel("multi_tensor_apply_kernel<AdamFunctor>", 40.0, 20.0);
  const MeasuredStep step = measure_one(writer);
  EXPECT_EQ(booked(step, StepCategory::compute), 20);
  EXPECT_EQ(booked(step, StepCategory::offload), 20);
  EXPECT_EQ(booked(step, StepCategory::optimizer), 20);
  EXPECT_EQ(step.work[static_cast<std::size_t>(Work::unknown)], 10 * kMicrosecond);
}

TEST(MeasuredStep, AGapBelongsToTheHostWhenItLaunchedLate) {
  // Kernel until 100; the next was launched at 140 and ran at 150: the host was late.
  KinetoWriter writer;
  writer.launch(1, 0.0).launch(2, 140.0);
  writer.kernel("gemm", 10.0, 90.0, {.correlation = 1})
      .kernel("gemm", 150.0, 50.0, {.correlation = 2});
  EXPECT_EQ(booked(measure_one(writer), StepCategory::launch_gap), 50);
}

TEST(MeasuredStep, AGapBeforeAKernelThatWasLaunchedInTimeIsIdleUnlessShort) {
  // Launched at 20 and 30, long before they ran: 8 us is a launch, 50 us waits for an event.
  KinetoWriter writer;
  writer.launch(1, 0.0).launch(2, 20.0).launch(3, 30.0);
  writer.kernel("gemm", 10.0, 90.0, {.correlation = 1})
      .kernel("gemm", 108.0, 42.0, {.correlation = 2})
      .kernel("gemm", 200.0, 50.0, {.correlation = 3});
  const MeasuredStep step = measure_one(writer);
  EXPECT_EQ(booked(step, StepCategory::launch_gap), 8);
  EXPECT_EQ(booked(step, StepCategory::idle), 50);
}

TEST(MeasuredStep, WhileTheHostWaitsForItsLoaderAGapIsADataStall) {
  // Gap [100, 200), the loader holds the host during [120, 180).
  KinetoWriter writer;
  writer.launch(1, 0.0).launch(2, 190.0);
  writer.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 120.0, 60.0);
  writer.kernel("gemm", 10.0, 90.0, {.correlation = 1})
      .kernel("gemm", 200.0, 50.0, {.correlation = 2});
  const MeasuredStep step = measure_one(writer);
  EXPECT_EQ(booked(step, StepCategory::data_stall), 60);
  EXPECT_EQ(booked(step, StepCategory::launch_gap), 40);
}

// Two ranks of one group; rank 1 computes 50 us longer, so rank 0 waits 50 us in the all-reduce.
// The clock of rank 1 is 1 ms ahead.
GpuTraces two_ranks(const char* kernel, const char* description) {
  GpuTraces traces;
  for (int rank = 0; rank < 2; ++rank) {
    const double clock = 1000.0 * rank;
    const double compute = 100.0 + 50.0 * rank;
    KinetoWriter writer(rank, 2);
    writer.annotation("ProfilerStep#1", clock, 180.0);
    writer.kernel("gemm", clock, compute)
        .kernel(kernel, clock + compute, 180.0 - compute,
                {.stream = 20, .group = "0", .description = description, .ranks = "[0, 1]"});
    traces.push_back(writer.trace());
  }
  return traces;
}

TEST(MeasuredStep, WaitingForTheLastPeerIsIdleAndNoClocksAreCompared) {
  const MeasuredTrace measured = measure(two_ranks(kAllReduce, "mesh_dp"), {});
  ASSERT_EQ(measured.ranks.size(), 2U);
  const MeasuredStep& early = measured.ranks[0].steps[0];
  const MeasuredStep& late = measured.ranks[1].steps[0];
  EXPECT_EQ(booked(early, StepCategory::idle), 50);
  EXPECT_EQ(booked(early, StepCategory::exposed_data), 30);
  EXPECT_EQ(booked(late, StepCategory::idle), 0);
  EXPECT_EQ(booked(late, StepCategory::exposed_data), 30);
}

TEST(MeasuredStep, SendsArePairsAndAreLeftAlone) {
  const MeasuredTrace measured = measure(two_ranks(kSend, "mesh_pp"), {});
  EXPECT_EQ(booked(measured.ranks[0].steps[0], StepCategory::exposed_pipeline), 80);
  EXPECT_EQ(booked(measured.ranks[0].steps[0], StepCategory::idle), 0);
}

TEST(MeasuredStep, RandomTracesAddUpToTheNanosecond) {
  constexpr std::uint64_t kSeed = 5;
  RandomStream random(kSeed, 0, Purpose::property_test, 0);
  const std::vector<std::string> names = {
      "gemm",     "flash_fwd", "elementwise",
      "adam",     "mystery",   kAllReduce,
      kAllGather, kSend,       "Memcpy HtoD (Pinned -> Device)"};
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    KinetoWriter writer;
    for (int step = 0; step < 4; ++step) {
      writer.annotation("ProfilerStep#" + std::to_string(step), 1000.0 * step, 1000.0);
    }
    for (int i = 1; i < 200; ++i) {
      const double launch = random.uniform01() * 4000.0;
      const auto name =
          static_cast<std::size_t>(random.uniform01() * static_cast<double>(names.size()));
      writer.launch(i, launch).kernel(names[name], launch + random.uniform01() * 60.0,
                                      random.uniform01() * 40.0,
                                      {.stream = i % 3, .correlation = i});
    }
    const MeasuredTrace measured = measure({writer.trace()}, {});
    ASSERT_EQ(measured.ranks.size(), 1U);
    for (const MeasuredStep& step : measured.ranks[0].steps) {
      EXPECT_EQ(static_cast<std::int64_t>(step.ledger.total()), step.span.length());
      std::int64_t work = 0;
      for (const std::int64_t part : step.work) {
        work += part;
      }
      EXPECT_EQ(work,
                static_cast<std::int64_t>(step.ledger.gpu_nanoseconds(StepCategory::compute) +
                                          step.ledger.gpu_nanoseconds(StepCategory::optimizer)));
      for (const OperationTime& one : step.operations) {
        EXPECT_LE(one.hidden, one.busy);
        EXPECT_LE(one.busy, step.span.length());
      }
    }
  }
}

}  // namespace
}  // namespace orrery::trace
