// The bubble of a pipeline through the whole step stage, against closed forms.
//
//   1F1B, GPipe            bubble share = (p - 1) / (m + p - 1)
//   interleaved            (p - 1) / (m v + p - 1)
//
// symbol  | meaning
// --------|------------------------------------------
// p, v, m | devices, chunks per device, micro-batches
//
// The machine is ideal (tests/unit/step/ideal_machine.hpp); every stage holds as many layers. What
// is left is the loss on the last stage, below 10^-4 of a layer, and 18 us a message beside minutes
// of compute. Sources: arXiv 1811.06965, 2006.09503, 2104.04473.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/step/ideal_machine.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

using schedule::ScheduleKind;

constexpr double kTolerance = 1e-4;

StepResult ideal_pipeline(ScheduleKind kind, std::int64_t p, std::int64_t v, std::int64_t m,
                          hardware::PipelineTransfer transfer) {
  Ideal ideal;
  ideal.gpus_per_node = p;
  const cost::CostModel costs = with_software(
      ideal_costs(ideal), [transfer](auto& software) { software.plain_1f1b_transfer = transfer; });
  Case what;
  what.model_spec = ideal_model(p * v);
  what.layout.pipeline = p;
  what.layout.virtual_stages = v;
  what.batch = {.global = m, .micro = 1};
  what.step.schedule = kind;
  return simulate(input_of(what, costs), costs);
}

double closed_form(std::int64_t p, std::int64_t v, std::int64_t m) {
  return static_cast<double>(p - 1) / static_cast<double>(m * v + p - 1);
}

struct Size {
  std::int64_t p;
  std::int64_t v;
  std::int64_t m;
};

void expect_bubble(ScheduleKind kind, const std::vector<Size>& sizes) {
  for (const auto transfer :
       {hardware::PipelineTransfer::latency, hardware::PipelineTransfer::rendezvous_fused}) {
    for (const Size& at : sizes) {
      const StepResult result = ideal_pipeline(kind, at.p, at.v, at.m, transfer);
      const std::string where = std::string(to_string(kind)) + " p=" + std::to_string(at.p) +
                                " v=" + std::to_string(at.v) + " m=" + std::to_string(at.m);
      EXPECT_NEAR(result.ledger.share(StepCategory::bubble), closed_form(at.p, at.v, at.m),
                  kTolerance)
          << where;
      EXPECT_NEAR(
          result.ledger.share(StepCategory::bubble) + result.ledger.share(StepCategory::compute),
          1.0, kTolerance)
          << where;
    }
  }
}

TEST(StepBubble, OneFOneBWastesThreeSeventhsOfFourByFour) {
  expect_bubble(ScheduleKind::one_f_one_b, {{4, 1, 4}});
  EXPECT_DOUBLE_EQ(closed_form(4, 1, 4), 3.0 / 7.0);
}

TEST(StepBubble, OneFOneBWastesSevenThirtyNinthsOfEightByThirtyTwo) {
  expect_bubble(ScheduleKind::one_f_one_b, {{8, 1, 32}});
  EXPECT_DOUBLE_EQ(closed_form(8, 1, 32), 7.0 / 39.0);
}

TEST(StepBubble, OneFOneBFollowsTheClosedForm) {
  expect_bubble(ScheduleKind::one_f_one_b,
                {{2, 1, 1}, {2, 1, 8}, {3, 1, 5}, {4, 1, 2}, {6, 1, 16}, {16, 1, 64}});
}

TEST(StepBubble, GPipeFollowsTheClosedForm) {
  expect_bubble(ScheduleKind::gpipe, {{4, 1, 4}, {8, 1, 32}, {3, 1, 7}, {16, 1, 16}});
}

TEST(StepBubble, InterleavingDividesTheBubble) {
  expect_bubble(ScheduleKind::interleaved,
                {{4, 2, 4}, {4, 2, 16}, {8, 3, 32}, {8, 2, 8}, {16, 4, 16}, {2, 5, 6}});
}

TEST(StepBubble, BreadthFirstDividesTheBubbleAsWell) {
  expect_bubble(ScheduleKind::looped_bfs, {{4, 2, 8}, {8, 4, 8}});
}

// One layer more on one stage of p: the others wait for it in every one of m + p - 1 rounds but
// where the wave passes them. In units of a layer's F + B: makespan = (m - 1) (l + 1) + p l + 1,
// work of a device m l, of the longest m (l + 1).
TEST(StepBubble, TheLongestStageSetsThePace) {
  constexpr std::int64_t p = 4;
  constexpr std::int64_t m = 8;
  constexpr double l = 2.0;
  Ideal ideal;
  ideal.gpus_per_node = p;
  const cost::CostModel costs = ideal_costs(ideal);
  Case what;
  what.model_spec = ideal_model(9);
  what.layout.pipeline = p;
  what.layout.stage_layers = std::vector<std::int64_t>{2, 3, 2, 2};
  what.batch = {.global = m, .micro = 1};
  what.step.schedule = ScheduleKind::gpipe;
  const StepResult result = simulate(input_of(what, costs), costs);
  const double makespan = (m - 1) * (l + 1.0) + p * l + 1.0;
  const double work = m * (p * l + 1.0);
  EXPECT_NEAR(result.ledger.share(StepCategory::compute), work / (p * makespan), kTolerance);
}

// Every message of t seconds on the wire of a ring of p devices is crossed 2 (p - 1) times between
// the first forward and the last backward of GPipe; the rest hides behind other micro-batches.
TEST(StepBubble, LatencyIsExposedOnceEachWay) {
  constexpr std::int64_t p = 4;
  Ideal ideal;
  ideal.gpus_per_node = p;
  const auto step_with = [&](Seconds latency) {
    const cost::CostModel costs = with_software(ideal_costs(ideal), [latency](auto& software) {
      software.transfer_overhead = exactly(latency);
    });
    Case what;
    what.model_spec = ideal_model(p);
    what.layout.pipeline = p;
    what.batch = {.global = 6, .micro = 1};
    what.step.schedule = ScheduleKind::gpipe;
    return simulate(input_of(what, costs), costs);
  };
  const SimTime without = step_with(Seconds{}).step_time;
  const StepResult with = step_with(seconds(10.0));
  EXPECT_EQ((with.step_time - without).ns, 2 * (p - 1) * 10 * kNanosecondsPerSecond);
}

}  // namespace
}  // namespace orrery::step::test
