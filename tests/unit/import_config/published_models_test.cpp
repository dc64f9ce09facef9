// Public config.json files reproduce the published sizes of their models.

#include <gtest/gtest.h>

#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

// Exact counts of the released weights, as in the tests of model/: those without norms of queries
// and keys, which a scenario does not count.
struct Exact {
  const char* file;
  std::int64_t parameters;
};

class ExactCount : public ::testing::TestWithParam<Exact> {};

TEST_P(ExactCount, IsThatOfTheReleasedWeights) {
  const Imported imported = import_named({GetParam().file});
  EXPECT_EQ(imported.problems(), "");
  ASSERT_TRUE(imported.result.model.has_value());
  EXPECT_EQ(imported.result.model->parameters, GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(ConfigJson, ExactCount,
                         ::testing::Values(Exact{"llama-3.1-8b.json", 8'030'261'248},
                                           Exact{"llama-3.1-70b.json", 70'553'706'496},
                                           Exact{"llama-3.1-405b.json", 405'853'388'800},
                                           Exact{"mixtral-8x7b.json", 46'702'792'704},
                                           Exact{"mixtral-8x22b.json", 140'620'634'112},
                                           Exact{"bloom-176b.json", 176'247'271'424}),
                         [](const auto& row) {
                           std::string name = row.param.file;
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

// GPT-2 as algebra: V h + s h = 50,257 x 768 + 1,024 x 768 = 39,383,808; layer = 12 h^2 + 13 h =
// 7,087,872; 12 of them and a final norm 2 h: 124,439,808.
TEST(PublishedModels, Gpt2IsCountedByItsAlgebra) {
  const Imported imported = import_named({"gpt2.json"});
  ASSERT_TRUE(imported.result.model.has_value()) << imported.problems();
  EXPECT_EQ(imported.result.model->parameters, 39'383'808 + 12 * 7'087'872 + 2 * 768);
  EXPECT_EQ(imported.value("model.position"), "learned");
  EXPECT_EQ(imported.value("model.tie_embeddings"), "true");
  EXPECT_EQ(imported.value("model.linear_bias"), "true");
}

// In billions, as the names and the model cards print them: total and active.
struct Rounded {
  const char* file;
  double total;
  double active;
  double tolerance;
};

class RoundedCount : public ::testing::TestWithParam<Rounded> {};

TEST_P(RoundedCount, IsThatOfTheName) {
  const Imported imported = import_named({GetParam().file});
  EXPECT_EQ(imported.problems(), "");
  ASSERT_TRUE(imported.result.model.has_value());
  constexpr double kBillion = 1'000'000'000.0;
  const ImportedModel& model = *imported.result.model;
  EXPECT_NEAR(static_cast<double>(model.parameters) / kBillion, GetParam().total,
              GetParam().tolerance * GetParam().total);
  EXPECT_NEAR(static_cast<double>(model.active) / kBillion, GetParam().active,
              GetParam().tolerance * GetParam().active);
}

INSTANTIATE_TEST_SUITE_P(
    ConfigJson, RoundedCount,
    ::testing::Values(Rounded{"deepseek-v3.json", 671.0, 37.0, 0.02},      // arXiv 2412.19437
                      Rounded{"qwen3-8b.json", 8.2, 8.2, 0.01},            // arXiv 2505.09388
                      Rounded{"qwen3-30b-a3b.json", 30.5, 3.3, 0.02},      // the same
                      Rounded{"qwen3-235b-a22b.json", 235.0, 22.0, 0.02},  // the same
                      Rounded{"kimi-k2.json", 1000.0, 32.0, 0.05},         // arXiv 2507.20534
                      Rounded{"llama-4-scout.json", 109.0, 17.0, 0.03},    // model card
                      Rounded{"gpt-oss-120b.json", 117.0, 5.1, 0.13},      // model card
                      Rounded{"gemma-2-9b.json", 9.2, 9.2, 0.01},          // arXiv 2408.00118
                      Rounded{"dictalm-3-24b.json", 24.0, 24.0, 0.02}),    // its name
    [](const auto& row) {
      std::string name = row.param.file;
      std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
      return name;
    });

TEST(PublishedModels, DeepSeekV3HasItsLatentAttentionAndPredictionModule) {
  const Imported imported = import_named({"deepseek-v3.json"});
  EXPECT_EQ(imported.value("model.mla.q_lora_rank"), "1536");
  EXPECT_EQ(imported.value("model.mla.kv_lora_rank"), "512");
  EXPECT_EQ(imported.value("model.mla.qk_nope_head_dim"), "128");
  EXPECT_EQ(imported.value("model.mla.qk_rope_head_dim"), "64");
  EXPECT_EQ(imported.value("model.mla.v_head_dim"), "128");
  EXPECT_EQ(imported.value("model.moe.num_experts"), "256");
  EXPECT_EQ(imported.value("model.moe.shared"), "1");
  EXPECT_EQ(imported.value("model.moe.dense_layers"), "3");
  EXPECT_EQ(imported.value("model.mtp"), "1");
  EXPECT_EQ(imported.value("model.moe.node_limit"), "4");
  EXPECT_EQ(imported.origin("model.moe.node_limit"), "assumed");
  EXPECT_TRUE(imported.notes("quantization_config"));
  // The weight README: 11.5B unique parameters of the module, and its projection 2 h^2.
  EXPECT_NEAR(static_cast<double>(imported.result.model->prediction_modules), 11.6e9, 0.05e9);
}

// A model file knows neither the length of training sequences, nor batch, nor machines.
TEST(PublishedModels, WhatAModelDoesNotSayIsAskedFor) {
  const Imported imported = import_named({"llama-3.1-8b.json"});
  EXPECT_FALSE(imported.result.complete());
  for (const char* key :
       {"model.sequence_length", "cluster.gpu", "cluster.nodes", "batch.global"}) {
    EXPECT_TRUE(imported.asks(key)) << key;
  }
  EXPECT_NE(imported.result.scenario.find("\n  gpu:"), std::string::npos);
  EXPECT_EQ(imported.origin("precision.compute"), "assumed");
  EXPECT_EQ(imported.effect("rope_theta"), "none");
}

TEST(PublishedModels, WhatAScenarioCannotExpressIsSaid) {
  const Imported gemma = import_named({"gemma-2-9b.json"});
  EXPECT_TRUE(gemma.notes("two more norms"));
  EXPECT_TRUE(gemma.notes("gelu_pytorch_tanh"));
  EXPECT_EQ(gemma.value("model.attention_window.full_every"), "2");
  EXPECT_EQ(gemma.effect("attn_logit_softcapping"), "small");
  const Imported oss = import_named({"gpt-oss-120b.json"});
  EXPECT_EQ(oss.value("model.attention_window.size"), "128");
  EXPECT_EQ(oss.value("model.attention_window.full_every"), "2");
  EXPECT_TRUE(oss.notes("sinks"));
  const Imported scout = import_named({"llama-4-scout.json"});
  EXPECT_EQ(scout.value("model.attention_window.size"), "8192");
  EXPECT_EQ(scout.value("model.attention_window.full_every"), "4");
  EXPECT_TRUE(scout.notes("those of their chunk"));
  EXPECT_EQ(import_named({"qwen3-8b.json"}).effect("sliding_window"), "");  // null: off
}

TEST(PublishedModels, LayersThatAreNoAttentionAreRefused) {
  const Imported hybrid = import_texts(
      {{"config.json", "{\n  \"model_type\": \"jamba\",\n  \"hidden_size\": 8192\n}\n"}});
  EXPECT_EQ(hybrid.problems(),
            "config.json:2:3: error: model_type: `jamba` is not a decoder whose every layer "
            "attends to all keys: a scenario cannot express it\n");
  EXPECT_EQ(hybrid.result.scenario, "");
}

TEST(PublishedModels, LayersThatDifferOrChooseTheirKeysAreRefused) {
  for (const char* key : {"block_configs", "attn_layer_period"}) {
    const Imported imported = import_texts(
        {{"config.json", std::string("{\"model_type\": \"newllm\", \"hidden_size\": 4096,\n \"") +
                             key + "\": 512}"}});
    EXPECT_EQ(imported.problems(), std::string("config.json:2:2: error: ") + key +
                                       ": belongs to layers that a scenario cannot express\n");
  }
}

TEST(PublishedModels, AListOfExpertLayersIsCounted) {
  const Imported imported = import_texts(
      {{"config.json", R"({"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 4,
        "num_attention_heads": 32, "intermediate_size": 14336, "vocab_size": 32000,
        "num_local_experts": 8, "num_experts_per_tok": 2, "moe_layer_freq": [0, 1, 0, 1]})"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.moe.dense_layers"), "2");
  EXPECT_TRUE(imported.notes("the scenario puts them first"));
}

constexpr const char* kNewModel = R"({"model_type": "newllm",
    "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256})";

TEST(UnknownClasses, AreRefusedUnlessTheCallerSaysWhatTheyAreLike) {
  EXPECT_EQ(import_texts({{"config.json", kNewModel}}).problems(),
            "config.json:1:2: error: model_type: `newllm` is a class that this import does not "
            "know (--as llama takes it as one like Llama: RMSNorm, gated MLP, rotary positions, "
            "no biases)\n");
  const Imported forced = import_as("llama", kNewModel);
  EXPECT_EQ(forced.problems(), "");
  EXPECT_TRUE(forced.notes("`newllm`: taken as llama, as --as says"));
  EXPECT_EQ(forced.origin("model.activation"), "assumed");
  EXPECT_EQ(forced.result.model->parameters, 8'030'261'248);
  EXPECT_NE(import_as("bert", kNewModel).problems().find("--as: error: `bert` is no class"),
            std::string::npos);
}

// BERT of 2019 has no model_type.
TEST(UnknownClasses, AreAlsoThoseThatSayNothing) {
  const Imported imported = import_texts({{"config.json", R"({"hidden_size": 1024,
    "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096,
    "vocab_size": 30522, "type_vocab_size": 2})"}});
  EXPECT_NE(imported.problems().find("config.json: error: model_type: is not stated"),
            std::string::npos)
      << imported.problems();
}

// One message each, with the key that is in the way.
TEST(KeysThatSetSizes, AreRefusedWhenNobodyReadsThem) {
  const std::string llama = R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "intermediate_size": 14336, "vocab_size": 128256)";

  const struct {
    const char* more;
    const char* message;
  } rows[] = {
      {R"("multi_query_group_num": 2})", "multi_query_group_num: not understood"},
      {R"("num_kv_heads": 8})", "num_kv_heads: not understood"},
      {R"("linear_attn_config": {"kda_layers": [1, 2]}})",
       "linear_attn_config.kda_layers: is not read; a scenario says it by model.layer_types"},
      {R"("sparse_attention_config": {"sparse_topk_blocks": 16}})",
       "sparse_attention_config.sparse_topk_blocks: belongs to layers"},
      {R"("vision_config": {"hidden_size": 1024}})",
       "vision_config.hidden_size: belongs to a tower beside the decoder"},
      {R"("mm_vision_tower": "openai/clip-vit-large-patch14-336"})", "mm_vision_tower: belongs"},
      {R"("is_encoder_decoder": true})", "is_encoder_decoder: a scenario cannot express"}};

  for (const auto& row : rows) {
    const std::string text = llama + ", " + row.more;
    const Imported imported = import_texts({{"config.json", text}});
    EXPECT_NE(imported.problems().find(row.message), std::string::npos) << imported.problems();
    EXPECT_EQ(imported.result.scenario, "");
    // --as maps names: only the tower beside the decoder may stay away.
    const bool tower = std::string(row.more).find("vision") != std::string::npos;
    EXPECT_EQ(import_as("llama", text).problems() == "", tower) << row.more;
  }
  const Imported off =
      import_texts({{"config.json", llama + R"(, "num_kv_heads": 0, "moe": false})"}});
  EXPECT_EQ(off.problems(), "");
  EXPECT_EQ(off.effect("num_kv_heads"), "small");  // named, all the same
}

// The file of Gemma 3 4B states four dimensions of its text model and leaves the others to the
// class; its vision tower must be left out by name.
TEST(ClassDefaults, FillWhatGemma3LeavesOut) {
  const std::string text = R"({"model_type": "gemma3", "text_config": {"hidden_size": 2560,
    "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34,
    "sliding_window": 1024}, "vision_config": {"hidden_size": 1152}})";
  EXPECT_NE(import_texts({{"config.json", text}}).problems().find("vision_config.hidden_size"),
            std::string::npos);
  const Imported imported = import_as("gemma3_text", text);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.num_attention_heads"), "8");
  EXPECT_EQ(imported.value("model.num_query_groups"), "4");
  EXPECT_EQ(imported.value("model.head_dim"), "256");
  EXPECT_EQ(imported.value("model.vocab_size"), "262208");
  EXPECT_EQ(imported.origin("model.head_dim"), "default");
  EXPECT_EQ(imported.value("model.attention_window.full_every"), "6");
}

TEST(Json, OfPythonMayHoldInfinity) {
  const Imported imported = import_texts({{"config.json", R"({"model_type": "llama",
    "rope_scaling": [0.0, Infinity], "rope_theta": -Infinity, "_name_or_path": "NaN \" Infinity",
    "rms_norm_eps": NaN,
    "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "intermediate_size": 11008, "vocab_size": 32000})"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.hidden_size"), "4096");
}

}  // namespace
}  // namespace orrery::import_config::testing
