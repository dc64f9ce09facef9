// Flame views, communication and roofline of a step: they add up to the ledger, and no operation is
// faster than the GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "sim/answer/report/picture/roofline.hpp"
#include "sim/answer/report/picture/step_flame.hpp"
#include "sim/answer/report/text/details.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"
#include "tests/unit/evaluate/evaluate_fixture.hpp"

namespace orrery::evaluate::test {
namespace {

constexpr auto kText = R"(format: orrery/1
name: operations
model: {preset: llama3-70b, sequence_length: 8192}
cluster: {gpu: h100-sxm-80gb, nodes: 8, network: {preset: infiniband-400g}}
layout: {tensor: 8, sequence_parallel: true, pipeline: 2, sharding: zero1, schedule: 1f1b}
batch: {global: 64, micro: 1}
recompute: selective
)";

report::Evaluation with_operations() {
  return must_evaluate(kText, {.timelines = true, .operation_timeline = true});
}

// Bars of one depth never overlap, and the bars right below one cover it from end to end.
void expect_nested(const std::vector<report::FlameBar>& bars) {
  std::map<int, SimTime> reached;
  for (const report::FlameBar& bar : bars) {
    SimTime& end = reached[bar.depth];
    EXPECT_GE(bar.from, end) << bar.name;
    EXPECT_GE(bar.until, bar.from) << bar.name;
    end = bar.until;
  }
  for (std::size_t i = 0; i < bars.size(); ++i) {
    SimTime next = bars[i].from;
    bool divided = false;
    for (std::size_t j = i + 1; j < bars.size() && bars[j].depth > bars[i].depth; ++j) {
      if (bars[j].depth == bars[i].depth + 1) {
        EXPECT_EQ(bars[j].from, next) << bars[i].name << " > " << bars[j].name;
        next = bars[j].until;
        divided = true;
      }
    }
    EXPECT_TRUE(!divided || next == bars[i].until) << bars[i].name;
  }
}

TEST(OperationViews, FlameByOperationIsTheLedgerOfTheStep) {
  const report::Evaluation evaluation = with_operations();
  const auto bars = flame_by_operation(evaluation);
  ASSERT_FALSE(bars.empty());
  EXPECT_EQ(bars.front().until, evaluation.step.step_time);
  expect_nested(bars);
  std::size_t categories = 0;
  for (const report::LedgerRow& row : step_ledger_rows(evaluation)) {
    for (const report::FlameBar& bar : bars) {
      if (bar.depth == 1 && bar.name == row.label) {
        EXPECT_NEAR(bar.share, row.share, 1e-9) << row.label;
        ++categories;
      }
    }
    categories += row.share == 0.0 ? 1 : 0;
  }
  EXPECT_EQ(categories, step::kStepCategories) << "every account that has time has a bar";
}

TEST(OperationViews, FlameOfAStageIsItsStep) {
  const report::Evaluation evaluation = with_operations();
  for (std::int64_t stage = 0; stage < stage_count(evaluation); ++stage) {
    for (const auto& bars :
         {flame_by_operation(evaluation, stage), flame_by_layer(evaluation, stage)}) {
      ASSERT_FALSE(bars.empty());
      EXPECT_EQ(bars.front().from, SimTime{});
      EXPECT_EQ(bars.front().until, evaluation.step.step_time);
      expect_nested(bars);
    }
  }
  EXPECT_TRUE(flame_by_layer(evaluation, stage_count(evaluation)).empty());
}

TEST(OperationViews, ExposedCommunicationIsThatOfTheLedger) {
  const report::Evaluation evaluation = with_operations();
  const auto exposed_in = [&](step::StepCategory category) {
    SimTime sum;
    for (const report::CommunicationRow& row : communication_rows(evaluation)) {
      sum += row.category == category ? row.exposed : SimTime{};
    }
    return in_seconds(to_seconds(sum));
  };
  const double step = in_seconds(to_seconds(evaluation.step.step_time));
  const double tensor = evaluation.step.ledger.share(step::StepCategory::exposed_tensor);
  ASSERT_GT(tensor, 0.0);
  EXPECT_NEAR(exposed_in(step::StepCategory::exposed_tensor) / step, tensor, 1e-6);
}

TEST(OperationViews, NoOperationIsAboveTheRoof) {
  const report::Evaluation evaluation = with_operations();
  const report::Roofline roofs = roofline(evaluation);
  ASSERT_EQ(roofs.roofs.size(), 1U) << "bf16 only";
  const report::RooflineRoof& roof = roofs.roofs.front();
  const double bandwidth = in_bytes_per_second(evaluation.echo.memory_bandwidth);
  EXPECT_NEAR(roof.ridge * bandwidth, in_flop_per_second(roof.peak), 1e-3 * bandwidth);
  EXPECT_NEAR(in_flop_per_second(roof.rate.front()), roof.intensity.front() * bandwidth,
              1e-6 * in_flop_per_second(roof.peak));
  ASSERT_GE(roofs.points.size(), 10U) << "three products of each linear layer, and attention";
  for (const report::RooflinePoint& point : roofs.points) {
    const double limit = std::min(in_flop_per_second(roof.peak), bandwidth * point.intensity);
    EXPECT_LE(in_flop_per_second(point.achieved), limit) << point.name;
    EXPECT_GE(point.intensity, roof.intensity.front()) << point.name;
    EXPECT_LE(point.intensity, roof.intensity.back()) << point.name;
  }
}

TEST(OperationViews, AreEmptyWithoutOperations) {
  const report::Evaluation evaluation = must_evaluate(kText);
  EXPECT_TRUE(flame_by_operation(evaluation).empty());
  EXPECT_TRUE(flame_by_layer(evaluation, 0).empty());
  EXPECT_TRUE(communication_rows(evaluation).empty());
  EXPECT_TRUE(roofline(evaluation).points.empty());
}

// A gap that begins where the first pass of the second stage is still to come.
TEST(OperationViews, GapsAreWaitedForAndAddUp) {
  const report::Evaluation evaluation = with_operations();
  const step::StepResult& step = evaluation.step;
  const auto gap = report::gap_at(step, 1, SimTime{1});
  ASSERT_TRUE(gap && gap->next);
  EXPECT_EQ(gap->time.begin, SimTime{});
  EXPECT_EQ(gap->time.end, step.slices[*gap->next].start);
  const std::vector<std::size_t> chain = report::chain_of_causes(step, *gap->next);
  ASSERT_EQ(chain.size(), 2U) << "the first pass of stage 0, which its stage alone kept waiting";
  EXPECT_EQ(step.slices[chain[1]].task.device, 0);
  EXPECT_LE(step.slices[chain[1]].end, gap->time.end);
  SimTime sum;
  for (const SimTime part : report::time_within(step, gap->time, 1, 1)) {
    sum += part;
  }
  EXPECT_EQ(sum, gap->time.end - gap->time.begin);
}

TEST(OperationViews, EveryWaitHasItsCause) {
  const report::Evaluation evaluation = with_operations();
  const step::StepResult& step = evaluation.step;
  for (const step::DeviceWait& wait : step.operation_timeline->waits) {
    const auto gap = report::gap_at(step, wait.device, wait.start);
    ASSERT_TRUE(gap);
    const auto chain = report::chain_of_causes(step, gap->next.value_or(report::last_task(step)));
    EXPECT_TRUE(!gap->next || chain.size() > 1) << wait.device << " at " << wait.start.ns;
    for (std::size_t i = 1; i < chain.size(); ++i) {
      EXPECT_LE(step.slices[chain[i]].end, step.slices[chain[i - 1]].start);
    }
  }
}

TEST(OperationViews, TimeOfAWindowIsTheLedgerCutOut) {
  const report::Evaluation evaluation = with_operations();
  const step::StepResult& step = evaluation.step;
  const std::int64_t gpus = step.gpus / stage_count(evaluation);
  const SimTime middle{step.step_time.ns / 3};
  const auto before = report::time_within(step, {SimTime{}, middle}, 0, 1);
  const auto after = report::time_within(step, {middle, step.step_time}, 0, 1);
  SimTime half;
  for (std::size_t c = 0; c < before.size(); ++c) {
    const auto category = static_cast<step::StepCategory>(c);
    EXPECT_EQ(static_cast<Int128>((before[c] + after[c]).ns) * gpus,
              step.ledger.gpu_nanoseconds(category))
        << to_string(category);
    half += before[c];
  }
  EXPECT_EQ(half.ns, 2 * middle.ns);
}

TEST(OperationViews, DetailsSayWhatAWaitIsWorth) {
  const report::Evaluation evaluation =
      must_evaluate(std::string(kText) + "training: {tokens: 10B}\nprices: {gpu_hour: $2/h}\n",
                    {.timelines = true, .operation_timeline = true});
  const report::Details wait = details_of_step(evaluation, 1, SimTime{1});
  EXPECT_EQ(wait.title.rfind("Waits ", 0), 0U);
  EXPECT_NE(wait.title.find("for forward 0 of stage 0"), std::string::npos) << wait.title;
  EXPECT_EQ(wait.place, "stage 1 at 0 s");
  ASSERT_GE(wait.worth.size(), 2U);
  const Dollars all = training_cost(evaluation).value();
  const double share = wait.worth[0].share.value();
  EXPECT_NEAR(share, wait.worth[0].time / to_seconds(evaluation.step.step_time) / 2.0, 1e-12);
  EXPECT_NEAR(in_dollars(wait.worth[0].dollars.value()), in_dollars(all) * share, 1e-6);
  double parts = 0.0;
  for (const report::DetailPart& part : wait.parts) {
    parts += part.share;
  }
  EXPECT_NEAR(parts, 1.0, 1e-12);
  ASSERT_FALSE(wait.chain.empty());
  EXPECT_EQ(wait.chain[0].device, 0);
  const report::Details task = details_of_step(evaluation, 0, wait.chain[0].time.begin);
  EXPECT_EQ(task.title.rfind("Forward 0 of stage 0 takes ", 0), 0U) << task.title;
  EXPECT_TRUE(task.chain.empty()) << "its stage computed until then";
}

}  // namespace
}  // namespace orrery::evaluate::test
