#include "sim/step/model/shard_dims.hpp"

#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

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
