// A word that a reader knows no meaning for is asked for, never what the program takes where its
// files are silent.

#include <gtest/gtest.h>

#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

std::string megatron(const std::string& more) {
  return "python pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
         "--seq-length 4096 --vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size "
         "64 " +
         more + "\n";
}

std::string neox(const std::string& more) {
  return "pipe_parallel_size: 1\nnum_layers: 32\nhidden_size: 4096\nnum_attention_heads: 32\n"
         "seq_length: 2048\nprecision: bfloat16\ntrain_micro_batch_size_per_gpu: 1\n" +
         more + "\n";
}

std::string titan_with(const std::string& more) {
  return "model.name = \"llama3\"\nmodel.flavor = \"8B\"\n" + more +
         "\n[job]\ndump_folder = \"out\"\n";
}

constexpr const char* kLlama =
    R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000,
    "torch_dtype": "bfloat16"})";

struct Word {
  std::string name;
  std::string file;
  std::string text;
  std::string path;  // of the scenario
};

class UnknownWords : public ::testing::TestWithParam<Word> {};

TEST_P(UnknownWords, AreAskedFor) {
  const Imported imported = import_texts({{GetParam().file, GetParam().text}});
  EXPECT_TRUE(imported.asks(GetParam().path)) << imported.problems();
  EXPECT_EQ(imported.value(GetParam().path), "");
}

INSTANTIATE_TEST_SUITE_P(
    Every, UnknownWords,
    ::testing::Values(
        Word{"RelativePositions", "a.sh", megatron("--position-embedding-type relative"),
             "model.position"},
        Word{"Normalization", "a.sh", megatron("--normalization DyT"), "model.norm"},
        Word{"PositionsOfNeox", "a.yml", neox("pos_emb: sinusoidal"), "model.position"},
        Word{"NormOfNeox", "a.yml", neox("norm: scalenorm"), "model.norm"},
        Word{"ActivationOfNeox", "a.yml", neox("activation: snake"), "model.activation"},
        Word{"TypeOfTorchtitan", "a.toml",
             titan_with("training.mixed_precision_param = \"float16\""), "precision.compute"},
        Word{"SavesOfTorchtitan", "a.toml",
             titan_with(
                 "checkpoint.enable = true\ncheckpoint.interval = 100\ncheckpoint.async_mode = "
                 "\"later\""),
             "checkpoint.mode"},
        Word{"StateOfMaxText", "a.yml",
             "base_emb_dim: 4096\nbase_num_decoder_layers: 32\nper_device_batch_size: 1\n"
             "mu_dtype: int8\n",
             "precision.optimizer.state_bytes"},
        Word{"ResourcesOfSlurm", "a.sh",
             "#!/bin/bash\n#SBATCH --gpus-per-node=h100\nsrun " + megatron(""),
             "cluster.gpus_per_node"}),
    [](const auto& info) { return info.param.name; });

TEST(KnownWords, OfMegatronSetTheModel) {
  EXPECT_EQ(
      import_texts({{"a.sh", megatron("--position-embedding-type yarn")}}).value("model.position"),
      "rotary");
  // Widths that the switch alone takes: megatron/training/arguments.py.
  const Imported latent = import_texts({{"a.sh", megatron("--multi-latent-attention")}});
  EXPECT_EQ(latent.value("model.mla.kv_lora_rank"), "32");
  EXPECT_EQ(latent.value("model.mla.qk_nope_head_dim"), "128");
}

TEST(KnownWords, OfNeoxNameGates) {
  EXPECT_EQ(import_texts({{"a.yml", neox("activation: bilinear")}}).value("model.activation"),
            "swiglu");
  EXPECT_EQ(import_texts({{"a.yml", neox("activation: mish")}}).value("model.activation"), "gelu");
}

TEST(KnownWords, OfSlurmCountGpusAmongOtherResources) {
  const std::string script = "#SBATCH --nodes=2\n#SBATCH --gres=gpu:h100:4,nvme:2\nsrun ";
  EXPECT_EQ(import_texts({{"a.sh", "#!/bin/bash\n" + script + megatron("")}})
                .value("cluster.gpus_per_node"),
            "4");
}

TEST(KnownWords, ConvertersOfExpertsAloneEndTheImport) {
  const Imported imported =
      import_texts({{"a.toml", titan_with("model.converters = [\"quantize.grouped_mm.float8\"]")}});
  EXPECT_EQ(imported.effect("model.converters"), "large");
}

// Without a key that ms-swift alone has its command is still not Megatron-LM's.
TEST(KnownWords, OfSwiftTakeItsDefaults) {
  const Imported imported =
      import_texts({{"config.json", kLlama},
                    {"a.sh",
                     "megatron sft --model a/b --tensor_model_parallel_size 2 "
                     "--micro_batch_size 1 --torch_dtype bfloat16"}});
  EXPECT_EQ(imported.value("layout.sharding"), "zero1");
  EXPECT_EQ(imported.value("precision.compute"), "bf16");
}

TEST(KnownWords, AutoOfAxolotlIsBf16) {
  const Imported imported =
      import_texts({{"config.json", kLlama},
                    {"a.yaml",
                     "base_model: a/b\nsequence_len: 2048\nmicro_batch_size: 1\n"
                     "bf16: auto\noptimizer: adamw_torch_fused\n"}});
  EXPECT_EQ(imported.value("precision.compute"), "bf16");
  EXPECT_EQ(imported.origin("precision.compute"), "assumed");
}

TEST(FlowStyle, IsRecognisedAsBlocksAre) {
  EXPECT_EQ(recognise("{num_layers: 2, hidden_size: 64}\n"), ConfigFormat::megatron_yaml);
  EXPECT_EQ(recognise("{parallelism: {dp: 8}, tokens: {sequence_length: 2048},\n model: "
                      "{model_config: {is_llama_config: true}}}\n"),
            ConfigFormat::nanotron);
  EXPECT_EQ(recognise("{\"num_hidden_layers\": 2, \"hidden_size\": 64}\n"),
            ConfigFormat::hugging_face);
}

TEST(Tables, SecondsSinceTheBeginTellTheTimeOfAStep) {
  std::string rows = "_step,_runtime,train/loss\n";
  for (int step = 1; step < 40; ++step) {
    rows += std::to_string(step) + "," + std::to_string(100 + 2 * step) + ",2.5\n";
  }
  EXPECT_EQ(import_texts({{"run.csv", rows}}).value("measured.step_time"), "2s");
}

TEST(SaidByALog, IsAnotherGpu) {
  ConfigFile log;
  log.name = "a.log";
  log.text =
      "[rank0]:[titan] 2025-03-01 11:59:00,100 - root - INFO - CUDA capacity: NVIDIA "
      "A100-SXM4-80GB with 79.25GiB memory\n";
  for (int step = 1; step < 20; ++step) {
    log.text += "[rank0]:[titan] 2025-03-01 12:00:" + std::to_string(step + 10) +
                ",000 - root - INFO - step: " + std::to_string(step) +
                "  loss:  8.0  memory: 40.00GiB(50.53%)  tps: 8,192  mfu: 30.00%\n";
  }
  const auto gpu_of = [&log](const std::string& gpu) {
    for (const ImportedSetting& said : said_by_log(log, gpu)) {
      if (said.path == "cluster.gpu") {
        return said.value;
      }
    }
    return std::string();
  };
  EXPECT_NE(gpu_of("h100-sxm-80gb").find("A100"), std::string::npos) << gpu_of("h100-sxm-80gb");
  EXPECT_EQ(gpu_of("a100-sxm-80gb"), "");
}

}  // namespace
}  // namespace orrery::import_config::testing
