// Clusters of two types: the slowest of every pipeline device sets its pace.

#include <gtest/gtest.h>

#include "sim/step/simulate/stages/speed_spread.hpp"
#include "tests/unit/step/ideal_machine.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

Ideal two_nodes(double speed) {
  Ideal ideal;
  ideal.nodes = 2;
  ideal.gpus_per_node = 4;
  ideal.rate = flop_per_second(kGiga * speed);
  ideal.memory = gigabytes(speed > 1.0 ? 200.0 : 100.0);
  return ideal;
}

// The second node computes at half the rate.
StepInput with_slow_node(const Case& what, const cost::CostModel& fast) {
  StepInput input = input_of(what, fast);
  input.mixed = {{1, std::make_shared<const cost::CostModel>(ideal_costs(two_nodes(1.0)))}};
  return input;
}

TEST(MixedGpus, ReplicasWaitForTheSlowest) {
  const cost::CostModel fast = ideal_costs(two_nodes(2.0));
  const cost::CostModel slow = ideal_costs(two_nodes(1.0));
  Case what;
  what.model_spec = ideal_model(2);
  what.nodes = 2;
  what.batch = {.global = 16, .micro = 1};
  const StepInput mixed = with_slow_node(what, fast);
  const StepResult result = simulate(mixed, fast);
  // Parts are rounded to nanoseconds one by one, and idle is one part more.
  EXPECT_NEAR(step_seconds(result) / step_seconds(simulate(input_of(what, slow), slow)), 1.0, 1e-9);
  // Half of the GPUs compute half of the time.
  EXPECT_NEAR(result.ledger.share(StepCategory::compute), 0.75, 1e-3);
  EXPECT_NEAR(result.ledger.share(StepCategory::idle), 0.25, 1e-3);
  EXPECT_EQ(result.memory.front().limit, gigabytes(100.0));
  EXPECT_EQ(result.ledger.total(), Int128{8} * Int128{result.step_time.ns});
}

// Stages on different nodes: t_fast = 1/2, t_slow = 1, GPipe: sum + (m - 1) max = 1.5 + (m - 1).
TEST(MixedGpus, StagesOnDifferentTypesHaveTheirOwnPace) {
  constexpr std::int64_t m = 8;
  const cost::CostModel fast = ideal_costs(two_nodes(2.0));
  const cost::CostModel slow = ideal_costs(two_nodes(1.0));
  Case what;
  what.model_spec = ideal_model(2);
  what.nodes = 2;
  what.layout.pipeline = 2;
  what.batch = {.global = m * 4, .micro = 1};
  what.step.schedule = schedule::ScheduleKind::gpipe;
  const double all_slow = step_seconds(simulate(input_of(what, slow), slow));
  const StepResult result = simulate(with_slow_node(what, fast), fast);
  EXPECT_NEAR(step_seconds(result) / all_slow, (1.5 + (m - 1)) / (2.0 + (m - 1)), 1e-4);
  EXPECT_EQ(result.memory[0].limit, gigabytes(200.0));
  EXPECT_EQ(result.memory[1].limit, gigabytes(100.0));
}

}  // namespace
}  // namespace orrery::step::test
