// Unequal GPUs: order statistics, lockstep, and the closed form of a synchronous pipeline.

#include "sim/step/simulate/stages/speed_spread.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sim/step/simulate/execute_step.hpp"
#include "tests/unit/step/ideal_machine.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

// n = 2: 1 / sqrt(pi); n = 3: 3 / (2 sqrt(pi)); n = 10 and 100: tables of order statistics
// (Harter 1961).
TEST(ExpectedMaximum, FollowsTheClosedFormsAndTheTables) {
  const double root = std::sqrt(std::numbers::pi);
  EXPECT_NEAR(expected_maximum(1), 0.0, 1e-6);
  EXPECT_NEAR(expected_maximum(2), 1.0 / root, 1e-5);
  EXPECT_NEAR(expected_maximum(3), 1.5 / root, 1e-5);
  EXPECT_NEAR(expected_maximum(10), 1.53875, 1e-4);
  EXPECT_NEAR(expected_maximum(100), 2.50759, 1e-4);
}

// A pure data-parallel job whose replicas meet once a step: the step is the slowest GPU's.
Case replicas(std::int64_t gpus) {
  Case what;
  what.model_spec = ideal_model(2);
  what.batch = {.global = gpus, .micro = 1};
  what.step.variation.gpu_sigma = 0.05;
  return what;
}

double nominal_seconds(Case what, const cost::CostModel& costs) {
  what.step.variation = {};
  return step_seconds(simulate(input_of(what, costs), costs));
}

TEST(SpeedSpread, MeanOverDrawsIsTheExpectedSlowestOfN) {
  constexpr std::int64_t kGpus = 64;
  constexpr std::int64_t kDraws = 400;
  const cost::CostModel costs = machine(kGpus);
  Case what = replicas(kGpus);
  what.step.variation.draws = kDraws;
  const StepResult result = simulate(input_of(what, costs), costs);
  ASSERT_EQ(result.draws.size(), static_cast<std::size_t>(kDraws));
  double sum = 0.0;
  for (const SimTime draw : result.draws) {
    sum += in_seconds(to_seconds(draw));
  }
  const double expected = 1.0 + 0.05 * expected_maximum(kGpus);
  const double mean = sum / kDraws / nominal_seconds(what, costs);
  // The slowest of 64 has a deviation of about 0.43 sigma: 4 standard errors over 400 draws.
  EXPECT_NEAR(mean, expected, 4.0 * 0.43 * 0.05 / std::sqrt(double{kDraws}));
  EXPECT_EQ(result.step_time, result.draws[(kDraws - 1) / 2]);
}

TEST(SpeedSpread, BooksTheMeanAsComputeAndTheRestAsIdle) {
  const cost::CostModel costs = machine(16);
  const Case what = replicas(16);
  const StepInput input = input_of(what, costs);
  const StepResult result = simulate(input, costs);
  const SpeedDraw drawn = draw_speeds(input, 1, 0);
  double slowest = 0.0;
  for (const auto& group : drawn.groups) {
    slowest = std::max(slowest, group[0]);
  }
  EXPECT_NEAR(result.ledger.share(StepCategory::compute), drawn.mean[0] / slowest, 1e-4);
  EXPECT_NEAR(result.ledger.share(StepCategory::idle), 1.0 - drawn.mean[0] / slowest, 1e-4);
  EXPECT_EQ(result.ledger.total(), Int128{16} * Int128{result.step_time.ns});
}

// GPipe on the ideal machine with stage times x_d (F + B = x_d t): the longest stage is passed m
// times, the others once: makespan = t (sum_d x_d + (m - 1) max_d x_d).
TEST(SpeedSpread, EveryStageHasItsOwnSpeed) {
  constexpr std::int64_t p = 4;
  constexpr std::int64_t m = 8;
  const cost::CostModel costs = machine(p);
  Case what;
  what.model_spec = ideal_model(p);
  what.layout.pipeline = p;
  what.batch = {.global = m, .micro = 1};
  what.step.schedule = schedule::ScheduleKind::gpipe;
  const double t = nominal_seconds(what, costs) / static_cast<double>(m + p - 1);
  what.step.variation.gpu_sigma = 0.1;
  const StepInput input = input_of(what, costs);
  const SpeedDraw drawn = draw_speeds(input, 1, 0);
  double sum = 0.0;
  double longest = 0.0;
  for (const double x : drawn.groups[0]) {
    sum += x;
    longest = std::max(longest, x);
  }
  const double expected = t * (sum + static_cast<double>(m - 1) * longest);
  EXPECT_NEAR(step_seconds(simulate(input, costs)) / expected, 1.0, 1e-4);
}

TEST(SpeedSpread, GatheredParametersPutAllReplicasInLockstep) {
  const cost::CostModel costs = machine(8);
  Case what = replicas(8);
  EXPECT_EQ(lockstep_replicas(input_of(what, costs)), 1);
  what.layout.sharding = layout::Sharding::zero3;
  EXPECT_EQ(lockstep_replicas(input_of(what, costs)), 8);
}

TEST(SpeedSpread, NodesShareTheirPart) {
  Ideal ideal;
  ideal.nodes = 4;
  ideal.gpus_per_node = 4;
  const cost::CostModel costs = ideal_costs(ideal);
  Case what = replicas(16);
  what.step.variation = {.node_sigma = 0.1};
  const SpeedDraw drawn = draw_speeds(input_of(what, costs), 1, 0);
  ASSERT_EQ(drawn.groups.size(), 16U);
  for (std::size_t gpu = 0; gpu < 16; ++gpu) {
    EXPECT_DOUBLE_EQ(drawn.groups[gpu][0], drawn.groups[gpu - gpu % 4][0]);
  }
  EXPECT_NE(drawn.groups[0][0], drawn.groups[4][0]);
}

TEST(SpeedSpread, SlowGpusTakeTheirFactor) {
  const cost::CostModel costs = machine(16);
  Case what = replicas(16);
  what.step.variation = {.slow_share = 1.0, .slow_factor = 1.5};
  EXPECT_NEAR(step_seconds(simulate(input_of(what, costs), costs)) / nominal_seconds(what, costs),
              1.5, 1e-4);
}

}  // namespace
}  // namespace orrery::step::test
