// Several traces together: ranks, means, unknown kernels, and what is said about them.

#include "sim/answer/trace/measured_trace.hpp"

#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "tests/support.hpp"
#include "tests/unit/trace/kineto_writer.hpp"

namespace orrery::trace {
namespace {

using testing::KinetoWriter;

KinetoWriter steps_of(const std::vector<double>& lengths, int rank = -1) {
  KinetoWriter writer(rank, 4);
  double begin = 0.0;
  int number = 1;
  for (const double length : lengths) {
    writer.annotation("ProfilerStep#" + std::to_string(number++), begin, length)
        .kernel("gemm", begin, length / 2.0);
    begin += length;
  }
  return writer;
}

TEST(MeasuredTrace, MeansAreOverAllStepsOfAllRanks) {
  const MeasuredTrace measured =
      measure({steps_of({100.0, 200.0}, 1).trace(), steps_of({300.0, 400.0}, 0).trace()}, {});
  ASSERT_EQ(measured.ranks.size(), 2U);
  EXPECT_EQ(measured.ranks[0].label, "rank 0");
  EXPECT_EQ(measured.world_size, 4);
  const auto mean = mean_of(measured);
  ASSERT_TRUE(mean);
  EXPECT_EQ(mean->steps, 4);
  EXPECT_DOUBLE_EQ(in_seconds(mean->step_time), 250.0 * kMicro);
  EXPECT_DOUBLE_EQ(in_seconds(mean->shortest), 100.0 * kMicro);
  EXPECT_DOUBLE_EQ(in_seconds(mean->longest), 400.0 * kMicro);
  Seconds sum;
  for (const Seconds category : mean->categories) {
    sum += category;
  }
  EXPECT_NEAR(in_seconds(sum), in_seconds(mean->step_time), 1e-15);
}

TEST(MeasuredTrace, OneStepIsChosenByNameOrNumber) {
  const MeasuredTrace measured = measure({steps_of({100.0, 200.0, 350.0}).trace()}, {});
  EXPECT_DOUBLE_EQ(in_seconds(mean_of(measured, "2")->step_time), 200.0 * kMicro);
  EXPECT_DOUBLE_EQ(in_seconds(mean_of(measured, "ProfilerStep#3")->step_time), 350.0 * kMicro);
  EXPECT_FALSE(mean_of(measured, "4").has_value());
  EXPECT_EQ(measured.step_names(),
            (std::vector<std::string>{"ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"}));
  EXPECT_FALSE(is_step("ProfilerStep#12", "2"));
  EXPECT_FALSE(is_step("ProfilerStep#12", ""));
}

TEST(MeasuredTrace, UnknownKernelsAreListedWithTheirShareOfKernelTime) {
  KinetoWriter writer;
  writer.kernel("gemm", 0.0, 60.0)
      .kernel("odd", 60.0, 10.0)
      .kernel("odd", 70.0, 10.0)
      .kernel("odder", 80.0, 20.0);
  const MeasuredTrace measured = measure({writer.trace()}, {});
  ASSERT_EQ(measured.unknown.size(), 2U);
  EXPECT_EQ(measured.unknown[0].count + measured.unknown[1].count, 3);
  EXPECT_DOUBLE_EQ(measured.unknown[0].share, 0.2);
  EXPECT_DOUBLE_EQ(measured.unknown[1].share, 0.2);
}

TEST(MeasuredTrace, SaysHowItFoundStepsAndWhatItGuessed) {
  KinetoWriter writer;
  writer.kernel("gemm", 0.0, 60.0).kernel("ncclDevKernel_AllReduce_Sum", 60.0, 10.0);
  const MeasuredTrace measured = measure({writer.trace("job/rank-7.json")}, {});
  EXPECT_EQ(measured.ranks[0].label, "rank 7");
  ASSERT_EQ(measured.notes.size(), 4U);
  EXPECT_EQ(measured.notes[0],
            "rank 7: no steps were found, the whole trace counts as one; --marker TEXT names the "
            "annotation or the kernel that begins a step");
  EXPECT_EQ(measured.notes[1],
            "the trace holds no calls of the host: gaps above 10 us count as idle");
  EXPECT_EQ(measured.notes[2],
            "the trace does not say which groups these serve, and the layout leaves a choice: "
            "all_reduce as data-parallel communication; --group NAME=AXIS says it");
  EXPECT_EQ(measured.notes[3],
            "with one rank, waiting for slower ranks cannot be told from communication");
}

TEST(MeasuredTrace, DevicesOfOneTraceAreRanksOfTheirOwn) {
  KinetoWriter writer;
  writer.kernel("gemm", 0.0, 60.0, {.device = 0}).kernel("gemm", 10.0, 40.0, {.device = 1});
  const MeasuredTrace measured = measure({writer.trace()}, {});
  ASSERT_EQ(measured.ranks.size(), 2U);
  EXPECT_EQ(measured.ranks[0].label, "device 0");
  EXPECT_EQ(measured.ranks[1].steps[0].span.length(), 40'000);
}

TEST(MeasuredTrace, ATraceWithoutWorkOfAGpuIsRefusedWithASentence) {
  const TempFolder folder;
  const auto problem = [&folder](const std::string& text) {
    return read_gpu_trace(folder.write("t.json", text), {}).problem;
  };
  EXPECT_EQ(problem(KinetoWriter().annotation("ProfilerStep#1", 0.0, 10.0).text()),
            "t.json: the trace holds no work of a GPU (events of category kernel, gpu_memcpy or "
            "gpu_memset)");
  EXPECT_EQ(problem(R"({"traceEvents": [{"ph": "X", "ts": 1, "dur": 2, "name": "forward 1"}],
                        "otherData": {"scenario": "a run"}})"),
            "t.json: a trace that `orrery export` wrote, of no measured step");
  EXPECT_EQ(problem("{}"), "t.json: not a trace: it has no array `traceEvents`");
  EXPECT_THROW((void)read_gpu_trace(folder / "none.json", {}), Error);
}

TEST(MeasuredTrace, AMarkerThatIsNowhereIsAProblem) {
  const MeasuredTrace measured =
      measure({steps_of({100.0}).trace()}, {.search = {.marker = "epoch", .whole = false}});
  EXPECT_EQ(measured.problem, "no annotation and no kernel contains \"epoch\"");
  EXPECT_TRUE(measured.ranks.empty());
}

}  // namespace
}  // namespace orrery::trace
