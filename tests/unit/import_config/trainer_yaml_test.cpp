// GPT-NeoX, and programs around transformers' Trainer.

#include <gtest/gtest.h>

#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

TEST(GptNeox, StatesModelBatchAndSharding) {
  Given given = machines(8);
  given.push_back({"model.vocab_size", "50304", "--set"});
  const Imported imported = import_named({"gpt-neox-pythia-1b.yml"}, given);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  // 1,011,781,632 released; each layer has one norm less than its two are counted here for.
  EXPECT_NEAR(static_cast<double>(imported.result.model->parameters), 1'011'781'632.0, 1e5);
  EXPECT_EQ(imported.value("layout.sharding"), "zero1");
  EXPECT_EQ(imported.value("batch.global"), "1024");  // 16 x 1 x 64
  EXPECT_EQ(imported.value("precision.compute"), "fp16");
  EXPECT_EQ(imported.value("recompute"), "full");
  EXPECT_EQ(imported.value("training.steps"), "143000");
  EXPECT_EQ(imported.value("model.position"), "rotary");
}

// fp16 is the name of the section; its type counts (megatron/neox_arguments/arguments.py).
TEST(GptNeox, ComputesInTheTypeOfItsSection) {
  const std::string text =
      "{\"pipe_parallel_size\": 1, \"num_layers\": 2, \"hidden_size\": 64, \"seq_length\": 64,\n"
      "\"num_attention_heads\": 2, \"fp16\": {\"enabled\": true";
  EXPECT_EQ(
      import_texts({{"a.yml", text + ", \"type\": \"bfloat16\"}}"}}).value("precision.compute"),
      "bf16");
  EXPECT_EQ(import_texts({{"a.yml", text + "}}"}}).value("precision.compute"), "fp16");
}

Imported accelerated(const std::string& more) {
  return import_texts({{"config.json", config_text("llama-3.1-8b.json")},
                       {"a.yaml",
                        "compute_environment: LOCAL_MACHINE\nmixed_precision: bf16\n"
                        "num_machines: 2\nnum_processes: 16\n" +
                            more}},
                      machines(2));
}

TEST(Accelerate, KnowsEveryStrategyByItsNameAndNumber) {
  const auto fsdp = [](const std::string& strategy) {
    return accelerated(
        "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: " + strategy + "\n");
  };
  for (const char* half : {"HYBRID_SHARD_ZERO2", "5"}) {
    EXPECT_EQ(fsdp(half).value("layout.sharding"), "hsdp") << half;
    EXPECT_EQ(fsdp(half).value("overlap.fsdp.reshard"), "false") << half;
  }
  EXPECT_EQ(fsdp("4").value("layout.sharding"), "hsdp");
  EXPECT_EQ(fsdp("4").value("overlap.fsdp.reshard"), "");
  EXPECT_EQ(fsdp("3").value("layout.sharding"), "none");
  EXPECT_NE(fsdp("SHARD_ALL").problems().find("no strategy of FSDP"), std::string::npos);
}

TEST(Accelerate, CompilesWithInductor) {
  const auto dynamo = [](const std::string& backend) {
    return accelerated("distributed_type: MULTI_GPU\ndynamo_config:\n  dynamo_backend: " + backend +
                       "\n");
  };
  EXPECT_EQ(dynamo("INDUCTOR").value("compile"), "true");
  EXPECT_EQ(dynamo("'NO'").value("compile"), "");
  EXPECT_NE(dynamo("EAGER").problems().find("dynamo_backend"), std::string::npos);
}

TEST(Accelerate, StatesFsdpAndMachines) {
  const Imported imported = import_texts(
      {{"config.json", config_text("llama-3.1-8b.json")},
       {"fsdp.yaml",
        "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  "
        "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_sharding_strategy: FULL_SHARD\n  "
        "fsdp_offload_params: false\n  fsdp_activation_checkpointing: true\nmachine_rank: 0\n"
        "mixed_precision: bf16\nnum_machines: 2\nnum_processes: 16\nuse_cpu: false\n"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.sharding"), "zero3");
  EXPECT_EQ(imported.value("cluster.nodes"), "2");
  EXPECT_EQ(imported.value("recompute"), "full");
  EXPECT_EQ(imported.value("precision.compute"), "bf16");
  EXPECT_TRUE(imported.asks("batch.global"));
}

// TrainingArguments without bf16 and fp16: fp32, whose products tf32 rounds.
TEST(TrainingArguments, WithoutAShortTypeTrainInFp32) {
  const auto precision = [](const std::string& lines) {
    return import_texts({{"config.json", config_text("llama-3.1-8b.json")},
                         {"args.yaml",
                          "per_device_train_batch_size: 1\ngradient_accumulation_steps: 2\n"
                          "learning_rate: 1.0e-5\nnum_train_epochs: 3.0\n" +
                              lines}},
                        machines(1))
        .value("precision.compute");
  };
  EXPECT_EQ(precision("bf16: false\nfp16: false\n"), "fp32");
  EXPECT_EQ(precision("bf16: false\nfp16: false\ntf32: true\n"), "tf32");
  EXPECT_EQ(precision("bf16: true\ntf32: true\n"), "bf16");
}

TEST(LlamaFactory, StatesTheBatchAndAdapters) {
  const std::string head =
      "model_name_or_path: meta-llama/Meta-Llama-3-8B\nstage: sft\ndo_train: true\n"
      "cutoff_len: 2048\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 2\n"
      "learning_rate: 1.0e-5\nnum_train_epochs: 3.0\nbf16: true\n"
      "deepspeed: examples/deepspeed/ds_z3_config.json\nfinetuning_type: ";
  Given given = machines(1);
  const Imported full = import_texts(
      {{"config.json", config_text("llama-3.1-8b.json")}, {"sft.yaml", head + "full\n"}}, given);
  EXPECT_EQ(full.problems(), "");
  EXPECT_EQ(full.value("model.sequence_length"), "2048");
  EXPECT_EQ(full.value("batch.global"), "16");  // 1 x 2 x 8
  EXPECT_TRUE(full.asks("layout.sharding"));    // in a file of its own
  const Imported lora = import_texts(
      {{"config.json", config_text("llama-3.1-8b.json")},
       {"sft.yaml", head + "lora\nlora_rank: 32\nlora_target: q_proj,v_proj,o_proj\n"}},
      given);
  EXPECT_EQ(lora.problems(), "");
  EXPECT_EQ(lora.value("model.lora.rank"), "32");
  EXPECT_EQ(lora.value("model.lora.targets"), "[qkv, proj]");
  EXPECT_EQ(lora.value("model.lora.base"), "");
  const Imported dora = import_texts({{"config.json", config_text("llama-3.1-8b.json")},
                                      {"sft.yaml", head + "lora\nlora_rank: 32\nuse_dora: true\n"}},
                                     given);
  EXPECT_EQ(dora.problems(), "");
  EXPECT_EQ(dora.value("model.lora.kind"), "dora");
  EXPECT_NE(import_texts({{"sft.yaml", head + "freeze\n"}})
                .problems()
                .find("sft.yaml:11:1: error: finetuning_type: `freeze` trains part of the weights"),
            std::string::npos);
}

TEST(Axolotl, StatesTheBatchAndFsdp) {
  const Imported imported = import_texts(
      {{"config.json", config_text("llama-3.1-8b.json")},
       {"fft.yaml",
        "base_model: NousResearch/Meta-Llama-3.1-8B\nsequence_len: 8192\nsample_packing: true\n"
        "gradient_accumulation_steps: 8\nmicro_batch_size: 1\noptimizer: paged_adamw_8bit\n"
        "bf16: auto\ngradient_checkpointing: true\nfsdp:\n  - full_shard\n  - auto_wrap\n"
        "fsdp_config:\n  fsdp_offload_params: true\n"}},
      machines(1));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("batch.global"), "64");
  EXPECT_EQ(imported.value("layout.sharding"), "zero3");
  EXPECT_EQ(imported.value("offload.parameters"), "cpu");
  EXPECT_EQ(imported.effect("sample_packing"), "small");
}

TEST(Axolotl, SaysThatDocumentsWithoutPackingAreShorter) {
  const auto packing = [](const std::string& on) {
    return import_texts({{"config.json", config_text("llama-3.1-8b.json")},
                         {"a.yaml",
                          "base_model: a/b\nsequence_len: 4096\nmicro_batch_size: 2\n"
                          "bf16: true\nsample_packing: " +
                              on + "\n"}},
                        machines(1));
  };
  EXPECT_TRUE(packing("false").notes("as long as its longest document"));
  EXPECT_FALSE(packing("true").notes("as long as its longest document"));
}

TEST(Axolotl, TrainsAdaptersOfFourBitWeights) {
  const Imported imported = import_texts(
      {{"config.json", config_text("llama-3.1-8b.json")},
       {"qlora.yaml",
        "base_model: NousResearch/Meta-Llama-3.1-8B\nsequence_len: 4096\nadapter: qlora\n"
        "load_in_4bit: true\nlora_r: 64\nlora_alpha: 16\nlora_dropout: 0.1\n"
        "lora_target_linear: true\nmicro_batch_size: 2\nbf16: auto\n"}},
      machines(1));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.lora.rank"), "64");
  EXPECT_EQ(imported.value("model.lora.dropout"), "0.1");
  EXPECT_EQ(imported.value("model.lora.base"), "nf4");
  EXPECT_EQ(imported.value("model.lora.targets"), "[qkv, proj, fc1, fc2]");
}

}  // namespace
}  // namespace orrery::import_config::testing
