// Local steps: an island is a job of its own, and the outer step adds its closed form.

#include "sim/step/simulate/local_steps.hpp"

#include <gtest/gtest.h>

#include "sim/step/model/parameters.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

constexpr std::int64_t kIslands = 4;

Case islands_case() {
  Case what;
  what.nodes = kIslands;
  what.layout.sharding = layout::Sharding::zero3;
  what.batch = {.global = 32 * kIslands, .micro = 1};
  what.step.local_steps.every = 100;
  what.step.local_steps.islands = kIslands;
  what.step.local_steps.rate = gigabits_per_second(1.0);
  what.step.local_steps.latency = milliseconds(50.0);
  what.step.local_steps.bits = 8.0;
  return what;
}

StepResult one_island() {
  Case what = islands_case();
  what.nodes = 1;
  what.batch.global = 32;
  what.step.local_steps = {};
  return simulate(what);
}

// 2 (K - 1) / K N bytes at one byte a parameter, over 1 Gb/s, and 2 (K - 1) hops.
TEST(LocalSteps, OuterStepIsARingOverTheIslands) {
  const Prepared prepared = prepare(islands_case());
  const auto parameters = static_cast<double>(model::count_parameters(prepared.input.model).total);
  const double expected = 1.5 * parameters / 125e6 + 6.0 * 0.05;
  EXPECT_NEAR(in_seconds(outer_time(prepared.input, prepared.costs)) / expected, 1.0, 1e-12);
}

TEST(LocalSteps, MeanStepIsTheIslandsAndAShareOfTheOuterOne) {
  const Prepared prepared = prepare(islands_case());
  const StepResult alone = one_island();
  const StepResult all = simulate(prepared.input, prepared.costs);
  const SimTime outer = to_sim_time(outer_time(prepared.input, prepared.costs) / 100.0);
  EXPECT_EQ(all.step_time, alone.step_time + outer);
  EXPECT_EQ(all.gpus, alone.gpus * kIslands);
  EXPECT_EQ(all.ledger.total(), Int128{all.gpus} * Int128{all.step_time.ns});
  EXPECT_EQ(all.ledger.gpu_nanoseconds(StepCategory::compute),
            alone.ledger.gpu_nanoseconds(StepCategory::compute) * kIslands);
  EXPECT_EQ(all.memory.front().peak(), alone.memory.front().peak());
}

TEST(LocalSteps, StreamingHidesTheOuterStep) {
  Case what = islands_case();
  what.step.local_steps.overlap = true;
  EXPECT_EQ(simulate(what).step_time, one_island().step_time);
  what.step.local_steps.every = 1;  // one outer step takes minutes: the wire sets the pace
  const Prepared prepared = prepare(what);
  EXPECT_NEAR(step_seconds(simulate(prepared.input, prepared.costs)) /
                  in_seconds(outer_time(prepared.input, prepared.costs)),
              1.0, 1e-9);
}

TEST(LocalSteps, RefusesIslandsThatDoNotDivideTheReplicas) {
  Case what = islands_case();
  what.step.local_steps.islands = 5;
  const Prepared prepared = prepare(what);
  const auto outcome = simulate_step(prepared.input, prepared.costs);
  ASSERT_TRUE(std::holds_alternative<StepProblem>(outcome));
  EXPECT_EQ(std::get<StepProblem>(outcome).key, "local_steps.islands");
  EXPECT_EQ(std::get<StepProblem>(outcome).message,
            "5 islands do not divide layout.data = 32 (remainder 2)");
}

}  // namespace
}  // namespace orrery::step::test
