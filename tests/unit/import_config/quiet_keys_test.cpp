// Keys that move a step or the memory of a run and whose names do not say so: of forks, of older
// releases, and of programs that go around another one.

#include <gtest/gtest.h>

#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

Imported import_megatron(const std::string& more, const std::string& behind = "") {
  return import_texts(
      {{"run.sh", behind +
                      "python pretrain_gpt.py --num-layers 32 --hidden-size 4096 --seq-length 4096 "
                      "--num-attention-heads 32 --vocab-size 32000 --bf16 --micro-batch-size 1 "
                      "--global-batch-size 64 " +
                      more + "\n"}},
      machines(8));
}

// Keys of YAML beside a model of 8 billion parameters.
Imported import_trainer(const std::string& head, const std::string& more) {
  return import_texts({{"config.json", config_text("llama-3.1-8b.json")},
                       {"run.yaml", head + "bf16: true\n" + more}},
                      machines(1));
}

Imported import_axolotl(const std::string& more) {
  return import_trainer("base_model: a/b\nsequence_len: 2048\nmicro_batch_size: 1\n", more);
}

bool stops_at(const Imported& imported, const std::string& key) {
  return imported.problems().find(key + ": ") != std::string::npos;
}

TEST(OlderNamesOfMegatron, OfEightBitsAreRead) {
  EXPECT_EQ(import_megatron("--fp8-hybrid").value("precision.compute"), "fp8-delayed");
  EXPECT_EQ(import_megatron("--fp8-e4m3").value("precision.compute"), "fp8-delayed");
  EXPECT_EQ(import_megatron("").value("precision.compute"), "bf16");
  EXPECT_EQ(import_megatron("--use-bnb-optimizer").value("precision.optimizer.name"), "adam-8bit");
}

// 2 x 16,384 rows in the first product, and not 8/3 of the width.
TEST(OlderNamesOfMegatron, GatesAreRead) {
  const Imported imported = import_megatron("--glu-activation geglu");
  EXPECT_EQ(imported.value("model.activation"), "swiglu");
  EXPECT_EQ(imported.value("model.ffn_hidden_size"), "16384");
}

TEST(OlderNamesOfMegatron, TokensBoundTheRun) {
  const Imported imported = import_megatron("--train-tokens 300000000 --train-samples 999999999");
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("training.tokens"), "300000000");
}

TEST(MegatronDeepspeed, StageStandsInTheFileThatIsNamed) {
  const Imported alone = import_megatron("--deepspeed --deepspeed_config ds.json");
  EXPECT_TRUE(alone.asks("layout.sharding"));
  const Imported stated = import_megatron("--deepspeed --deepspeed_config ds.json --zero-stage 2");
  EXPECT_EQ(stated.value("layout.sharding"), "zero2");
}

TEST(Retro, IsNoDecoderAlone) {
  EXPECT_TRUE(stops_at(import_megatron("--retro-add-retriever"), "--retro-add-retriever"));
  const Imported nemo = import_texts(
      {{"retro.yaml",
        "trainer: {devices: 8}\nmodel:\n  num_layers: 12\n  retro: {retro_project_dir: a}\n"}});
  EXPECT_TRUE(stops_at(nemo, "model.retro.retro_project_dir"));
}

TEST(OlderNamesOfMegatron, GroupsAreOneUnlessTheirNumberIsStated) {
  EXPECT_EQ(import_megatron("--group-query-attention").value("model.num_query_groups"), "1");
  EXPECT_EQ(import_megatron("").value("model.num_query_groups"), "");
}

TEST(Nemo, OptimizersAreReadByName) {
  const auto optimizer = [](const std::string& name, const std::string& more = "") {
    return import_texts({{"gpt.yaml",
                          "trainer: {devices: 8, num_nodes: 1, precision: bf16}\nmodel:\n"
                          "  num_layers: 12\n  optim: {name: " +
                              name + "}\n" + more}});
  };
  EXPECT_TRUE(stops_at(optimizer("adafactor"), "model.optim.name"));
  EXPECT_EQ(optimizer("sgd").value("precision.optimizer.name"), "sgd-momentum");
  const Imported shared = optimizer("distributed_fused_adam");
  EXPECT_EQ(shared.problems(), "");
  EXPECT_EQ(shared.value("layout.sharding"), "zero1");
  EXPECT_EQ(optimizer("fused_adam", "  fsdp: true\n").problems(), "");
}

// --finetune takes no value; what EXTRA_ARGS holds is not known.
TEST(VariablesOfOptions, AreNotTheValueOfASwitch) {
  for (const std::string name : {"$EXTRA_ARGS", "${moe_options}", "\"${EXTRA[@]}\""}) {
    const Imported imported = import_megatron("--finetune " + name);
    EXPECT_EQ(imported.effect("--finetune"), "none") << name;
    EXPECT_NE(imported.effect(name.front() == '"' ? "${EXTRA[@]}" : name), "") << name;
  }
}

Imported import_neox(const std::string& more) {
  return import_texts(
      {{"125M.yml",
        "{\"pipe-parallel-size\": 1, \"num-layers\": 12, \"hidden-size\": 768, \"seq-length\": "
        "2048, "
        "\"num-attention-heads\": 12, \"max-position-embeddings\": 2048, \"precision\": "
        "\"bfloat16\", \"train_micro_batch_size_per_gpu\": 4, " +
            more + "}"}},
      machines(1));
}

TEST(GptNeoxKeys, ExpertsAreCounted) {
  const Imported imported = import_neox("\"moe_num_experts\": 8");
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.moe.num_experts"), "8");
  EXPECT_EQ(imported.value("model.moe.top_k"), "1");
  EXPECT_EQ(import_neox("\"moe_num_experts\": 1").value("model.moe.num_experts"), "");
}

TEST(GptNeoxKeys, EveryKindOfLayerCounts) {
  EXPECT_EQ(import_neox("\"attention-config\": [[[\"flash\"], 12]]").problems(), "");
  for (const std::string other : {"local", "mamba", "sparse_fixed"}) {
    EXPECT_TRUE(
        stops_at(import_neox("\"attention-config\": [[[\"global\", \"" + other + "\"], 6]]"),
                 "attention-config"))
        << other;
  }
}

TEST(GptNeoxKeys, NamesOfGatesAndOptimizersAreItsOwn) {
  EXPECT_EQ(import_neox("\"activation\": \"silu\"").value("model.activation"), "gelu");
  EXPECT_EQ(
      import_neox("\"activation\": \"silu\", \"mlp_type\": \"llama\"").value("model.activation"),
      "swiglu");
  EXPECT_EQ(import_neox("\"optimizer\": {\"type\": \"Lion\"}").value("precision.optimizer.name"),
            "lion");
}

TEST(Primus, EightBitsOfItsKernelsAreAPrecision) {
  const std::string head =
      "modules:\n  pre_trainer:\n    framework: torchtitan\n    overrides:\n"
      "      parallelism: {tensor_parallel_degree: 1}\n      training: {seq_len: 4096}\n"
      "      primus_turbo: {enable_primus_turbo: true, ";
  EXPECT_TRUE(stops_at(import_texts({{"a.yaml", head + "use_turbo_float8_linear: true}\n"}}),
                       "primus_turbo.use_turbo_float8_linear"));
  EXPECT_FALSE(stops_at(import_texts({{"a.yaml", head + "use_turbo_float8_linear: false}\n"}}),
                        "primus_turbo.use_turbo_float8_linear"));
}

// What a file of Primus goes on from is its own, whatever the framework takes without it.
TEST(Primus, StartsItsFrameworksInItsOwnWay) {
  const auto primus = [](const std::string& framework, const std::string& overrides) {
    return import_texts({{"a.yaml", "modules:\n  pre_trainer:\n    framework: " + framework +
                                        "\n    config: pre_trainer.yaml\n    model: a.yaml\n"
                                        "    overrides: {" +
                                        overrides + "}\n"}},
                        machines(1));
  };
  const Imported megatron = primus("megatron", "tensor_model_parallel_size: 1");
  EXPECT_EQ(megatron.value("layout.sharding"), "zero1");
  EXPECT_EQ(megatron.value("precision.compute"), "bf16");
  const Imported titan = primus("torchtitan", "training: {local_batch_size: 2}");
  EXPECT_EQ(titan.value("compile"), "true");
  EXPECT_EQ(titan.value("recompute"), "none");
  EXPECT_EQ(primus("maxtext", "per_device_batch_size: 1").value("precision.optimizer.state_bytes"),
            "4B");
}

TEST(Adapters, WithModulesBesideThemAreReadOrEndTheImport) {
  const std::string lora = "adapter: lora\nlora_r: 8\n";
  EXPECT_EQ(import_axolotl(lora).problems(), "");
  EXPECT_EQ(import_axolotl(lora + "lora_modules_to_save: [model.embed_tokens, lm_head]\n")
                .value("model.trainable"),
            "[embed_tokens, lm_head]");
  EXPECT_TRUE(
      stops_at(import_axolotl(lora + "lora_modules_to_save: [score]\n"), "lora_modules_to_save"));
  EXPECT_TRUE(stops_at(import_axolotl(lora + "lora_target_parameters: [mlp.experts.down_proj]\n"),
                       "lora_target_parameters"));
}

TEST(Adapters, TargetsAreExpressionsToo) {
  const auto targets = [](const std::string& expression) {
    return import_axolotl("adapter: lora\nlora_r: 8\nlora_target_modules: '" + expression + "'\n")
        .value("model.lora.targets");
  };
  EXPECT_EQ(targets("model.layers.[\\d]+.(mlp|self_attn).(up|down|q|k|v|o)_proj"),
            "[qkv, proj, fc1, fc2]");
  EXPECT_EQ(targets(".*\\.(q_proj|v_proj)$"), "[qkv]");
  EXPECT_EQ(targets("(up|x)_proj"), "");
}

TEST(Adapters, OnWeightsOfEightBitsEndTheImport) {
  const std::string head =
      "model_name_or_path: a/b\nfinetuning_type: lora\ncutoff_len: 2048\n"
      "per_device_train_batch_size: 1\n";
  EXPECT_TRUE(stops_at(import_trainer(head, "quantization_bit: 8\n"), "quantization_bit"));
  EXPECT_EQ(import_trainer(head, "quantization_bit: 4\n").value("model.lora.base"), "nf4");
  EXPECT_EQ(import_trainer(head, "quantization_bit: null\n").problems(), "");
}

TEST(Axolotl, WithoutAnAdapterItsSizesDoNothing) {
  const Imported imported = import_axolotl("lora_r: 64\nlora_dropout: 0.05\n");
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.lora.rank"), "");
}

TEST(Axolotl, KeysThatChangeTheBatchOrTheModelAreNamed) {
  EXPECT_TRUE(stops_at(import_axolotl("batch_size: 32\n"), "batch_size"));
  EXPECT_TRUE(stops_at(import_axolotl("overrides_of_model_config: {num_hidden_layers: 12}\n"),
                       "overrides_of_model_config.num_hidden_layers"));
  EXPECT_TRUE(stops_at(import_axolotl("spectrum_top_fraction: 0.5\n"), "spectrum_top_fraction"));
  EXPECT_EQ(import_axolotl("model_config: {output_router_logits: true}\n").problems(), "");
}

TEST(LlamaFactory, WithoutACopyInFp32ItsStateIsHalf) {
  const Imported imported = import_trainer(
      "model_name_or_path: a/b\nfinetuning_type: full\ncutoff_len: 2048\n"
      "per_device_train_batch_size: 1\n",
      "pure_bf16: true\n");
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("precision.optimizer.state_bytes"), "4B");
  EXPECT_EQ(imported.value("precision.gradient_dtype"), "bf16");
}

TEST(LlamaFactory, ALossWithAReferenceModelEndsTheImport) {
  EXPECT_TRUE(stops_at(import_trainer("model_name_or_path: a/b\nfinetuning_type: full\n"
                                      "cutoff_len: 2048\nper_device_train_batch_size: 1\n",
                                      "use_asft_loss: true\n"),
                       "use_asft_loss"));
}

Imported import_deepspeed(const std::string& more) {
  return import_texts(
      {{"config.json", config_text("llama-3.1-8b.json")},
       {"ds.json",
        R"({"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true}, )" + more + "}"}},
      machines(1));
}

// Keys of checkpointing say how inputs are kept, not whether anything is recomputed.
TEST(Deepspeed, OffloadsInputsOfRecomputedLayersOnly) {
  EXPECT_EQ(import_deepspeed(R"("activation_checkpointing": {"cpu_checkpointing": true})")
                .value("offload.activations"),
            "");
}

TEST(Deepspeed, ParametersThatStayAreNotSharded) {
  const auto kept = [](const std::string& size) {
    return import_deepspeed(
        R"("zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": )" + size + "}");
  };
  EXPECT_EQ(kept("1e6").problems(), "");
  EXPECT_TRUE(stops_at(kept("1e9"), "zero_optimization.stage3_param_persistence_threshold"));
}

// Only where something is split over tensor ranks, or updated on the host.
TEST(Deepspeed, KeysCountWithOthersOnly) {
  const std::string split = R"("activation_checkpointing": {"partition_activations": true})";
  EXPECT_EQ(import_deepspeed(split).problems(), "");
  EXPECT_TRUE(stops_at(import_deepspeed(split + R"(, "tensor_parallel": {"autotp_size": 2})"),
                       "activation_checkpointing.partition_activations"));
  const std::string slow = R"("zero_force_ds_cpu_optimizer": false)";
  EXPECT_EQ(import_deepspeed(slow).problems(), "");
  EXPECT_TRUE(stops_at(
      import_deepspeed(
          slow + R"(, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}})"),
      "zero_force_ds_cpu_optimizer"));
}

TEST(Nemo, ItsOwnLayersNeedAFusedAttention) {
  const auto nemo = [](const std::string& more) {
    return import_texts({{"gpt.yaml",
                          "trainer: {devices: 8, num_nodes: 1, precision: bf16}\nmodel:\n"
                          "  num_layers: 12\n  use_flash_attention: false\n" +
                              more}});
  };
  EXPECT_TRUE(stops_at(nemo(""), "model.use_flash_attention"));
  EXPECT_FALSE(stops_at(nemo("  mcore_gpt: true\n"), "model.use_flash_attention"));
  EXPECT_FALSE(stops_at(nemo("  transformer_engine: true\n"), "model.use_flash_attention"));
}

TEST(Torchtitan, ALoopOverTensorsEndsTheImport) {
  const auto update = [](const std::string& implementation) {
    return import_texts(
        {{"a.toml",
          "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\n"
          "[optimizer]\nimplementation = \"" +
              implementation + "\"\n"}});
  };
  EXPECT_TRUE(stops_at(update("for-loop"), "optimizer.implementation"));
  EXPECT_FALSE(stops_at(update("foreach"), "optimizer.implementation"));
}

TEST(MegatronDeepspeed, UlyssesIsAContextOfHeads) {
  const Imported imported = import_megatron("--ds-sequence-parallel-size 4");
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.context"), "4");
  EXPECT_EQ(imported.value("layout.context_method"), "all_to_all");
}

TEST(TrainerFsdp, OptionsAreReadOneByOne) {
  const auto fsdp = [](const std::string& options, int nodes) {
    return import_texts({{"config.json", config_text("llama-3.1-8b.json")},
                         {"run.sh",
                          "torchrun --nproc_per_node=8 train.py --per_device_train_batch_size 2 "
                          "--bf16 True --fsdp \"" +
                              options + "\"\n"}},
                        machines(nodes));
  };
  const Imported offloaded = fsdp("full_shard auto_wrap offload", 2);
  EXPECT_EQ(offloaded.value("offload.optimizer"), "cpu");
  EXPECT_EQ(offloaded.value("offload.parameters"), "cpu");
  const Imported copied = fsdp("hybrid_shard auto_wrap", 2);
  EXPECT_EQ(copied.problems(), "");
  EXPECT_EQ(copied.value("layout.sharding"), "hsdp");
  EXPECT_EQ(copied.value("layout.shard_group"), "8");
  EXPECT_EQ(fsdp("hybrid_shard auto_wrap", 1).value("layout.sharding"), "zero3");
}

// PyTorch's buckets by the key, Horovod's by variables of the shell or options of horovodrun.
TEST(TrainerBuckets, AreReadFromKeysVariablesAndLaunchers) {
  const auto buckets = [](const std::string& before, const std::string& more) {
    return import_texts({{"config.json", config_text("llama-3.1-8b.json")},
                         {"run.sh", before +
                                        " train.py --per_device_train_batch_size 2 --bf16 "
                                        "True --gradient_accumulation_steps 1" +
                                        more + "\n"}},
                        machines(2));
  };
  const Imported ddp = buckets("torchrun --nproc_per_node=8", " --ddp_bucket_cap_mb 50");
  EXPECT_EQ(ddp.problems(), "");
  EXPECT_EQ(ddp.value("overlap.bucket"), "50MiB");
  const Imported variables = buckets(
      "export HOROVOD_FUSION_THRESHOLD=67108864\nexport HOROVOD_CYCLE_TIME=3.5\n"
      "horovodrun -np 16 python",
      "");
  EXPECT_EQ(variables.problems(), "");
  EXPECT_EQ(variables.value("overlap.bucket"), "67108864B");
  EXPECT_EQ(variables.value("overlap.cycle"), "3.5ms");
  const Imported options =
      buckets("horovodrun -np 16 --fusion-threshold-mb 32 --cycle-time-ms 5 python", "");
  EXPECT_EQ(options.problems(), "");
  EXPECT_EQ(options.value("overlap.bucket"), "32MiB");
  EXPECT_EQ(options.value("overlap.cycle"), "5ms");
}

TEST(Swift, OfMegatronMayBeAFile) {
  const Imported imported = import_texts(
      {{"config.json", config_text("qwen3-30b-a3b.json")},
       {"sft.yaml",
        "model: Qwen/Qwen3-30B-A3B\ntuner_type: full\nmax_length: 2048\nmicro_batch_size: 1\n"
        "global_batch_size: 16\nexpert_model_parallel_size: 4\nmoe_grouped_gemm: true\n"}},
      machines(1));
  EXPECT_EQ(imported.value("model.sequence_length"), "2048");
  EXPECT_EQ(imported.value("layout.expert"), "4");
  EXPECT_EQ(imported.value("batch.global"), "16");
  EXPECT_NE(import_texts({{"a.yaml", "rlhf_type: grpo\nmodel: a/b\nmicro_batch_size: 1\n"}})
                .problems()
                .find("generates text between steps"),
            std::string::npos);
}

TEST(Swift, AdaptersOfMegatronFreezeTheWeights) {
  const auto swift = [](const std::string& more) {
    return import_texts({{"config.json", config_text("qwen3-8b.json")},
                         {"run.sh",
                          "megatron sft --model a/b --max_length 2048 --micro_batch_size 1 "
                          "--global_batch_size 16 " +
                              more + "\n"}},
                        machines(1));
  };
  const Imported lora = swift("--tuner_type lora --lora_rank 16 --target_modules all-linear");
  EXPECT_EQ(lora.problems(), "");
  EXPECT_EQ(lora.value("model.lora.rank"), "16");
  EXPECT_EQ(lora.value("model.lora.targets"), "[qkv, proj, fc1, fc2]");
  EXPECT_EQ(lora.value("model.lora.dropout"), "0.05");
  EXPECT_EQ(lora.value("precision.compute"), "bf16");  // that of the weights
  const Imported full = swift("--train_type full");
  EXPECT_EQ(full.problems(), "");
  EXPECT_EQ(full.value("model.lora.rank"), "");
  EXPECT_TRUE(stops_at(swift("--tuner_type lora_llm"), "--tuner_type"));
}

TEST(Swift, DegreesOfDeepspeedAreRead) {
  const Imported imported = import_texts(
      {{"config.json", config_text("llama-3.1-8b.json")},
       {"run.sh",
        "swift sft --model a/b --train_type full --torch_dtype bfloat16 --max_length 4096 "
        "--per_device_train_batch_size 1 --deepspeed zero2 --deepspeed_autotp_size 2\n"}},
      machines(1));
  EXPECT_EQ(imported.value("layout.tensor"), "2");
}

TEST(Swift, NamesOfDeepspeedFilesSayWhatTheyOffload) {
  const auto deepspeed = [](const std::string& name) {
    return import_texts(
        {{"config.json", config_text("llama-3.1-8b.json")},
         {"run.sh",
          "swift sft --model a/b --train_type full --torch_dtype bfloat16 --max_length 4096 "
          "--per_device_train_batch_size 1 --deepspeed " +
              name + "\n"}},
        machines(1));
  };
  EXPECT_EQ(deepspeed("zero3_offload").value("layout.sharding"), "zero3");
  EXPECT_EQ(deepspeed("zero3_offload").value("offload.parameters"), "cpu");
  EXPECT_EQ(deepspeed("zero2_offload").value("offload.optimizer"), "cpu");
  EXPECT_EQ(deepspeed("zero2_offload").value("offload.parameters"), "");
  EXPECT_EQ(deepspeed("zero3").value("offload.optimizer"), "");
}

}  // namespace
}  // namespace orrery::import_config::testing
