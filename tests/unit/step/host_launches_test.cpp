#include "sim/step/simulate/stages/host_launches.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/shipped_presets.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

using hardware::ExpertDispatcher;
using hardware::GraphScope;
using hardware::GroupedGemm;

// (g^p + h^p)^(1/p) - g: at p = 2, 3 s of work and 4 s of launches take 5 s.
TEST(HostLaunches, GapJoinsWorkAndLaunches) {
  EXPECT_DOUBLE_EQ(in_seconds(launch_gap(seconds(3.0), seconds(4.0), 2.0)), 2.0);
  EXPECT_DOUBLE_EQ(in_seconds(launch_gap(seconds(3.0), Seconds{}, 2.0)), 0.0);
  EXPECT_NEAR(in_seconds(launch_gap(seconds(3.0), seconds(1.0), 6.0)), 3.0 / 6.0 / 729.0, 1e-5);
}

// Qwen3-30B-like: small experts on eight GPUs of one node, one sequence at a time.
Case mixture() {
  Case what;
  model::ModelSpec spec = shipped::model("mixtral-8x7b");
  spec.num_layers = 8;
  spec.hidden_size = 2048;
  spec.moe->num_experts = 128;
  spec.moe->top_k = 8;
  spec.moe->ffn_hidden_size = 768;
  what.model_spec = spec;
  what.gpu = "b200-sxm";
  what.sequence_length = 4096;
  what.layout.expert = 8;
  what.batch = {.global = 64, .micro = 1};
  what.step.precision.compute = model::Dtype::fp8;
  what.step.precision.fp8_scaling = model::Fp8Scaling::mx;
  what.step.experts.dispatcher = ExpertDispatcher::alltoall;
  what.step.experts.grouped_gemm = GroupedGemm::per_expert;
  return what;
}

struct Counts {
  double forward = 0.0;  // launches of one layer by the host
  double host = 0.0;     // seconds
};

Counts counts_of(const Case& what) {
  const cost::CostModel costs = costs_of(what);
  const StepInput input = input_of(what, costs);
  const LayerCosting costing = make_costing(input, costs).layer;
  const model::LayerPasses passes = model::layer_passes(input.model, costing.in.options, 0);
  const Launches launches = launches_of(costing, passes.forward, PassKind::forward);
  return {launches.outside + launches.experts, in_seconds(host_time(costing, launches, 1.0))};
}

// A memo finds known costs by these inputs: whatever the launches depend on must be among them.
TEST(LayerInputs, TellDispatchersGraphsAndChunksApart) {
  const Case what = mixture();
  const cost::CostModel costs = costs_of(what);
  StepInput input = input_of(what, costs);
  input.layout.sequence_parallel = true;  // chunks of the sequence
  const LayerInputs inputs = make_costing(input, costs).layer.in;
  const auto expect_other = [&](const auto& change) {
    StepInput other = input;
    change(other);
    EXPECT_NE(make_costing(other, costs).layer.in, inputs);
  };
  EXPECT_EQ(make_costing(input, costs).layer.in, inputs);
  expect_other([](StepInput& i) { i.choices.experts.dispatcher = ExpertDispatcher::hybridep; });
  expect_other([](StepInput& i) { i.choices.experts.cuda_graphs.add(GraphScope::attn); });
  expect_other([](StepInput& i) { i.choices.overlaps_experts = !i.choices.overlaps_experts; });
  expect_other([](StepInput& i) {
    i.spec.overlap.tensor = true;
    i.spec.overlap.tensor_chunks = 4;
  });
}

// Sixteen experts a rank: two products and two casts of two launches each, once per expert.
TEST(HostLaunches, ALoopOverExpertsLaunchesEveryProductAndCast) {
  Case what = mixture();
  const double loop = counts_of(what).forward;
  what.step.experts.grouped_gemm = GroupedGemm::grouped;
  const double one = counts_of(what).forward;
  EXPECT_DOUBLE_EQ(loop - one, 1.5 * 2.0 * (16.0 - 1.0) + 0.1 * 2.0 * (2.0 * 16.0 - 1.0));
  what = mixture();
  what.layout.expert = 4;
  EXPECT_GT(counts_of(what).forward, loop);
  what = mixture();
  what.model_spec->moe->capacity_factor = 1.0;
  EXPECT_DOUBLE_EQ(counts_of(what).forward, one);
}

TEST(HostLaunches, FusedDispatchersLaunchLess) {
  Case what = mixture();
  const double alltoall = counts_of(what).forward;
  what.step.experts.dispatcher = ExpertDispatcher::deepep;
  const double deepep = counts_of(what).forward;
  what.step.experts.dispatcher = ExpertDispatcher::hybridep;
  const double hybridep = counts_of(what).forward;
  EXPECT_LT(deepep, alltoall);
  EXPECT_LT(hybridep, deepep);
}

TEST(HostLaunches, EveryGraphTakesLaunchesFromTheHost) {
  Case what = mixture();
  double before = counts_of(what).host;
  hardware::GraphScopes scopes;
  for (const GraphScope scope :
       {GraphScope::attn, GraphScope::moe_router, GraphScope::moe_preprocess}) {
    scopes.add(scope);
    what.step.experts.cuda_graphs = scopes;
    const double now = counts_of(what).host;
    EXPECT_LT(now, before);
    before = now;
  }
  scopes.add(GraphScope::full_iteration);
  what.step.experts.cuda_graphs = scopes;
  EXPECT_DOUBLE_EQ(counts_of(what).host, 0.0);
}

// Measured on eight B200 (Megatron Bridge 25.09 to 26.06): the same layout takes 27.1 s with a loop
// of products and 14.5 s with dropped tokens; four times the micro-batch, graphs, HybridEP: 9.8 s.
TEST(HostLaunches, TheHostDecidesAStepOfSmallExperts) {
  const auto time_of = [](const Case& what) {
    const cost::CostModel costs = costs_of(what);
    return step_seconds(simulate(input_of(what, costs), costs));
  };
  Case dropped = mixture();
  dropped.model_spec->moe->capacity_factor = 1.0;
  EXPECT_GT(time_of(mixture()), 1.4 * time_of(dropped));
  Case graphs = mixture();
  graphs.step.experts.cuda_graphs.emplace().add(GraphScope::full_iteration);
  EXPECT_LT(time_of(graphs), time_of(dropped));
}

}  // namespace
}  // namespace orrery::step::test
