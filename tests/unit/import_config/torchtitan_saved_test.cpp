// What torchtitan saves of its Python configurations says model, layout, batch and recomputation.

#include <gtest/gtest.h>

#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

constexpr const char* kParallelism = R"("parallelism": {"data_parallel_shard_degree": -1})";

// A saved file with these layers, and with what stands behind them.
std::string saved(const std::string& layers, const std::string& more = kParallelism) {
  return R"({"model_spec": {"name": "llama3", "flavor": "x", "model": {"dim": 4096,
"vocab_size": 32000, "enable_weight_tying": false,
"layers": [)" +
         layers + "]}},\n" + more + "}";
}

std::string attention(int heads) {
  return R"("attention": {"n_heads": )" + std::to_string(heads) +
         R"(, "n_kv_heads": null, "head_dim": null, "qkv_linear": {"head_dim": 128}})";
}

std::string dense(int width) {
  return R"("feed_forward": {"w1": {"out_features": )" + std::to_string(width) + "}}";
}

std::string layer(int heads = 32, int width = 11008) {
  return "{" + attention(heads) + ", " + dense(width) + "}";
}

TEST(TorchtitanSaved, Llama8BIsCountedLayerByLayer) {
  const Imported imported = import_named({"torchtitan-saved-llama3-8b.json"}, machines(4));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.result.files[0].format, ConfigFormat::torchtitan_saved);
  EXPECT_EQ(imported.result.model->parameters, 8'030'261'248);
  EXPECT_EQ(imported.value("layout.tensor"), "2");
  EXPECT_EQ(imported.value("layout.sharding"), "zero3");
  EXPECT_EQ(imported.value("model.sequence_length"), "8192");
  EXPECT_EQ(imported.value("batch.micro"), "1");
  EXPECT_EQ(imported.value("batch.global"), "16");  // 1 x 32 / 2
  EXPECT_EQ(imported.value("recompute"), "selective_operations");
  EXPECT_EQ(imported.value("training.steps"), "1000");
  EXPECT_TRUE(imported.notes("leaves no trace"));
  EXPECT_EQ(imported.effect("parallelism.spmd_backend"), "none");
}

// The model of DeepSeek-V2-Lite: 15.7B, of which 2.4B active (arXiv 2405.04434, appendix B: and of
// the embeddings only the rows that are read).
TEST(TorchtitanSaved, DeepSeek16BHasLatentAttentionAndExperts) {
  const Imported imported = import_named({"torchtitan-saved-deepseek-v3-16b.json"}, machines(8));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.num_layers"), "27");
  EXPECT_EQ(imported.value("model.mla.kv_lora_rank"), "512");
  EXPECT_EQ(imported.value("model.mla.q_lora_rank"), "");
  EXPECT_EQ(imported.value("model.ffn_hidden_size"), "10944");
  EXPECT_EQ(imported.value("model.moe.num_experts"), "64");
  EXPECT_EQ(imported.value("model.moe.top_k"), "6");
  EXPECT_EQ(imported.value("model.moe.ffn_hidden_size"), "1408");
  EXPECT_EQ(imported.value("model.moe.shared"), "2");
  EXPECT_EQ(imported.value("model.moe.dense_layers"), "1");
  EXPECT_EQ(imported.value("model.mtp"), "");
  ASSERT_TRUE(imported.result.model.has_value());
  EXPECT_NEAR(static_cast<double>(imported.result.model->parameters), 15.7e9, 0.1e9);
}

// Before July 2026 the file has a name and a flavor, and until February the keys of the TOML.
TEST(TorchtitanSaved, OlderFilesNameAFlavor) {
  const Imported spring = import_texts({{"saved.json", R"({
"model_spec": {"name": "llama3", "flavor": "70B"},
"training": {"local_batch_size": 2, "global_batch_size": -1, "seq_len": 4096},
"activation_checkpoint": {"mode": "full"},
"parallelism": {"data_parallel_shard_degree": -1, "tensor_parallel_degree": 8}})"}},
                                       machines(4));
  EXPECT_EQ(spring.problems(), "");
  EXPECT_EQ(spring.result.model->parameters, 70'553'706'496);
  EXPECT_EQ(spring.value("batch.global"), "8");  // 2 x 32 / 8
  EXPECT_EQ(spring.value("recompute"), "full");
  const Imported winter = import_texts({{"saved.json", R"({
"model": {"name": "llama3", "flavor": "8B", "converters": ["float8"]},
"training": {"local_batch_size": 1, "global_batch_size": -1, "seq_len": 8192},
"activation_checkpoint": {"mode": "none"},
"parallelism": {"data_parallel_shard_degree": -1}})"}},
                                       machines(1));
  EXPECT_EQ(winter.problems(), "");
  EXPECT_EQ(winter.result.model->parameters, 8'030'261'248);
  EXPECT_EQ(winter.value("precision.compute"), "fp8-tensorwise");
  EXPECT_EQ(winter.value("recompute"), "none");
}

TEST(TorchtitanSaved, PoliciesAreKnownByTheirFields) {
  const auto recompute = [](const std::string& policy) {
    return import_texts({{"saved.json", saved(layer(), "\"activation_checkpoint\": " + policy +
                                                           ", " + kParallelism)}},
                        machines(1));
  };
  EXPECT_EQ(recompute("null").value("recompute"), "none");
  EXPECT_EQ(recompute(R"({"determinism_check": "default"})").value("recompute"), "full");
  EXPECT_EQ(recompute(R"({"determinism_check": "default", "memory_budget": 0.5})")
                .value("recompute.memory_budget"),
            "0.5");
}

TEST(TorchtitanSaved, AnotherOptimizerIsSaid) {
  const std::string optimizer = R"("optimizer": {"param_groups": [{"optimizer_name": "Muon"}]}, )";
  const Imported imported =
      import_texts({{"saved.json", saved(layer(), optimizer + kParallelism)}}, machines(1));
  EXPECT_EQ(imported.effect("optimizer.param_groups"), "large");
}

TEST(TorchtitanSaved, MicroBatchesCountOnlyInAPipeline) {
  const auto global = [](const std::string& more) {
    return import_texts(
               {{"saved.json", saved(layer() + "," + layer() + "," + layer() + "," + layer(),
                                     R"("training": {"max_context_length": 4096,
"num_tokens_per_microbatch_per_dp_rank": 8192}, "parallelism": {"data_parallel_shard_degree": -1,
"num_pp_microbatches": 4)" + more + "}")}},
               machines(1))
        .value("batch.global");
  };
  EXPECT_EQ(global(""), "16");                                   // 2 x 8 ranks
  EXPECT_EQ(global(", \"pipeline_parallel_degree\": 2"), "32");  // 2 x 4 x 4 ranks
}

TEST(TorchtitanSaved, LayersThatAScenarioCannotExpressAreRefused) {
  const auto problems = [](const std::string& layers) {
    return import_texts({{"s.json", saved(layers)}}).problems();
  };
  EXPECT_EQ(
      problems("\n{\"attention\": null, \"delta_net\": {}}"),
      "s.json:4:1: error: model_spec.model.layers[0]: is no attention to all keys: a scenario "
      "cannot express it\n");
  EXPECT_EQ(problems(layer() + ",\n" + layer(16)),
            "s.json:4:15: error: model_spec.model.layers[1]: has an attention of other widths than "
            "the layers before it\n");
  EXPECT_EQ(problems(layer() + ",\n" + layer(32, 64)),
            "s.json:4:119: error: model_spec.model.layers[1]: has a feed_forward of another width "
            "than the layers before it\n");
  EXPECT_EQ(problems("\n{" + attention(32) + "}"),
            "s.json:4:1: error: model_spec.model.layers[0]: has neither feed_forward nor moe\n");
}

TEST(TorchtitanSaved, WrongTypesHaveTheirPlace) {
  const auto problems = [](const std::string& layers) {
    return import_texts({{"s.json", saved(layers)}}).problems();
  };
  EXPECT_EQ(problems("\n{\"attention\": {\"n_heads\": \"many\"}}"),
            "s.json:4:27: error: model_spec.model.layers[0]: many is no whole number from 0 on\n");
  EXPECT_EQ(problems("\n{\"attention\": {\"n_heads\": -32}}"),
            "s.json:4:27: error: model_spec.model.layers[0]: -32 is no whole number from 0 on\n");
  EXPECT_EQ(problems(""), "s.json:3:1: error: model_spec.model.layers: is no list of layers\n");
  EXPECT_NE(problems("3").find("layers[0]: is no attention"), std::string::npos);
}

}  // namespace
}  // namespace orrery::import_config::testing
