// What a scenario leaves to the training stack: types of gradients and parameters, and how sharded
// parameters come back after the optimizer.

#include <gtest/gtest.h>

#include "sim/step/simulate/stages/stage_costs.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

using hardware::GradientType;
using hardware::ParameterGather;
using layout::Sharding;
using model::Dtype;

Case sharded(Sharding sharding) {
  Case what;
  what.nodes = 4;
  what.layout.sharding = sharding;
  what.batch = {.global = 64, .micro = 1};
  what.step.overlap.data = false;
  return what;
}

model::PrecisionSpec precision_of(const StepSpec& spec, const hardware::SoftwareProfile& software) {
  const cost::CostModel costs = costs_of({});
  StepInput input;
  input.spec = spec;
  settle(input, {costs.gpu(), software, costs.cluster()});
  return input.spec.precision;
}

TEST(SoftwareChoices, TheScenarioDecidesOnGradientsThenTheStackThenFp32) {
  hardware::SoftwareProfile software = costs_of({}).software();
  StepSpec spec;
  software.gradient_dtype = GradientType::fp32;
  EXPECT_EQ(precision_of(spec, software).gradient, Dtype::fp32);
  software.gradient_dtype = GradientType::activation;
  EXPECT_EQ(precision_of(spec, software).gradient, Dtype::bf16);
  spec.precision.activation = Dtype::fp16;
  EXPECT_EQ(precision_of(spec, software).gradient, Dtype::fp16);
  spec.gradient_dtype = Dtype::fp32;
  EXPECT_EQ(precision_of(spec, software).gradient, Dtype::fp32);
}

TEST(SoftwareChoices, ParametersStayInFp8OnlyWhereLayersMultiplyInIt) {
  hardware::SoftwareProfile software = costs_of({}).software();
  software.fp8_parameters = true;
  StepSpec spec;
  EXPECT_EQ(precision_of(spec, software).parameter, Dtype::bf16);
  spec.precision.compute = Dtype::fp8;
  EXPECT_EQ(precision_of(spec, software).parameter, Dtype::fp8);
  spec.fp8_parameters = false;
  EXPECT_EQ(precision_of(spec, software).parameter, Dtype::bf16);
  software.fp8_parameters = false;
  spec.fp8_parameters = true;
  EXPECT_EQ(precision_of(spec, software).parameter, Dtype::fp8);
}

// The copies are kept, cast once per step; or cast in every forward and kept by nobody.
TEST(SoftwareChoices, NarrowWeightsAreKeptOrCastAgain) {
  Case what;
  what.step.precision.compute = Dtype::fp8;
  const Prepared kept = prepare(what);
  const StepResult with_copies = simulate(kept.input, kept.costs);
  const double weights = narrow_weight_elements(kept.input, kept.costs, 0);
  EXPECT_GT(weights, 0.0);
  Prepared again = prepare(what);
  again.input.spec.precision.casts_weights = true;
  const StepResult without = simulate(again.input, again.costs);
  EXPECT_NEAR(in_bytes(with_copies.memory[0].parameters - without.memory[0].parameters),
              2.0 * weights, 1.0);
  EXPECT_GT(step_seconds(without), step_seconds(with_copies));  // several micro-batches
}

// 32 owners at 3 ms each, whatever their parts weigh: 96 ms.
TEST(SoftwareChoices, EveryOwnerOfAPartBroadcastsItOnce) {
  const Prepared base = prepare(sharded(Sharding::zero1));
  const cost::CostModel broadcasts = with_software(base.costs, [](auto& software) {
    software.parameter_gather = ParameterGather::broadcast;
    software.broadcast_time = {milliseconds(3.0), {SourceKind::assumed, "test"}};
  });
  const double gathered = step_seconds(simulate(base.input, base.costs));
  const double sent = step_seconds(simulate(base.input, broadcasts));
  EXPECT_NEAR(sent - gathered, 0.096, 1e-6);
}

// Without sharding nobody owns a part; with ZeRO-3 the layers gather as they run.
TEST(SoftwareChoices, BroadcastsBelongToStatesThatAreShardedBetweenSteps) {
  for (const Sharding sharding : {Sharding::none, Sharding::zero3}) {
    const Prepared base = prepare(sharded(sharding));
    const cost::CostModel broadcasts = with_software(base.costs, [](auto& software) {
      software.parameter_gather = ParameterGather::broadcast;
      software.broadcast_time = {milliseconds(3.0), {SourceKind::assumed, "test"}};
    });
    EXPECT_EQ(simulate(base.input, broadcasts).step_time,
              simulate(base.input, base.costs).step_time);
  }
}

}  // namespace
}  // namespace orrery::step::test
