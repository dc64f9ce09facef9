// How tokens reach their experts: bytes of dispatch and combine, imbalance of the ranks.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

constexpr std::int64_t kMoeLayer = 10;

CollectiveOp find_exchange(const Pass& pass, std::string_view name) {
  for (const CollectiveOp& op : collectives(pass)) {
    if (part_name(op.part, op.role) == name) {
      return op;
    }
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

OpOptions sixty_four_ranks() {
  OpOptions options;
  options.shard.expert = 64;
  options.precision.compute = Dtype::fp8;
  options.precision.fp8_scaling = Fp8Scaling::block;
  return options;
}

// 4,096 tokens of 7,168 elements to 8 experts: 2 bytes each in bf16; in FP8 one byte and a scale of
// 4 bytes for 128 elements. Results and their gradients' way back stay in bf16.
TEST(MoeOps, DispatchInFp8HalvesItsBytesAndLeavesTheCombine) {
  const ModelSpec model = preset_spec("deepseek-v3");
  OpOptions options = sixty_four_ranks();
  const LayerPasses wide = layer_passes(model, options, kMoeLayer);
  options.precision.dispatch = Dtype::fp8;
  const LayerPasses narrow = layer_passes(model, options, kMoeLayer);
  const double elements = 4096.0 * 8.0 * 7168.0;
  const auto sent = [](const Pass& pass, std::string_view name) {
    return in_bytes(find_exchange(pass, name).bytes_per_rank_in);
  };
  EXPECT_DOUBLE_EQ(sent(wide.forward, "expert_dispatch"), elements * 2.0);
  EXPECT_DOUBLE_EQ(sent(narrow.forward, "expert_dispatch"), elements * (1.0 + 4.0 / 128.0));
  EXPECT_DOUBLE_EQ(sent(narrow.forward, "expert_combine"), elements * 2.0);
  EXPECT_DOUBLE_EQ(sent(narrow.backward_input, "expert_combine_backward"),
                   elements * (1.0 + 4.0 / 128.0));
  EXPECT_DOUBLE_EQ(sent(narrow.backward_input, "expert_dispatch_backward"), elements * 2.0);
}

// Cast before it is sent, a token is cast once and not once per expert.
TEST(MoeOps, DispatchInFp8CastsBeforeTheCopies) {
  const ModelSpec model = preset_spec("deepseek-v3");
  OpOptions options = sixty_four_ranks();
  options.precision.dispatch = Dtype::fp8;
  const LayerPasses passes = layer_passes(model, options, kMoeLayer);
  const auto cast = find_memory(passes.forward, "dispatch_cast");
  ASSERT_TRUE(cast.has_value());
  EXPECT_DOUBLE_EQ(in_bytes(cast->read), 4096.0 * 7168.0 * 2.0);
  EXPECT_DOUBLE_EQ(in_bytes(cast->written), 4096.0 * 7168.0);
  EXPECT_TRUE(find_memory(passes.forward, "fp8_transpose").has_value());
}

TEST(MoeOps, HierarchicalExchangeCarriesItsRouting) {
  ModelSpec model = preset_spec("deepseek-v3");
  model.moe->node_limit = 4;
  OpOptions options = sixty_four_ranks();
  EXPECT_FALSE(find_exchange(layer_passes(model, options, kMoeLayer).forward, "expert_dispatch")
                   .routing.has_value());
  options.hierarchical_exchange = true;
  const LayerPasses passes = layer_passes(model, options, kMoeLayer);
  const auto routing = find_exchange(passes.forward, "expert_dispatch").routing;
  ASSERT_TRUE(routing.has_value());
  EXPECT_DOUBLE_EQ(routing->tokens, 4096.0);
  EXPECT_DOUBLE_EQ(in_bytes(routing->token_bytes), 7168.0 * 2.0);
  EXPECT_EQ(routing->experts, 256);
  EXPECT_EQ(routing->top_k, 8);
  EXPECT_EQ(routing->node_limit, 4);
  // The copies are made on arrival.
  EXPECT_FALSE(find_memory(passes.forward, "permute").has_value());
}

// The MLP block's weight gradients lead: router, shared and routed experts; attention follows.
TEST(MoeOps, WeightGradientsOfTheMlpBlockComeFirst) {
  const LayerPasses passes =
      layer_passes(preset_spec("deepseek-v3"), sixty_four_ranks(), kMoeLayer);
  ASSERT_GT(passes.mlp_weight_ops, 0U);
  ASSERT_LT(passes.mlp_weight_ops, passes.backward_weight.size());
  const auto part_at = [&passes](std::size_t i) {
    return std::get<GemmOp>(passes.backward_weight[i].op).part;
  };
  EXPECT_EQ(part_at(passes.mlp_weight_ops - 1), Part::router);
  EXPECT_EQ(part_at(passes.mlp_weight_ops), Part::attention_output);
}

std::size_t count_named(const Pass& pass, std::string_view name) {
  return static_cast<std::size_t>(
      std::count_if(pass.begin(), pass.end(), [name](const PassOp& entry) {
        const auto* memory = std::get_if<MemoryOp>(&entry.op);
        return memory != nullptr && part_name(memory->part).starts_with(name);
      }));
}

// Activation and casts of the routed experts run inside their products; the shared expert keeps its
// own.
TEST(MoeOps, FusedExpertsHaveNeitherActivationNorCasts) {
  OpOptions options = sixty_four_ranks();
  options.precision.compute = Dtype::fp8;
  const ModelSpec model = preset_spec("deepseek-v3");
  const LayerPasses apart = layer_passes(model, options, kMoeLayer);
  options.fused_experts = true;
  const LayerPasses fused = layer_passes(model, options, kMoeLayer);
  EXPECT_EQ(count_named(apart.forward, "activation"), 2U);
  EXPECT_EQ(count_named(fused.forward, "activation"), 1U);
  EXPECT_EQ(count_named(apart.forward, "fp8_cast") - count_named(fused.forward, "fp8_cast"), 2U);
  EXPECT_LT(count_named(fused.backward_input, "fp8_cast"),
            count_named(apart.backward_input, "fp8_cast"));
}

// GPT-OSS: bias, clamp and gate of the experts as kernels of their own cross memory `passes` times.
TEST(MoeOps, BiasedExpertsMayNeedManyPasses) {
  ModelSpec model = preset_spec("deepseek-v3");
  model.linear_bias = true;
  OpOptions options = sixty_four_ranks();
  const auto traffic = [&] {
    double sum = 0.0;
    for (const PassOp& entry : layer_passes(model, options, kMoeLayer).forward) {
      const auto* memory = std::get_if<MemoryOp>(&entry.op);
      sum += memory != nullptr && memory->part == Part::activation
                 ? in_bytes(memory->read + memory->written)
                 : 0.0;
    }
    return sum;
  };
  const double one_kernel = traffic();
  options.biased_activation_passes = 30.0;
  options.backward_passes = 1.4;
  const ShardDims dims = shard_dims(model, options);
  const double inputs = 2.0 * static_cast<double>(dims.expert_rows) *
                        static_cast<double>(dims.expert_ffn) * dims.element_bytes;
  EXPECT_DOUBLE_EQ(traffic() - one_kernel, 30.0 * inputs - 1.5 * inputs);
}

// Spread s of one expert's load: the log of the load of a rank with n experts varies by
// t^2 = ln(1 + s^2 / n), that of the busiest of e ranks is z(e) t - t^2 / 2 above the average's.
// z(64) = 2.336 (Blom: quantile of 63.625 / 64.25 = 0.99027).
TEST(MoeOps, LoadSpreadGrowsWithRanksAndAveragesOverTheExpertsOfARank) {
  ModelSpec model = preset_spec("deepseek-v3");
  model.moe->load_spread = 0.2;
  OpOptions options;
  const auto imbalance = [&](std::int64_t ranks) {
    options.shard.expert = ranks;
    return shard_dims(model, options).row_imbalance;
  };
  const double t = std::sqrt(std::log(1.0 + 0.2 * 0.2 / 4.0));
  EXPECT_NEAR(imbalance(64), std::exp(2.336 * t - t * t / 2.0), 2e-3);
  EXPECT_DOUBLE_EQ(imbalance(1), 1.0);
  EXPECT_LT(imbalance(8), imbalance(64));
  EXPECT_LT(imbalance(64), imbalance(256));
  model.moe->capacity_factor = 1.1;
  EXPECT_DOUBLE_EQ(imbalance(64), 1.1);
}

// One router on other numbers of experts, from a Monte Carlo of Gaussian logits, without the share
// of documents: 1.11 with 128 experts on 8 ranks and 1.21 on 16 at a skew of 0.02, 1.49 on 16 at
// 0.1; collapsed with 2 of 8 experts: deviation sqrt(8 / 2 - 1), exp(1.42 t - t^2 / 2).
TEST(MoeOps, SkewOfARouterGivesTheBusiestRank) {
  ModelSpec model = preset_spec("qwen3-30b-a3b");
  OpOptions options;
  const auto imbalance = [&](double skew, std::int64_t ranks) {
    model.moe->router_skew = skew;
    options.shard.expert = ranks;
    return shard_dims(model, options).row_imbalance;
  };
  EXPECT_DOUBLE_EQ(imbalance(0.0, 16), 1.0);
  EXPECT_NEAR(imbalance(0.02, 8), 1.11, 0.03);
  EXPECT_NEAR(imbalance(0.02, 16), 1.21, 0.03);
  EXPECT_NEAR(imbalance(0.1, 16), 1.49, 0.03);
  EXPECT_LE(imbalance(1.0, 16), 16.0);
  model.moe->num_experts = 8;
  model.moe->top_k = 2;
  EXPECT_NEAR(imbalance(1.0, 8), 2.70, 0.03);
}

}  // namespace
}  // namespace orrery::model
