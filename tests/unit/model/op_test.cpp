#include "sim/step/model/op.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string_view>

#include "sim/step/model/layer_blocks.hpp"
#include "sim/step/model/shard_dims.hpp"
#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

TEST(FlopCount, GemmIsTwoMNKPerProduct) {
  const GemmOp gemm{.part = Part::mlp_up, .m = 8192, .n = 28672, .k = 8192, .batch = 4};
  EXPECT_EQ(in_flop(flop_count(gemm)), 2.0 * 8192.0 * 28672.0 * 8192.0 * 4.0);
}

// 2 s^2 a (d_qk + d_v) = 2 * 4096^2 * 32 * 256; half when causal; 2.5 times as much backward.
TEST(FlopCount, AttentionHalvesWhenCausalAndGrowsBackward) {
  AttentionOp attention{.sequences = 1,
                        .heads = 32,
                        .query_groups = 8,
                        .query_length = 4096,
                        .key_length = 4096,
                        .head_dim_qk = 128,
                        .head_dim_v = 128,
                        .causal = false};
  const double full = 2.0 * 4096.0 * 4096.0 * 32.0 * 256.0;
  EXPECT_EQ(in_flop(flop_count(attention)), full);
  attention.causal = true;
  EXPECT_EQ(in_flop(flop_count(attention)), full / 2.0);
  attention.backward = true;
  EXPECT_EQ(in_flop(flop_count(attention)), 1.25 * full);
}

TEST(FlopCount, MemoryOperationsAndCollectivesCountNothing) {
  EXPECT_EQ(
      in_flop(flop_count(Op{MemoryOp{.part = Part::norm, .read = bytes(1.0), .written = {}}})),
      0.0);
  EXPECT_EQ(in_flop(flop_count(Op{CollectiveOp{}})), 0.0);
}

// A ledger by name tells every part apart, and every direction that costs something else.
TEST(PartName, IsThatOfOnePart) {
  std::map<std::string_view, Part> owners;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Part::count_); ++i) {
    const auto part = static_cast<Part>(i);
    for (const Role role : {Role::forward, Role::backward}) {
      const auto [owner, is_new] = owners.emplace(part_name(part, role), part);
      EXPECT_TRUE(is_new || owner->second == part) << owner->first;
    }
  }
  EXPECT_EQ(part_name(Part::residual_add, Role::backward), "residual_gradient_add");
}

TEST(BytesPerElement, FollowsTheType) {
  EXPECT_EQ(in_bytes(bytes_per_element(Dtype::fp32)), 4.0);
  EXPECT_EQ(in_bytes(bytes_per_element(Dtype::tf32)), 4.0);
  EXPECT_EQ(in_bytes(bytes_per_element(Dtype::bf16)), 2.0);
  EXPECT_EQ(in_bytes(bytes_per_element(Dtype::fp16)), 2.0);
  EXPECT_EQ(in_bytes(bytes_per_element(Dtype::fp8)), 1.0);
  EXPECT_EQ(in_bytes(bytes_per_element(Dtype::fp4)), 0.5);
}

// Y[m, n] = X[m, k] W: all three products multiply m, n and k.
TEST(PassBuilder, LinearLayerHasThreeProductsOfTheSameSize) {
  const LinearLayer linear{.tokens = 7, .outputs = 11, .inputs = 13, .batch = 3};
  LayerPasses passes;
  add_linear_forward(passes.forward, linear, PrecisionSpec{});
  add_linear_backward(passes, linear, PrecisionSpec{});
  for (const Pass* pass : {&passes.forward, &passes.backward_input, &passes.backward_weight}) {
    ASSERT_EQ(pass->size(), 1U);
    EXPECT_EQ(gemm_flop(*pass), 2.0 * 7.0 * 11.0 * 13.0 * 3.0);
  }
}

TEST(PassBuilder, CollectiveSharesFollowTheKind) {
  const auto share = [](CollectiveKind kind) {
    Pass pass;
    add_collective(pass, {.kind = kind, .elements_total = 1000.0, .ranks = 4});
    const CollectiveOp collective = collectives(pass).at(0);
    EXPECT_EQ(in_bytes(collective.bytes_total), 2000.0);
    return collective.bytes_per_rank_in / collective.bytes_total;
  };
  EXPECT_EQ(share(CollectiveKind::all_reduce), 1.0);
  EXPECT_EQ(share(CollectiveKind::reduce_scatter), 1.0);
  EXPECT_EQ(share(CollectiveKind::all_gather), 0.25);
  EXPECT_EQ(share(CollectiveKind::all_to_all), 0.25);
}

TEST(PassBuilder, GroupOfOneAddsNoCollective) {
  Pass pass;
  add_collective(pass, {.elements_total = 1000.0, .ranks = 1});
  EXPECT_TRUE(pass.empty());
}

// Llama 3 405B, TP 8, CP 4, one sequence of 8,192: T = 2,048 tokens, 256 of them local.
TEST(ShardDims, SplitsALayerOverTensorAndContext) {
  OpOptions options;
  options.shard.tensor = 8;
  options.shard.context = 4;
  options.shard.sequence_parallel = true;
  const ShardDims dims = shard_dims(preset_spec("llama3-405b"), options);
  EXPECT_EQ(dims.tokens, 2048);
  EXPECT_EQ(dims.local_tokens, 256);
  EXPECT_EQ(dims.query_length, 2048);
  EXPECT_EQ(dims.key_length, 8192);
  EXPECT_EQ(dims.heads, 16);
  EXPECT_EQ(dims.groups, 1);
  EXPECT_EQ(dims.ffn, 53248 / 8);
  EXPECT_EQ(dims.vocab, 128256 / 8);
}

TEST(ShardDims, SequenceParallelismNeedsTensorRanks) {
  OpOptions options;
  options.shard.sequence_parallel = true;
  EXPECT_FALSE(shard_dims(preset_spec("llama3-8b"), options).sequence_parallel);
}

TEST(ShardDims, UnevenShardsAreRoundedUp) {
  OpOptions options;
  options.shard.tensor = 8;
  EXPECT_EQ(shard_dims(preset_spec("gpt3-175b"), options).vocab, 6283);  // 50,257 / 8 = 6,282.1
}

// Rows of experts: T k et / t shared by E / e experts; the busiest rank has `imbalance` times that,
// unless a capacity cuts it or one rank holds every expert.
TEST(ShardDims, ExpertRowsFollowDegreesAndImbalance) {
  ModelSpec model = preset_spec("deepseek-v3");
  OpOptions options;
  options.shard.expert = 64;
  const ShardDims even = shard_dims(model, options);
  EXPECT_EQ(even.experts, 4);
  EXPECT_EQ(even.expert_rows, 4096 * 8);
  model.moe->imbalance = 1.5;
  EXPECT_EQ(shard_dims(model, options).expert_rows, 4096 * 12);
  model.moe->capacity_factor = 1.25;
  EXPECT_EQ(shard_dims(model, options).expert_rows, 4096 * 10);
  options.shard.expert = 1;
  EXPECT_EQ(shard_dims(model, options).expert_rows, 4096 * 8);
}

TEST(ShardDimsDeathTest, ZeroDegreeIsAProgrammingError) {
  OpOptions options;
  options.shard.tensor = 0;
  EXPECT_DEATH((void)shard_dims(preset_spec("llama3-8b"), options), "Degrees are at least one");
}

}  // namespace
}  // namespace orrery::model
