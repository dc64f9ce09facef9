#include "sim/model/presets.hpp"

#include <set>
#include <string>
#include <string_view>

#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

TEST(Presets, HoldEveryModelOfTheScenarioReference) {
  const std::set<std::string_view> wanted = {"gpt3-175b",
                                             "mt-nlg-530b",
                                             "opt-175b",
                                             "bloom-176b",
                                             "llama2-7b",
                                             "llama2-13b",
                                             "llama2-70b",
                                             "llama3-8b",
                                             "llama3-70b",
                                             "llama3-405b",
                                             "nemotron4-15b",
                                             "nemotron4-340b",
                                             "mixtral-8x7b",
                                             "mixtral-8x22b",
                                             "deepseek-v2",
                                             "deepseek-v3",
                                             "qwen2.5-1.5b",
                                             "qwen2.5-72b"};
  std::set<std::string_view> found;
  for (const ModelPreset& preset : model_presets()) {
    found.insert(preset.name);
    EXPECT_EQ(preset.spec.name, preset.name);
    EXPECT_FALSE(preset.summary.empty()) << preset.name;
    EXPECT_FALSE(preset.source.empty()) << preset.name;
  }
  EXPECT_EQ(found, wanted);
}

TEST(Presets, AreAlreadyResolved) {
  for (const ModelPreset& preset : model_presets()) {
    const ModelSpec resolved = resolve(preset.spec);
    EXPECT_EQ(resolved.head_dim, preset.spec.head_dim) << preset.name;
    EXPECT_EQ(resolved.num_query_groups, preset.spec.num_query_groups) << preset.name;
    EXPECT_EQ(resolved.ffn_hidden_size, preset.spec.ffn_hidden_size) << preset.name;
    EXPECT_EQ(resolved.max_positions, preset.spec.max_positions) << preset.name;
  }
}

TEST(Presets, UnknownNameIsNoPreset) {
  EXPECT_FALSE(find_model_preset("llama3-406b").has_value());
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
