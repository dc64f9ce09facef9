// Where steps begin and end: by the profiler's marks, a word of the user, or the optimizer.

#include <gtest/gtest.h>

#include "sim/answer/trace/measured_step.hpp"
#include "tests/unit/trace/kineto_writer.hpp"

namespace orrery::trace {
namespace {

using testing::KinetoWriter;

constexpr std::int64_t kTick = 1000;

std::vector<std::pair<std::string, Span>> windows(const KinetoWriter& writer,
                                                  const StepSearch& search = {}) {
  std::vector<std::pair<std::string, Span>> out;
  for (const StepWindow& window : find_steps(*writer.trace(), 0, search).windows) {
    out.emplace_back(window.name, Span{window.span.begin / kTick, window.span.end / kTick});
  }
  return out;
}

using Windows = std::vector<std::pair<std::string, Span>>;

// The host runs 40 us ahead of the GPU: marks [0, 100), [100, 200); work at 40..130 and 140..235.
KinetoWriter two_steps() {
  KinetoWriter writer;
  writer.annotation("ProfilerStep#8", 0.0, 100.0).annotation("ProfilerStep#9", 100.0, 100.0);
  writer.launch(1, 10.0).kernel("gemm", 40.0, 60.0, {.correlation = 1});
  writer.launch(2, 20.0).kernel("adam", 100.0, 30.0, {.correlation = 2});
  writer.launch(3, 110.0).kernel("gemm", 140.0, 60.0, {.correlation = 3});
  writer.launch(4, 120.0).kernel("adam", 200.0, 35.0, {.correlation = 4});
  return writer;
}

TEST(FindSteps, AStepBeginsWithTheFirstActivityLaunchedInItsMark) {
  // The last one ends with its mark's length at least: 140 + 100.
  EXPECT_EQ(windows(two_steps()),
            (Windows{{"ProfilerStep#8", {40, 140}}, {"ProfilerStep#9", {140, 240}}}));
}

TEST(FindSteps, WithoutLaunchesTheMarksAreTakenAtTheirWord) {
  KinetoWriter writer;
  writer.annotation("ProfilerStep#1", 0.0, 100.0).annotation("ProfilerStep#2", 100.0, 100.0);
  writer.kernel("gemm", 10.0, 80.0).kernel("gemm", 105.0, 80.0);
  EXPECT_EQ(windows(writer),
            (Windows{{"ProfilerStep#1", {10, 105}}, {"ProfilerStep#2", {105, 205}}}));
}

TEST(FindSteps, AMarkWithoutWorkIsNoStep) {
  KinetoWriter writer = two_steps();
  writer.annotation("ProfilerStep#10", 300.0, 20.0);
  EXPECT_EQ(windows(writer).size(), 2U);
}

TEST(FindSteps, WithoutMarksAStepEndsWithTheOptimizer) {
  KinetoWriter writer;
  for (int step = 0; step < 3; ++step) {
    const double begin = 1000.0 * step;
    writer.kernel("gemm", begin, 800.0);
    writer.kernel("multi_tensor_apply_kernel<L2Norm>", begin + 800.0, 20.0);
    writer.kernel("multi_tensor_apply_kernel<Adam>", begin + 850.0, 50.0);
  }
  EXPECT_EQ(windows(writer), (Windows{{"step 1", {900, 1900}}, {"step 2", {1900, 2900}}}));
  EXPECT_EQ(find_steps(*writer.trace(), 0, {}).by, FoundBy::optimizer);
}

TEST(FindSteps, WithoutAnyOfTheseTheWholeTraceIsOneStep) {
  KinetoWriter writer;
  writer.kernel("gemm", 5.0, 10.0).kernel("gemm", 40.0, 10.0);
  EXPECT_EQ(windows(writer), (Windows{{"the whole trace", {5, 50}}}));
  EXPECT_EQ(windows(two_steps(), {.marker = {}, .whole = true}),
            (Windows{{"the whole trace", {40, 235}}}));
}

TEST(FindSteps, TheUsersWordNamesAnnotationsOrKernels) {
  KinetoWriter writer = two_steps();
  writer.annotation("train_step 1", 0.0, 100.0).annotation("train_step 2", 100.0, 100.0);
  EXPECT_EQ(windows(writer, {.marker = "train_step", .whole = false})[1].first, "train_step 2");
  EXPECT_EQ(windows(two_steps(), {.marker = "gemm", .whole = false}),
            (Windows{{"step 1", {40, 140}}, {"step 2", {140, 235}}}));
  EXPECT_EQ(windows(two_steps(), {.marker = "nowhere", .whole = false}), Windows{});
}

}  // namespace
}  // namespace orrery::trace
