// Logs of programs beside Megatron-LM and torchtitan: what they print is what they ran.

#include <gtest/gtest.h>

#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

const Given kGpu = {{"cluster.gpu", "h100-sxm-80gb", "--gpu"}};
const Given kHost = {{"cluster.gpu", "h100-sxm-80gb", "--gpu"}, {"cluster.nodes", "1", "--nodes"}};

std::string replaced(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  return at == std::string::npos ? "" : text.replace(at, old.size(), now);
}

Imported import_log(const std::string& text) { return import_texts({{"a.log", text}}, kGpu); }

// As MaxText prints its settings: names of the YAML, values as Python writes them.
std::string maxtext_log(const std::string& more) {
  return "Config param attention: cudnn_flash_te\nConfig param base_emb_dim: 2048\n"
         "Config param base_mlp_dim: 7168\nConfig param base_num_decoder_layers: 8\n"
         "Config param dcn_data_parallelism: -1\nConfig param decoder_block: "
         "DecoderBlockType.MIXTRAL\nConfig param decoder_layer_input: RematLocation.DEVICE\n"
         "Config param dpo_beta: 0.1\nConfig param dtype: bfloat16\nConfig param emb_dim: 4096\n"
         "Config param global_batch_size_to_train_on: 64\nConfig param hardware: gpu\n"
         "Config param head_dim: 128\nConfig param ici_fsdp_parallelism: 8\n"
         "Config param logits_via_embedding: False\nConfig param lora: {'enable_lora': False, "
         "'lora_rank': 0}\nConfig param max_target_length: 4096\n"
         "Config param mlp_activations: ['silu', 'linear']\nConfig param mlp_dim: 14336\n"
         "Config param num_decoder_layers: 32\nConfig param num_kv_heads: 8\n"
         "Config param num_query_heads: 32\nConfig param per_device_batch_size: 8.0\n"
         "Config param remat_policy: minimal\nConfig param sa_block_q: 512\n"
         "Config param vocab_size: 32000\nConfig param weight_dtype: float32\n" +
         more +
         "Num_devices: 8, shape (1, 8)\ncompleted step: 0, seconds: 30.1, TFLOP/s/device: 1.0\n"
         "completed step: 1, seconds: 2.5, TFLOP/s/device: 300.0\n"
         "completed step: 2, seconds: 2.5, TFLOP/s/device: 300.0\n";
}

TEST(MaxTextLog, HasTheKeysOfItsYaml) {
  const Imported imported = import_log(
      maxtext_log("Config param megablox: True\nConfig param num_experts: 8\n"
                  "Config param num_experts_per_tok: 2\nConfig param quantization: fp8\n"));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.value("model.hidden_size"), "4096");  // as it was scaled
  EXPECT_EQ(imported.value("model.num_layers"), "32");
  EXPECT_EQ(imported.value("model.moe.num_experts"), "8");
  EXPECT_EQ(imported.value("model.moe.top_k"), "2");
  EXPECT_EQ(imported.value("model.moe.ffn_hidden_size"), "14336");
  EXPECT_EQ(imported.value("software_options.grouped_gemm"), "grouped");
  EXPECT_EQ(imported.value("precision.compute"), "fp8-delayed");  // and not that of dtype
  EXPECT_EQ(imported.value("recompute"), "selective");
  EXPECT_EQ(imported.value("batch.global"), "64");
  EXPECT_EQ(imported.value("measured.step_time"), "2.5s");
  EXPECT_EQ(imported.effect("sa_block_q"), "none");
  EXPECT_EQ(imported.effect("lora.lora_rank"), "none");
}

TEST(MaxTextLog, StopsAtWhatAScenarioDoesNotHave) {
  const auto problems = [](const std::string& more) {
    return import_log(maxtext_log(more)).problems();
  };
  EXPECT_NE(problems("Config param new_kernel: magic\n").find("error: new_kernel: not understood"),
            std::string::npos);
  EXPECT_NE(problems("Config param use_dpo: True\n").find("error: use_dpo: "), std::string::npos);
  EXPECT_NE(problems("Config param sparse_matmul: False\nConfig param num_experts: 8\n"
                     "Config param num_experts_per_tok: 2\n")
                .find("error: sparse_matmul: "),
            std::string::npos);
  const Imported light = import_log(maxtext_log("Config param mu_dtype: bfloat16\n"));
  EXPECT_EQ(light.value("precision.optimizer.state_bytes"), "10B");
}

TEST(BridgeLog, IsReadInItsSections) {
  const Imported imported = import_named({"megatron-bridge-llama-3.2-1b.log"}, kHost);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.result.model->parameters, 1'235'814'400);
  // The model could read 131,072 tokens; the run had sequences of 1,024.
  EXPECT_EQ(imported.value("model.sequence_length"), "1024");
  EXPECT_EQ(imported.line("model.sequence_length"), 14);
  EXPECT_EQ(imported.value("model.vocab_size"), "128256");  // should_pad_vocab is false
  EXPECT_EQ(imported.value("layout.sharding"), "zero1");
  EXPECT_EQ(imported.value("overlap.data"), "true");
  EXPECT_EQ(imported.value("precision.gradient_dtype"), "fp32");
  EXPECT_EQ(imported.value("measured.step_time"), "4.6478s");
  EXPECT_NE(imported.why("measured.step_time").find("the only time"), std::string::npos);
}

TEST(BridgeLog, SaysWhichLayersHaveAdapters) {
  const Imported imported = import_log(
      replaced(config_text("megatron-bridge-llama-3.2-1b.log"), "peft: null\n",
               "peft:\n  _target_: megatron.bridge.peft.lora.LoRA\n  dim: 16\n  target_modules:\n"
               "  - linear_qkv\n  - '*.layers.0.*.linear_fc2'\n"));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.lora.rank"), "16");
  EXPECT_EQ(imported.value("model.lora.targets"), "[qkv, fc2]");
  const Imported scaled =
      import_log(replaced(config_text("megatron-bridge-llama-3.2-1b.log"), "peft: null\n",
                          "peft:\n  _target_: megatron.bridge.peft.dora.DoRA\n  dim: 16\n"));
  EXPECT_EQ(scaled.problems(), "");
  EXPECT_EQ(scaled.value("model.lora.kind"), "dora");
}

TEST(BridgeLog, IsRefusedWhereItWouldBeWrong) {
  const std::string log = config_text("megatron-bridge-llama-3.2-1b.log");
  const auto problems = [&log](const std::string& old, const std::string& now) {
    return import_log(replaced(log, old, now)).problems();
  };
  EXPECT_NE(problems("peft: null\n", "peft:\n  _target_: megatron.bridge.peft.vera.VeRA\n")
                .find("error: peft._target_: `megatron.bridge.peft.vera.VeRA` trains part"),
            std::string::npos);
  EXPECT_NE(problems("  add_qkv_bias: false\n", "[rank1] a warning\n")
                .find("a.log:48:1: error: the printed configuration is cut off here"),
            std::string::npos);
  EXPECT_NE(problems("num_layers: 16", "experimental_attention_variant: dsa\n  num_layers: 16")
                .find("is sparse or linear attention"),
            std::string::npos);
  EXPECT_NE(problems("gated_linear_unit: true", "gated_linear_unit: false")
                .find("is an activation that a scenario does not have"),
            std::string::npos);
}

TEST(BridgeLog, HasItsStagesAsLists) {
  std::string log = config_text("megatron-bridge-llama-3.2-1b.log");
  log = replaced(log, "  pipeline_model_parallel_size: 1\n", "  pipeline_model_parallel_size: 2\n");
  std::string stages = "pipeline_model_parallel_layout:\n  - - embedding\n";
  for (int layer = 0; layer < 7; ++layer) {
    stages += "    - decoder\n";
  }
  stages += "  - - decoder\n";
  for (int layer = 0; layer < 8; ++layer) {
    stages += "    - decoder\n";
  }
  stages += "    - loss";
  const Imported imported =
      import_log(replaced(log, "pipeline_model_parallel_layout: null", stages));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.stage_layers"), "[7, 9]");
}

TEST(BridgeConfig, NamesRecipesBeforeTheSetUp) {
  const std::string log = config_text("megatron-bridge-llama-3.2-1b.log");
  const std::size_t begin = log.find("_target_");
  std::string yaml = log.substr(begin, log.find("\n\n-----") + 1 - begin);
  const std::size_t recipe = yaml.find("mixed_precision:\n");
  yaml.replace(recipe, yaml.find("model:\n") - recipe,
               "mixed_precision: bf16_with_fp8_current_scaling_mixed\n");
  const Imported imported = import_texts({{"run_config.yaml", yaml}}, kHost);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.result.files.front().format, ConfigFormat::megatron_bridge);
  EXPECT_EQ(imported.value("precision.compute"), "fp8-tensorwise");
}

TEST(TrainerLog, HoldsTheModelTheBatchAndTheSharding) {
  const Imported imported = import_named({"trainer-llama-3.2-1b-fsdp.log"}, kGpu);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.result.model->parameters, 1'235'814'400);
  EXPECT_EQ(imported.value("cluster.gpus"), "24");
  EXPECT_EQ(imported.value("layout.sharding"), "zero3");
  EXPECT_EQ(imported.value("recompute"), "full");
  EXPECT_EQ(imported.value("precision.compute"), "bf16");
  EXPECT_EQ(imported.value("model.sequence_length"), "8192");
  // The bar: 8 to 96 and 96 to 100 of 100 steps; the run took 425 s with its checkpoint.
  EXPECT_EQ(imported.value("measured.step_time"), "3.66479s");
}

TEST(TrainerLog, OfFrozenWeightsIsRefused) {
  const std::string log = config_text("trainer-llama-3.2-1b-fsdp.log");
  EXPECT_NE(import_log(replaced(log, "51,492,278", "5,636,096"))
                .problems()
                .find("error: trainable_parameters: 5636096 of the model's 1235814400 parameters"),
            std::string::npos);
  EXPECT_NE(import_log("trainable params: 20,185,088 || all params: 8,312,351,744\n" + log)
                .problems()
                .find("a.log:1:1: error: 20185088 of 8312351744 parameters are trained"),
            std::string::npos);
}

TEST(TrainerLog, OfRanksThatShareALayerIsRefused) {
  const std::string log = config_text("trainer-llama-3.2-1b-fsdp.log");
  EXPECT_NE(import_log(replaced(log, "fp16=False,\n", "fp16=False,\ntp_size=8,\n"))
                .problems()
                .find("tensor parallelism of the Trainer is not read"),
            std::string::npos);
  EXPECT_NE(import_log(replaced(log, "51,492,278", "51,492,278 (per device)"))
                .problems()
                .find("is of PaddleNLP's Trainer"),
            std::string::npos);
}

TEST(TrainerLog, WithoutItsArgumentsAsksForTheSharding) {
  std::string log = config_text("trainer-llama-3.2-1b-fsdp.log");
  log = log.substr(log.find("[INFO|configuration"));
  EXPECT_TRUE(import_texts({{"a.log", log}}, kGpu).asks("layout.sharding"));
  const Imported beside =
      import_texts({{"a.log", log}, {"ds.json", R"({"zero_optimization": {"stage": 2}})"}}, kGpu);
  EXPECT_EQ(beside.problems(), "");
  EXPECT_EQ(beside.value("layout.sharding"), "zero2");
}

// A bar is in whole seconds: without long stretches the time of the run is divided by its steps.
TEST(TrainerLog, OfAShortRunHasTheMeanOfTheRun) {
  const std::string log =
      "***** Running training *****\n  Total optimization steps = 10\n"
      "100%|##| 10/10 [00:08<00:00,  1.2it/s]\n"
      "{'train_runtime': '8.5', 'train_samples_per_second': '1.2', 'train_loss': '1.0'}\n";
  const auto steps = steps_in(log, ConfigFormat::trainer_log);
  ASSERT_TRUE(steps.has_value());
  EXPECT_TRUE(steps->whole_run);
  EXPECT_DOUBLE_EQ(in_seconds(steps->median), 0.85);
}

TEST(NanotronLog, IsTheReprOfItsConfiguration) {
  const Imported imported = import_named({"nanotron-tiny-llama.log"}, kGpu);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  // 256 x 16 once, two layers of 4 x 16 x 16 + 3 x 16 x 64 + 2 x 16, a norm: nanotron says 12.4K.
  EXPECT_EQ(imported.result.model->parameters, 12'368);
  EXPECT_EQ(imported.value("model.vocab_size"), "256");
  EXPECT_EQ(imported.value("model.sequence_length"), "256");
  EXPECT_EQ(imported.value("layout.data"), "1");
  EXPECT_EQ(imported.value("batch.global"), "2");
  EXPECT_EQ(imported.value("layout.sharding"), "none");
  EXPECT_EQ(imported.value("precision.compute"), "bf16");
  EXPECT_EQ(imported.value("training.steps"), "15");
  EXPECT_EQ(imported.value("measured.step_time"), "4.71s");
}

TEST(NanotronLog, IsRefusedWhereItWouldBeWrong) {
  const std::string log = config_text("nanotron-tiny-llama.log");
  EXPECT_NE(import_log(replaced(log, "is_llama_config=True", "is_starcoder2_config=True"))
                .problems()
                .find("neither is_llama_config nor"),
            std::string::npos);
  EXPECT_NE(import_log(replaced(log, "expert_parallel_size=1", "expert_parallel_size=4"))
                .problems()
                .find("experts of nanotron are not read"),
            std::string::npos);
  const std::size_t cut = log.find("make_vocab_size");
  EXPECT_NE(import_log(log.substr(0, cut)).problems().find("the printed configuration breaks off"),
            std::string::npos);
}

TEST(NanotronConfig, IsItsYaml) {
  const Imported imported = import_texts(
      {{"config.yaml",
        "model:\n  dtype: bfloat16\n  make_vocab_size_divisible_by: 64\n  model_config:\n"
        "    hidden_act: silu\n    hidden_size: 2048\n    intermediate_size: 8192\n"
        "    is_llama_config: true\n    max_position_embeddings: 4096\n    num_attention_heads: "
        "32\n"
        "    num_hidden_layers: 24\n    num_key_value_heads: 32\n    tie_word_embeddings: true\n"
        "    vocab_size: 49152\noptimizer:\n  zero_stage: 1\n  accumulate_grad_in_fp32: true\n"
        "parallelism:\n  dp: 4\n  expert_parallel_size: 1\n  pp: 2\n  pp_engine: 1f1b\n  tp: 2\n"
        "  tp_mode: REDUCE_SCATTER\ntokens:\n  batch_accumulation_per_replica: 8\n"
        "  micro_batch_size: 2\n  sequence_length: 2048\n  train_steps: 1000\n"}},
      kGpu);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.value("layout.schedule"), "1f1b");
  EXPECT_EQ(imported.value("layout.sequence_parallel"), "true");
  EXPECT_EQ(imported.value("batch.global"), "64");
  EXPECT_EQ(imported.value("layout.sharding"), "zero1");
}

TEST(DeepSpeedLog, HoldsWhatWasSettled) {
  const Imported imported = import_named({"deepspeed-zero1-offload.log"}, kGpu);
  EXPECT_EQ(imported.value("batch.global"), "8");
  EXPECT_EQ(imported.value("layout.sharding"), "zero1");
  EXPECT_EQ(imported.value("offload.optimizer"), "cpu");
  EXPECT_EQ(imported.value("precision.compute"), "fp16");
  EXPECT_EQ(imported.value("measured.step_time"), "0.0358925s");  // 8 / 222.88787
  EXPECT_TRUE(imported.asks("model.num_layers"));
}

TEST(DeepSpeedLog, OfAPipelinePrintsTheTime) {
  const auto steps = steps_in(
      "[INFO] [config.py:964:print]   train_batch_size ............. 32\n"
      "steps: 1 loss: 10.7 iter time (s): 4.337 samples/sec: 7.378\n"
      "steps: 2 loss: 10.6521 iter time (s): 1.337 samples/sec: 23.934\n",
      ConfigFormat::deepspeed_log);
  ASSERT_TRUE(steps.has_value());
  EXPECT_DOUBLE_EQ(in_seconds(steps->median), 1.337);
}

TEST(DeepSpeedLog, OfEarlyReleasesPrintsTheMeanRate) {
  const std::string log =
      "[INFO] [config.py:964:print]   train_batch_size ............. 1670\n"
      "[INFO] [timer.py:189:stop] 0/40, SamplesPerSec=83.5, MemAllocated=0.26GB\n"
      "[INFO] [timer.py:189:stop] 0/50, SamplesPerSec=83.5, MemAllocated=0.26GB\n";
  EXPECT_EQ(recognise(log), ConfigFormat::deepspeed_log);
  const auto steps = steps_in(log, ConfigFormat::deepspeed_log);
  ASSERT_TRUE(steps.has_value());
  EXPECT_DOUBLE_EQ(in_seconds(steps->median), 20.0);
}

// As NeMo 1 prints it: the YAML is indented, the bar is drawn over itself.
TEST(NemoLog, HoldsItsConfigurationAndTheBar) {
  std::string log =
      "[NeMo I 2024-05-07 13:26:13 megatron_gpt_pretraining:34] \n    \n"
      "    ************** Experiment configuration ***********\n"
      "[NeMo I 2024-05-07 13:26:13 megatron_gpt_pretraining:35] \n";
  const std::string yaml = config_text("nemo-gpt3-175b.yaml");
  for (std::size_t at = 0; at < yaml.size();) {
    const std::size_t end = std::min(yaml.find('\n', at), yaml.size());
    log += "    " + yaml.substr(at, end - at) + "\n";
    log += log.size() % 7 == 0 ? "[W ProcessGroupNCCL.cpp:1692] another rank\n" : "";
    at = end + 1;
  }
  log += "[NeMo W 2024-05-07 13:26:14 nemo_logging:349] a warning\n      with a second line\n";
  for (const char* step :
       {"0.000, train_step_timing in s=99.10", "1.000, train_step_timing in s=9.10",
        "1.000, train_step_timing in s=9.10", "2.000, train_step_timing in s=9.30"}) {
    log += "\rEpoch 0: :   0%|  | 6/300000 [00:17<237:34:56, v_num=1, global_step=" +
           std::string(step) + "]";
  }
  const Imported imported =
      import_texts({{"nemo.out", log + "\n"}}, {{"cluster.gpu", "a100-sxm-80gb", "--gpu"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.pipeline"), "8");
  EXPECT_EQ(imported.value("measured.step_time"), "9.2s");
}

TEST(NemoLog, OfNemo2HasStepsAlone) {
  const auto steps = steps_in(
      "Training epoch 0, iteration 9/14 | lr: 1.6e-06 | global_batch_size: 128 | global_step: 9 | "
      "reduced_train_loss: 11.97 | train_step_timing in s: 8.1 | consumed_samples: 1280\n"
      "Training epoch 0, iteration 10/14 | lr: 1.649e-06 | global_batch_size: 128 | global_step: "
      "10 | reduced_train_loss: 11.97 | train_step_timing in s: 3.684 | consumed_samples: 1408\n",
      ConfigFormat::nemo_log);
  ASSERT_TRUE(steps.has_value());
  EXPECT_DOUBLE_EQ(in_seconds(steps->median), 3.684);
}

TEST(Logs, OfEveryProgramAreRecognised) {
  const std::vector<std::pair<const char*, ConfigFormat>> logs = {
      {"megatron-core-dense-8gpu.log", ConfigFormat::megatron_log},
      {"megatron-bridge-llama-3.2-1b.log", ConfigFormat::megatron_bridge_log},
      {"trainer-llama-3.2-1b-fsdp.log", ConfigFormat::trainer_log},
      {"nanotron-tiny-llama.log", ConfigFormat::nanotron_log},
      {"deepspeed-zero1-offload.log", ConfigFormat::deepspeed_log}};
  for (const auto& [name, format] : logs) {
    EXPECT_EQ(recognise(config_text(name)), format) << name;
  }
}

}  // namespace
}  // namespace orrery::import_config::testing
