#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "tests/shipped_presets.hpp"

namespace orrery::layout {
namespace {

model::ModelSpec llama405() { return shipped::model("llama3-405b"); }

ClusterShape cluster_of(std::int64_t gpus) {
  return {.gpus = gpus, .gpus_per_node = 8, .nvlink_domain = 8, .tier_nodes = {}};
}

LayoutSpec llama405_layout() {
  LayoutSpec spec;
  spec.tensor = 8;
  spec.sequence_parallel = true;
  spec.pipeline = 16;
  spec.virtual_stages = 4;
  return spec;
}

std::vector<LayoutProblem> problems_of(const LayoutSpec& spec, const BatchSpec& batch,
                                       const model::ModelSpec& model, std::int64_t gpus) {
  auto result = resolve_layout(spec, batch, model, cluster_of(gpus));
  const auto* problems = std::get_if<std::vector<LayoutProblem>>(&result);
  return problems == nullptr ? std::vector<LayoutProblem>{} : *problems;
}

TEST(ResolveLayout, SixtyFourGpusSplitAsTp4Pp2Dp8) {
  // 64 = 4 x 1 x 2 x 8
  LayoutSpec spec;
  spec.tensor = 4;
  spec.pipeline = 2;
  const auto result = resolve_layout(spec, {.global = 256, .micro = 1},
                                     shipped::model("llama3-70b"), cluster_of(64));
  const auto& layout = std::get<Layout>(result);
  EXPECT_EQ(layout.data, 8);
  EXPECT_EQ(layout.micro_batches, 32);  // 256 / (1 x 8)
}

TEST(ResolveLayout, DerivesDataDegreeAndMicroBatches) {
  const auto result = resolve_layout(llama405_layout(), {.global = 2048, .micro = 1}, llama405(),
                                     cluster_of(16384));
  const auto& layout = std::get<Layout>(result);
  EXPECT_EQ(layout.data, 128);
  EXPECT_EQ(layout.micro_batches, 16);
  EXPECT_EQ(layout.stages.size(), 16U);
}

TEST(ResolveLayout, AutoGivesEmbeddingAndLossASlotEach) {
  // 126 layers + 2 slots = 128 = 64 stages x 2
  const auto result = resolve_layout(llama405_layout(), {.global = 2048, .micro = 1}, llama405(),
                                     cluster_of(16384));
  const auto& stages = std::get<Layout>(result).stages;
  EXPECT_EQ(stages[0][0].num_layers, 1);
  EXPECT_TRUE(stages[0][0].has_embedding);
  EXPECT_EQ(stages[15][3].num_layers, 1);
  EXPECT_TRUE(stages[15][3].has_head);
  EXPECT_EQ(stages[7][2].num_layers, 2);
}

TEST(ResolveLayout, EveryBrokenRuleNamesItsEquationAndNearestValues) {
  LayoutSpec spec = llama405_layout();
  spec.tensor = 6;
  const auto problems = problems_of(spec, {.global = 2048, .micro = 1}, llama405(), 16384);
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems[0].key, "layout.tensor");
  EXPECT_EQ(problems[0].message, "6 does not divide model.num_attention_heads = 128 (remainder 2)");
  EXPECT_EQ(problems[0].allowed, "nearest valid: 1, 2, 4, 8, 16, 32");
}

// Experts that are cut like the other matrices need tensor times as many GPUs as whole ones.
TEST(ResolveLayout, ExpertsThatFitWholeAreOfferedWhole) {
  LayoutSpec spec = llama405_layout();
  spec.tensor = 2;
  spec.data = 16;
  spec.expert = 32;
  model::ModelSpec model = llama405();
  model.moe.emplace();
  model.moe->num_experts = 256;
  const auto problems = problems_of(spec, {.global = 2048, .micro = 1}, model, 2 * 16 * 16);
  const auto expert =
      std::ranges::find_if(problems, [](const auto& one) { return one.key == "layout.expert"; });
  ASSERT_NE(expert, problems.end());
  EXPECT_EQ(expert->allowed, "layout.expert_tensor: 1; nearest valid: 1, 2, 4, 8, 16");
}

TEST(ResolveLayout, WrongDataDegreeShowsTheProduct) {
  LayoutSpec spec = llama405_layout();
  spec.data = 127;
  const auto problems = problems_of(spec, {.global = 2048, .micro = 1}, llama405(), 16384);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, "layout.data");
  EXPECT_EQ(problems[0].message,
            "tensor x context x pipeline x data = 8 x 1 x 16 x 127 = 16256, but the cluster has "
            "16384 GPUs");
  EXPECT_EQ(problems[0].allowed, "data: 128");
}

TEST(ResolveLayout, BatchThatDoesNotDivideGivesTheNeighbours) {
  const auto problems =
      problems_of(llama405_layout(), {.global = 2000, .micro = 1}, llama405(), 16384);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, "batch.global");
  EXPECT_EQ(problems[0].message,
            "micro x data = 1 x 128 = 128 does not divide 2000 (remainder 80)");
  EXPECT_EQ(problems[0].allowed, "nearest valid: 1920 or 2048");
}

TEST(ResolveLayout, ReportsAllProblemsAtOnce) {
  LayoutSpec spec = llama405_layout();
  spec.tensor = 6;
  spec.order = {Axis::tensor, Axis::tensor, Axis::data, Axis::pipeline};
  const auto problems = problems_of(spec, {.global = 2048, .micro = 1}, llama405(), 16384);
  EXPECT_GE(problems.size(), 3U);  // order, heads, GPUs
}

TEST(ResolveLayout, ExpertsNeedAMixtureModel) {
  LayoutSpec spec = llama405_layout();
  spec.expert = 8;
  const auto problems = problems_of(spec, {.global = 2048, .micro = 1}, llama405(), 16384);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, "layout.expert");
}

TEST(ResolveLayout, HsdpNeedsAShardGroup) {
  LayoutSpec spec;
  spec.sharding = Sharding::hsdp;
  const auto problems = problems_of(spec, {.global = 64, .micro = 1}, llama405(), 64);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, "layout.shard_group");
}

TEST(ResolveLayout, MoreStagesThanLayersIsRefused) {
  LayoutSpec spec;
  spec.pipeline = 16;
  spec.virtual_stages = 8;
  const auto problems =
      problems_of(spec, {.global = 64, .micro = 1}, shipped::model("llama3-70b"), 16);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, "layout.virtual_stages");
  EXPECT_EQ(problems[0].allowed, "at most 5, for 82 stages");
}

TEST(StagePlan, RemaindersStayAwayFromTheEnds) {
  // 10 layers on 4 stages: 2, 3, 3, 2
  EXPECT_EQ(balanced_stage_layers(10, 4), (std::vector<std::int64_t>{2, 3, 3, 2}));
  // 70 + 2 = 72 = 12 x 6: one layer less at both ends, as BLOOM ran
  const auto bloom = balanced_stage_layers(70, 12);
  EXPECT_EQ(bloom.front(), 5);
  EXPECT_EQ(bloom.back(), 5);
  EXPECT_EQ(bloom[5], 6);
}

// The layouts of DeepSeek-V3 in Megatron Bridge: Et*4|(tttt|)*14tmL and Et|(tt|)*30mL.
TEST(StagePlan, PredictionOfSeveralTokensTakesLayersFromTheLastStage) {
  EXPECT_EQ(balanced_stage_layers(61, 4, 1), (std::vector<std::int64_t>{16, 16, 16, 13}));
  std::vector<std::int64_t> sixteen(16, 4);
  sixteen.back() = 1;
  EXPECT_EQ(balanced_stage_layers(61, 16, 1), sixteen);
  std::vector<std::int64_t> thirty_two(32, 2);
  thirty_two.front() = 1;
  thirty_two.back() = 0;
  EXPECT_EQ(balanced_stage_layers(61, 32, 1), thirty_two);
}

// Llama 3 405B with 8 virtual stages: 128 stages of one layer, but none on the first and the last.
TEST(StagePlan, EmbeddingAndLossMayStandAlone) {
  LayoutSpec spec = llama405_layout();
  spec.virtual_stages = 8;
  const StagePlan plan = plan_stages(spec, llama405(), StagePlacement::loop);
  ASSERT_FALSE(plan.problem);
  EXPECT_EQ(plan.stages[0][0].num_layers, 0);
  EXPECT_TRUE(plan.stages[0][0].has_embedding);
  EXPECT_EQ(plan.stages[1][0].num_layers, 1);
  EXPECT_EQ(plan.stages[15][7].num_layers, 0);
  EXPECT_TRUE(plan.stages[15][7].has_head);
}

TEST(StagePlan, BalancedLayersAddUpAndDifferByAtMostTwo) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (int i = 0; i < 2000; ++i) {
    const auto stages = static_cast<std::int64_t>(1 + random.uniform_int(64));
    const auto layers = stages + static_cast<std::int64_t>(random.uniform_int(200));
    const auto plan = balanced_stage_layers(layers, stages);
    EXPECT_EQ(std::accumulate(plan.begin(), plan.end(), std::int64_t{0}), layers);
    const auto [low, high] = std::minmax_element(plan.begin(), plan.end());
    EXPECT_LE(*high - *low, 2);
    EXPECT_GE(*low, 0);
  }
}

TEST(StagePlan, VeeTurnsAtTheLastDevice) {
  LayoutSpec spec;
  spec.pipeline = 4;
  spec.virtual_stages = 2;
  model::ModelSpec model = llama405();
  model.num_layers = 8;
  const StagePlan plan = plan_stages(spec, model, StagePlacement::vee);
  EXPECT_TRUE(plan.stages[0][0].has_embedding);
  EXPECT_TRUE(plan.stages[0][1].has_head);
  EXPECT_EQ(plan.stages[3][0].first_layer, 3);
  EXPECT_EQ(plan.stages[3][1].first_layer, 4);
}

TEST(StagePlan, BidirectionalHoldsEveryStageTwice) {
  LayoutSpec spec;
  spec.pipeline = 4;
  spec.virtual_stages = 2;
  model::ModelSpec model = llama405();
  model.num_layers = 8;
  const StagePlan plan = plan_stages(spec, model, StagePlacement::bidirectional);
  for (std::size_t d = 0; d < 4; ++d) {
    EXPECT_EQ(plan.stages[d][0].first_layer, plan.stages[3 - d][1].first_layer);
    EXPECT_EQ(plan.stages[d][0].num_layers, 2);
  }
  EXPECT_TRUE(plan.stages[0][0].has_embedding);
  EXPECT_TRUE(plan.stages[0][1].has_head);
  EXPECT_TRUE(plan.stages[3][1].has_embedding);
}

}  // namespace
}  // namespace orrery::layout
