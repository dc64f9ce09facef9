// `model.layer_types`: words, letters, and what is refused.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/load.hpp"
#include "tests/unit/scenario/scenario_text.hpp"

namespace orrery::scenario {
namespace {

using model::LayerType;

struct Outcome {
  std::optional<Scenario> scenario;
  std::string messages;
};

Outcome with(const ScenarioText::Pairs& pairs) {
  ScenarioText text = base_text();
  for (const auto& [key, value] : pairs) {
    text.set(key, value);
  }
  Diagnostics diagnostics;
  Outcome outcome;
  outcome.scenario = load_text(text.yaml(), "test.yaml", diagnostics);
  outcome.messages = to_string(diagnostics);
  return outcome;
}

const ScenarioText::Pairs kMamba = {{"model.linear_attention.value_heads", "16"},
                                    {"model.linear_attention.key_dim", "64"}};

TEST(LayerTypes, AreWordsOrLetters) {
  ScenarioText::Pairs pairs = kMamba;
  pairs.emplace_back("model.layer_types", "[mamba2, mlp, attention]");
  const Outcome words = with(pairs);
  ASSERT_TRUE(words.scenario.has_value()) << words.messages;
  pairs.back().second = "\"M-*\"";
  const Outcome letters = with(pairs);
  ASSERT_TRUE(letters.scenario.has_value()) << letters.messages;
  EXPECT_EQ(words.scenario->model.layer_types, letters.scenario->model.layer_types);
  EXPECT_EQ(words.scenario->model.layer_types.front(), LayerType::mamba2);
  EXPECT_EQ(words.scenario->model.linear_attention->key_heads, 16);
  EXPECT_EQ(words.scenario->model.linear_attention->value_dim, 64);
}

TEST(LayerTypes, AreRefusedWithoutWhatTheyNeed) {
  struct Case {
    ScenarioText::Pairs pairs;
    std::string message;
  };

  const ScenarioText::Pairs window = {{"model.attention_window.size", "128"},
                                      {"model.attention_window.full_every", "2"},
                                      {"model.layer_types", "[sliding_attention, attention]"}};
  const std::vector<Case> cases = {
      {{{"model.layer_types", "[mamba2]"}}, "needs value_heads, key_dim"},
      {{{"model.layer_types", "\"MXM\""}}, "holds `X`"},
      {{{"model.layer_types", "[mamba]"}}, "mamba2"},
      {{{"model.layer_types", "[sliding_attention]"}}, "model.attention_window no size"},
      {{{"model.layer_types", "[attention, moe]"}}, "the model no model.moe"},
      {{{"model.layer_types", "[kda, mamba2]"}}, "several kinds of linear mixers"},
      {window, "full_every is in its way"},
      {{{"model.sparse_attention.index_heads", "8"},
        {"model.sparse_attention.index_head_dim", "64"},
        {"model.sparse_attention.top_k", "512"}},
       "works on latents or compressed entries"},
      {{{"model.layer_types", "[compressed_attention]"}}, "no model.compressed_attention"},
      {{{"model.compressed_attention.q_lora_rank", "512"},
        {"model.compressed_attention.output_groups", "8"},
        {"model.compressed_attention.output_rank", "512"}},
       "needs a window in every layer"}};
  for (const Case& c : cases) {
    const Outcome loaded = with(c.pairs);
    EXPECT_FALSE(loaded.scenario.has_value()) << c.message;
    EXPECT_NE(loaded.messages.find(c.message), std::string::npos) << loaded.messages;
  }
}

}  // namespace
}  // namespace orrery::scenario
