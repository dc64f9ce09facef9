#include <string>

#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

TEST(Presets, SayWhereTheyWerePublished) {
  for (const std::string& name : shipped::names(scenario::PresetKind::models)) {
    const auto preset = shipped::preset(scenario::PresetKind::models, name);
    EXPECT_EQ(preset->model.name, name);
    EXPECT_FALSE(preset->summary.empty()) << name;
    EXPECT_FALSE(preset->source.empty()) << name;
  }
}

TEST(Presets, AreResolved) {
  for (const ModelSpec& preset : shipped::models()) {
    const ModelSpec resolved = resolve(preset);
    EXPECT_EQ(resolved.head_dim, preset.head_dim) << preset.name;
    EXPECT_EQ(resolved.num_query_groups, preset.num_query_groups) << preset.name;
    EXPECT_EQ(resolved.ffn_hidden_size, preset.ffn_hidden_size) << preset.name;
    EXPECT_EQ(resolved.max_positions, preset.max_positions) << preset.name;
  }
}

TEST(Resolve, FillsTheDefaultsOfAMinimalModel) {
  ModelSpec minimal;
  minimal.num_layers = 2;
  minimal.hidden_size = 1024;
  minimal.num_attention_heads = 16;
  minimal.vocab_size = 1000;
  minimal.sequence_length = 128;
  minimal.position = PositionEmbedding::learned;
  const ModelSpec resolved = resolve(minimal);
  EXPECT_EQ(resolved.num_query_groups, 16);
  EXPECT_EQ(resolved.head_dim, 64);
  EXPECT_EQ(resolved.ffn_hidden_size, 4096);
  EXPECT_EQ(resolved.max_positions, 128);
}

TEST(Resolve, LatentAttentionSetsTheQueryHeadWidth) {
  EXPECT_EQ(preset_spec("deepseek-v3").head_dim, 192);  // 128 + 64
}

}  // namespace
}  // namespace orrery::model
