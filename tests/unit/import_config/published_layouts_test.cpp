// Public launch scripts and configurations give their layouts, batches and models.

#include <gtest/gtest.h>

#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

TEST(PublishedLayouts, MegatronScriptOfGpt3) {
  const Imported imported = import_named({"gpt3-175b.sh"}, machines());
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.value("layout.tensor"), "8");
  EXPECT_EQ(imported.value("layout.pipeline"), "16");
  EXPECT_EQ(imported.value("layout.schedule"), "1f1b");
  EXPECT_EQ(imported.value("batch.global"), "1536");
  EXPECT_EQ(imported.value("precision.compute"), "fp16");
  EXPECT_EQ(imported.value("overlap.data"), "false");
  EXPECT_EQ(imported.origin("overlap.data"), "default");
  // 50,257 up to a multiple of 128 x 8; 4 x 12,288; a table of positions, biases, one table.
  EXPECT_EQ(imported.value("model.vocab_size"), "51200");
  EXPECT_EQ(imported.origin("model.vocab_size"), "assumed");
  EXPECT_EQ(imported.value("model.ffn_hidden_size"), "49152");
  EXPECT_EQ(imported.origin("model.ffn_hidden_size"), "default");
  EXPECT_EQ(imported.value("model.position"), "learned");
  EXPECT_NEAR(static_cast<double>(imported.result.model->parameters), 174.6e9, 0.1e9);
  EXPECT_EQ(imported.value("training.steps"), "500000");
  EXPECT_EQ(imported.value("checkpoint.interval"), "10000 steps");
  EXPECT_EQ(imported.line("model.num_layers"), 13);
  EXPECT_EQ(imported.effect("--lr"), "none");
}

TEST(PublishedLayouts, MegatronScriptOfMixtralWithTheModelsOwnFile) {
  const Imported alone = import_named({"mixtral-8x7b.sh"}, machines(8));
  EXPECT_TRUE(alone.asks("model.vocab_size"));  // the tokenizer is a file elsewhere
  EXPECT_EQ(alone.problems(), "");
  const Imported both = import_named({"mixtral-8x7b.json", "mixtral-8x7b.sh"}, machines(8));
  EXPECT_EQ(both.problems(), "");
  EXPECT_TRUE(both.result.complete());
  EXPECT_EQ(both.value("layout.expert"), "8");
  EXPECT_EQ(both.value("layout.pipeline"), "4");
  EXPECT_EQ(both.value("layout.sharding"), "zero1");
  EXPECT_EQ(both.value("layout.sequence_parallel"), "");  // nothing to split with one tensor rank
  EXPECT_EQ(both.value("software_options.expert_dispatcher"), "alltoall");
  EXPECT_EQ(both.value("overlap.data"), "true");
  EXPECT_EQ(both.result.model->parameters, 46'702'792'704);
  EXPECT_EQ(both.value("cluster.nodes"), "8");
  EXPECT_EQ(both.why("cluster.nodes"), "in place of 1 of --nnodes (mixtral-8x7b.sh:19)");
}

TEST(PublishedLayouts, MegatronScriptOfDeepSeekV3BuildsItsCommandInAVariable) {
  Given given = machines(128);
  given.push_back({"model.vocab_size", "129280", "--set"});
  const Imported imported = import_named({"deepseek-v3-fsdp.sh"}, given);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.value("layout.sharding"), "zero3");  // the branch of the script that is taken
  EXPECT_EQ(imported.value("model.moe.dense_layers"), "3");
  EXPECT_EQ(imported.value("model.moe.shared"), "1");
  EXPECT_EQ(imported.value("recompute.modules"), "[mlp, moe, mla_up_proj, layernorm]");
  EXPECT_EQ(imported.value("software_options.expert_dispatcher"), "hybridep");
  EXPECT_EQ(imported.value("batch.global"), "2048");
  EXPECT_EQ(imported.value("batch.micro"), "4");
  EXPECT_EQ(imported.value("training.tokens"), "2400000000000");  // 585,937,500 x 4,096
  EXPECT_NEAR(static_cast<double>(imported.result.model->parameters), 671.0e9, 1.0e9);
}

// One layer per virtual stage: 32 / 4 / 1 = 8 of them on a device.
TEST(PublishedLayouts, LayersPerVirtualStageBecomeVirtualStages) {
  Given given = machines(8);
  given.push_back({"model.vocab_size", "32000", "--set"});
  const Imported imported = import_named({"mixtral-8x7b-interleaved.yaml"}, given);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.value("layout.virtual_stages"), "8");
  EXPECT_EQ(imported.origin("layout.virtual_stages"), "derived");
  EXPECT_EQ(imported.why("layout.virtual_stages"), "32 / 4 / 1");
  EXPECT_EQ(imported.value("layout.schedule"), "interleaved");
  EXPECT_EQ(imported.value("layout.expert_tensor"), "1");
  EXPECT_EQ(imported.value("layout.sequence_parallel"), "true");
}

// virtual_pipeline_model_parallel_size counts stages, not layers.
TEST(PublishedLayouts, NemoOfGpt3) {
  const Imported imported = import_named(
      {"nemo-gpt3-175b.yaml"}, {{"cluster.gpu", "a100-sxm-80gb", "--gpu"},
                                {"cluster.network.preset", "infiniband-200g", "--network"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.value("cluster.nodes"), "128");
  EXPECT_EQ(imported.value("cluster.gpus_per_node"), "8");
  EXPECT_EQ(imported.value("layout.tensor"), "4");
  EXPECT_EQ(imported.value("layout.pipeline"), "8");
  EXPECT_EQ(imported.value("layout.virtual_stages"), "12");
  EXPECT_EQ(imported.value("layout.sharding"), "zero1");
  EXPECT_EQ(imported.value("model.ffn_hidden_size"), "49152");  // ${multiply:4, ${.hidden_size}}
  EXPECT_EQ(imported.value("overlap.bucket"), "220MiB");
  EXPECT_EQ(imported.value("overlap.pipeline"), "false");
  EXPECT_EQ(imported.value("training.steps"), "75000");
  EXPECT_EQ(imported.value("software.name"), "nemo");
  EXPECT_NEAR(static_cast<double>(imported.result.model->parameters), 174.6e9, 0.1e9);
}

// The dimensions stand behind a name; the batch follows from the ranks: 2 x 128 / 8 = 32.
TEST(PublishedLayouts, TorchtitanOfLlama405B) {
  const Imported imported = import_named({"torchtitan-llama3-405b.toml"}, machines(16));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.result.model->parameters, 405'853'388'800);
  EXPECT_EQ(imported.value("layout.tensor"), "8");
  EXPECT_EQ(imported.value("layout.sharding"), "zero3");
  EXPECT_EQ(imported.value("layout.sequence_parallel"), "true");
  EXPECT_EQ(imported.value("batch.micro"), "2");
  EXPECT_EQ(imported.value("batch.global"), "32");
  EXPECT_EQ(imported.why("batch.global"), "2 x 16 data-parallel ranks");
  EXPECT_EQ(imported.value("precision.compute"), "fp8-tensorwise");
  EXPECT_EQ(imported.value("recompute"), "full");
  EXPECT_EQ(imported.value("overlap.tensor"), "true");
  EXPECT_EQ(imported.value("compile"), "true");
  EXPECT_EQ(imported.value("checkpoint.interval"), "");  // saving is switched off
}

TEST(PublishedLayouts, TorchtitanOfDeepSeekV3) {
  const Imported imported = import_named({"torchtitan-deepseek-v3.toml"}, machines(64));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_NEAR(static_cast<double>(imported.result.model->parameters), 671.0e9, 1.0e9);
  EXPECT_EQ(imported.value("recompute"), "selective_operations");
  EXPECT_EQ(imported.value("compile"), "false");  // the loss only
  EXPECT_EQ(imported.value("layout.schedule"), "");
}

TEST(PublishedLayouts, SlurmScriptOfBloomBuildsItsCommandBehindBashC) {
  const Imported imported = import_named(
      {"bloom-176b.slurm"}, {{"cluster.gpu", "a100-sxm-80gb", "--gpu"},
                             {"cluster.network.preset", "omnipath-100g-4", "--network"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.result.model->parameters, 176'247'271'424);  // the released weights
  EXPECT_EQ(imported.value("cluster.nodes"), "48");
  EXPECT_EQ(imported.value("layout.tensor"), "4");
  EXPECT_EQ(imported.value("layout.pipeline"), "12");
  EXPECT_EQ(imported.value("layout.sharding"), "zero1");
  EXPECT_EQ(imported.value("recompute"), "full");
  EXPECT_EQ(imported.value("training.batch_ramp.samples"), "9765625");
  EXPECT_EQ(imported.value("software.name"), "megatron-deepspeed");
}

TEST(PublishedLayouts, DeepSpeedBesideAModel) {
  Given given = machines(8);
  given.push_back({"model.sequence_length", "4096", "--set"});
  const Imported imported = import_named({"llama-3.1-70b.json", "deepspeed-infinity.json"}, given);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.sharding"), "zero3");
  EXPECT_EQ(imported.value("batch.micro"), "4");
  EXPECT_EQ(imported.value("batch.global"), "256");  // 4 x 1 x 64
  EXPECT_EQ(imported.value("offload.optimizer"), "nvme");
  EXPECT_EQ(imported.value("offload.parameters"), "nvme");
  EXPECT_EQ(imported.value("precision.compute"), "fp16");
  // The rates of the drives are in no file.
  EXPECT_TRUE(imported.asks("offload.nvme_read"));
  EXPECT_TRUE(imported.asks("offload.nvme_write"));
  EXPECT_TRUE(imported.notes("recompute"));
}

TEST(PublishedLayouts, EveryConfigurationMakesATextThatOnlyLacksWhatIsAsked) {
  for (const std::string& name : config_names()) {
    const Imported imported = import_named({name});
    EXPECT_EQ(imported.problems(), "") << name;
    EXPECT_NE(imported.result.scenario, "") << name;
    EXPECT_FALSE(imported.result.asked.empty()) << name;  // the GPU is in none of them
    EXPECT_NE(report_text(imported.result), "") << name;
  }
}

}  // namespace
}  // namespace orrery::import_config::testing
