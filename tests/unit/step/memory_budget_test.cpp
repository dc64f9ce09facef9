#include <gtest/gtest.h>

#include "sim/step/model/memory.hpp"
#include "sim/step/simulate/memory/memory_account.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

using model::Recompute;

StepInput with_budget(double budget, const cost::CostModel& costs) {
  Case what;
  what.step.recompute.memory_budget = budget;
  return input_of(what, costs);
}

Bytes kept(const StepInput& input, const cost::CostModel& costs, const RecomputeSpec& spec) {
  StepInput own = input;
  own.spec.recompute = spec;
  return model::layer_activation_bytes(
      own.model, {.ops = op_options(own, costs), .recompute = spec.policy}, 0);
}

// All, nothing, and never more than the budget between; less memory never takes less time.
TEST(MemoryBudget, IsMetByTheCheapestModules) {
  const cost::CostModel costs = costs_of({});
  const Bytes none = kept(with_budget(1.0, costs), costs, {});
  const Bytes full = kept(with_budget(1.0, costs), costs, {.policy = Recompute::full});
  EXPECT_EQ(meet_memory_budget(with_budget(1.0, costs), costs).policy, Recompute::none);
  EXPECT_EQ(meet_memory_budget(with_budget(0.0, costs), costs).policy, Recompute::full);
  Bytes before = none;
  for (const double budget : {0.95, 0.8, 0.6, 0.4, 0.2, 0.05}) {
    const StepInput input = with_budget(budget, costs);
    const RecomputeSpec spec = meet_memory_budget(input, costs);
    const Bytes now = kept(input, costs, spec);
    EXPECT_LE(now, full + (none - full) * budget) << budget;
    EXPECT_LE(now, before) << budget;
    before = now;
  }
}

// Norms and activations are a pass over memory: they go before any product runs again.
TEST(MemoryBudget, GivesUpWhatIsCheapFirst) {
  const cost::CostModel costs = costs_of({});
  const RecomputeSpec spec = meet_memory_budget(with_budget(0.9, costs), costs);
  EXPECT_EQ(spec.policy, Recompute::modules);
  EXPECT_FALSE(spec.modules.mlp);
}

}  // namespace
}  // namespace orrery::step::test
