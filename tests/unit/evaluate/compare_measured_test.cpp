// A measured step beside a predicted one: rows that add up, the sentence, and the pages, word by
// word.

#include "sim/answer/evaluate/compare/compare_measured.hpp"

#include <gtest/gtest.h>

#include "tests/unit/trace/kineto_writer.hpp"

namespace orrery::evaluate {
namespace {

using step::StepCategory;
using trace::testing::KinetoWriter;

constexpr std::int64_t kMicrosecond = 1000;

// A step of 1,000 us on 4 GPUs: two stages of two ranks each, tensor first.
report::Evaluation predicted() {
  report::Evaluation evaluation;
  evaluation.echo.layout.gpus = 4;
  evaluation.echo.layout.tensor = 2;
  evaluation.echo.layout.pipeline = 2;
  evaluation.echo.layout.order = {layout::Axis::tensor, layout::Axis::context, layout::Axis::data,
                                  layout::Axis::pipeline};
  evaluation.step.step_time = {1000 * kMicrosecond};
  evaluation.step.gpus = 4;
  evaluation.step.stage_ledgers.resize(2);
  const auto book = [&evaluation](std::size_t stage, StepCategory category, std::int64_t time) {
    evaluation.step.stage_ledgers[stage].book(category, 2, {time * kMicrosecond});
    evaluation.step.ledger.book(category, 2, {time * kMicrosecond});
  };
  book(0, StepCategory::compute, 600);
  book(0, StepCategory::recompute, 100);
  book(0, StepCategory::exposed_tensor, 100);
  book(0, StepCategory::bubble, 150);
  book(0, StepCategory::exposed_pipeline, 50);
  book(1, StepCategory::compute, 900);
  book(1, StepCategory::bubble, 100);
  return evaluation;
}

// A step of 1,200 us of one rank: compute 750, tensor 250, pipeline 150, a gap of 50.
KinetoWriter measured_step(int rank) {
  KinetoWriter writer(rank, 4);
  writer.annotation("ProfilerStep#5", 0.0, 1200.0)
      .annotation("ProfilerStep#6", 1200.0, 100.0)
      .launch(1, 0.0)
      .launch(2, 1.0)
      .launch(3, 2.0)
      .launch(4, 1120.0)
      .launch(5, 1201.0)
      .kernel("nvjet_hsh_256x128", 0.0, 700.0, {.correlation = 1})
      .kernel("ncclDevKernel_AllGather", 700.0, 250.0,
              {.stream = 20, .correlation = 2, .description = "TENSOR_MODEL_PARALLEL_GROUP"})
      .kernel("ncclDevKernel_SendRecv", 950.0, 150.0, {.stream = 21, .correlation = 3})
      .kernel("flash_bwd_kernel", 1150.0, 50.0, {.correlation = 4})
      .kernel("nvjet_hsh_256x128", 1210.0, 90.0, {.correlation = 5});
  return writer;
}

std::optional<MeasuredComparison> compare(const trace::GpuTraces& traces,
                                          const std::optional<std::string>& step = "5") {
  const report::Evaluation evaluation = predicted();
  trace::MeasureOptions options;
  options.degrees = degrees_of(evaluation);
  return compare_measured(evaluation, trace::measure(traces, options), step);
}

const MeasuredRow& row(const MeasuredComparison& comparison, std::string_view key) {
  for (const MeasuredRow& one : comparison.ledger) {
    if (one.key == key) {
      return one;
    }
  }
  ADD_FAILURE() << "no row " << key;
  return comparison.ledger.front();
}

double us(Seconds time) { return in_seconds(time) / kMicro; }

TEST(CompareMeasured, BothColumnsAddUpToTheirSteps) {
  const auto comparison = compare({measured_step(0).trace()});
  ASSERT_TRUE(comparison);
  Seconds predicted_sum;
  Seconds measured_sum;
  for (const MeasuredRow& one : comparison->ledger) {
    predicted_sum += one.predicted;
    measured_sum += one.measured;
  }
  EXPECT_NEAR(us(predicted_sum), 1000.0, 1e-9);
  EXPECT_NEAR(us(measured_sum), us(comparison->measured.step_time), 1e-9);
  EXPECT_NEAR(us(comparison->measured.step_time), 1210.0, 1e-9);
}

TEST(CompareMeasured, ARankIsComparedWithItsOwnStage) {
  // Ranks 0 and 1 are stage 0, ranks 2 and 3 stage 1.
  const layout::Layout layout = predicted().echo.layout;
  EXPECT_EQ(pipeline_device(layout, 1), 0);
  EXPECT_EQ(pipeline_device(layout, 2), 1);
  const auto first = compare({measured_step(0).trace()});
  EXPECT_EQ(first->stages, "pipeline device 0");
  EXPECT_NEAR(us(row(*first, "compute").predicted), 700.0, 1e-9);           // with recomputation
  EXPECT_NEAR(us(row(*first, "exposed_pipeline").predicted), 200.0, 1e-9);  // with the bubble
  const auto last = compare({measured_step(3).trace()});
  EXPECT_EQ(last->stages, "pipeline device 1");
  EXPECT_NEAR(us(row(*last, "compute").predicted), 900.0, 1e-9);
  const auto both = compare({measured_step(0).trace(), measured_step(3).trace()});
  EXPECT_EQ(both->stages, "pipeline devices 0, 1");
  EXPECT_NEAR(us(row(*both, "compute").predicted), 800.0, 1e-9);
}

TEST(CompareMeasured, TheVerdictNamesTheBiggestDifference) {
  // 1,210 us against 1,000: tensor +150 is the largest, of a gap of 210.
  EXPECT_EQ(compare({measured_step(0).trace()})->verdict,
            "The measured step takes 1.21 ms, the predicted one 1.00 ms: the prediction is 17.4% "
            "too short. The biggest difference is in tensor communication: 250 us "
            "measured, 100 us predicted, 71.4% of the difference of the step.");
}

TEST(CompareMeasured, AStepThatIsNotThereIsNothing) {
  EXPECT_FALSE(compare({measured_step(0).trace()}, "77").has_value());
}

TEST(CompareMeasured, AnotherJobIsNamedInANote) {
  KinetoWriter writer(0, 16);
  writer.kernel("gemm", 0.0, 10.0);
  const auto comparison = compare({writer.trace()}, std::nullopt);
  ASSERT_FALSE(comparison->notes.empty());
  EXPECT_EQ(comparison->notes.front(),
            "the trace is of a job of 16 ranks, the scenario has 4 GPUs: these are not the same "
            "job");
}

TEST(MeasuredText, IsTheWholeMeasuredStepOnOneScreen) {
  const trace::MeasuredTrace measured = trace::measure({measured_step(2).trace()}, {});
  EXPECT_EQ(measured_text(measured, *trace::mean_of(measured, "5")),
            R"(Measured: 1 step of 1 rank, mean 1.21 ms

Step, of one GPU
  compute                                750 us      62.0%
  launch_gap                            60.0 us      4.96%
  exposed_tensor                         250 us      20.7%
  exposed_pipeline                       150 us      12.4%

Kernels
  matrix multiplication                  700 us      57.9%
  attention                             50.0 us      4.13%

Communication, measured                   times         busy       hidden    exposed
  tensor, all_gather                          1       250 us          0 s     250 us
  pipeline, send_receive                      1       150 us          0 s     150 us

Note: the trace does not say which groups these serve, and the layout leaves a choice: send_receive
  as pipeline-parallel communication; --group NAME=AXIS says it
Note: with one rank, waiting for slower ranks cannot be told from communication

For a scenario:
measured:
  step_time: 0.00121s
)");
}

}  // namespace
}  // namespace orrery::evaluate
