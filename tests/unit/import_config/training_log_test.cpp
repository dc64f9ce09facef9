// What a run has printed of itself becomes a scenario with its measured step.

#include "sim/import_config/logs/training_log.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/base/random.hpp"
#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

const Given kMachine = {{"cluster.gpu", "h100-sxm-80gb", "--gpu"}};

TEST(MegatronLog, StatesTheSettingsAndTheStep) {
  const Imported imported = import_named({"megatron-core-dense-8gpu.log"}, kMachine);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.value("model.num_layers"), "56");
  EXPECT_EQ(imported.value("model.num_query_groups"), "24");
  EXPECT_EQ(imported.value("model.head_dim"), "64");
  EXPECT_EQ(imported.value("model.vocab_size"), "50688");  // padded, as the run printed it
  EXPECT_EQ(imported.value("model.activation"), "swiglu");
  EXPECT_EQ(imported.value("model.tie_embeddings"), "false");
  EXPECT_EQ(imported.value("cluster.gpus"), "8");
  EXPECT_EQ(imported.value("cluster.network.preset"), "");  // one node
  EXPECT_EQ(imported.value("layout.tensor"), "4");
  EXPECT_EQ(imported.value("layout.pipeline"), "2");
  EXPECT_EQ(imported.value("layout.sharding"), "zero1");
  EXPECT_EQ(imported.value("batch.global"), "512");
  // Steps 14 to 17: the first in the log is left out.
  EXPECT_EQ(imported.value("measured.step_time"), "419.104s");
  EXPECT_EQ(imported.effect("lr"), "none");
}

TEST(MegatronLog, OfMegatronDeepSpeedHasOlderNames) {
  const Imported imported = import_texts(
      {{"ds.log",
        "[default0]:  bf16 ............................................ True\n"
        "[default0]:  checkpoint_activations .......................... True\n"
        "[default0]:  deepspeed ....................................... True\n"
        "[default0]:  ffn_hidden_size ................................. 57344\n"
        "[default0]:  global_batch_size ............................... 2048\n"
        "[default0]:  hidden_size ..................................... 14336\n"
        "[default0]:  micro_batch_size ................................ 2\n"
        "[default0]:  num_attention_heads ............................. 112\n"
        "[default0]:  num_experts ..................................... [1]\n"
        "[default0]:  num_layers ...................................... 70\n"
        "[default0]:  embed_layernorm ................................. True\n"
        "[default0]:  pad_vocab_size_to ............................... 250880\n"
        "[default0]:  pipeline_model_parallel_size .................... 12\n"
        "[default0]:  position_embedding_type ......................... "
        "PositionEmbeddingType.alibi\n"
        "[default0]:  rampup_batch_size ............................... "
        "['192', '16', '9_765_625']\n"
        "[default0]:  seq_length ...................................... 2048\n"
        "[default0]:  tensor_model_parallel_size ...................... 4\n"
        "[default0]:  train_samples ................................... 220000000\n"
        "[default0]:  world_size ...................................... 384\n"
        "[default0]:  zero_stage ...................................... 0\n"
        "[default0]:[config.py:1008:print]   train_batch_size ......... 2048\n"
        "[default7]: iteration    1/  100 | elapsed time per iteration (s): 200.00 | global batch "
        "size:  2048 | TFLOPs: 80.00 |\n"
        "[default7]: iteration    2/  100 | elapsed time per iteration (s): 105.00 | global batch "
        "size:  2048 | TFLOPs: 150.00 |\n"}},
      {{"cluster.gpu", "a100-sxm-80gb", "--gpu"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.result.model->parameters, 176'247'271'424);  // the released weights of BLOOM
  EXPECT_EQ(imported.value("model.position"), "alibi");
  EXPECT_EQ(imported.value("recompute"), "full");
  EXPECT_EQ(imported.value("layout.sharding"), "zero1");
  EXPECT_EQ(imported.value("training.batch_ramp.samples"), "9765625");
  EXPECT_EQ(imported.value("cluster.network.preset"), "infiniband-200g");
  EXPECT_EQ(imported.value("measured.step_time"), "105s");
}

TEST(TorchtitanLog, StatesModelMeshAndBatch) {
  const std::string head = "[rank0]:[titan] 2025-07-21 15:57:30,000 - root - INFO - ";
  std::string log = head + "Building 2-D device mesh with ['dp_shard', 'tp'], [32, 8]\n" + head +
                    "CUDA capacity: NVIDIA H100 with 94.99GiB memory\n" + head +
                    "Building llama3 70B with TransformerModelArgs(dim=8192, n_layers=80)\n" +
                    head + "Applied full activation checkpointing to the model\n" + head +
                    "Compiling each TransformerBlock with torch.compile\n" + head +
                    "Trainer is initialized with local batch size 16, global batch size 512, "
                    "gradient accumulation steps 1, sequence length 8192, total steps 1000 (warmup "
                    "200)\n";
  for (const char* tps : {"100", "800", "810", "820"}) {
    log += head +
           "step:  1  loss:  4.9925  grad_norm:  2.6422  memory: 60.00GiB(63.16%)  tps: " + tps +
           "  tflops: 390.15  mfu: 39.45%\n";
  }
  const Imported imported =
      import_texts({{"titan.log", log}}, {{"cluster.gpu", "h100-sxm-96gb-500w", "--gpu"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.result.model->parameters, 70'553'706'496);
  EXPECT_EQ(imported.value("layout.tensor"), "8");
  EXPECT_EQ(imported.value("layout.sharding"), "zero3");
  EXPECT_EQ(imported.value("batch.global"), "512");
  EXPECT_EQ(imported.value("recompute"), "full");
  EXPECT_EQ(imported.value("compile"), "true");
  // 512 x 8,192 tokens / (810 tokens/s x 256 GPUs) = 20.2272 s
  EXPECT_EQ(imported.value("measured.step_time"), "20.2272s");
  EXPECT_EQ(imported.value("cluster.gpus"), "256");
  const Imported alone = import_texts({{"titan.log", log}});
  EXPECT_NE(report_text(alone.result).find("the log says `NVIDIA H100`"), std::string::npos);
}

// Since 2026 recomputation has other names; what a selective one recomputes is never printed.
TEST(TorchtitanLog, SaysWhatItDoesNotKnow) {
  const std::string log = config_text("torchtitan-llama3-8b-8gpu.log");
  const Given given = {{"cluster.gpu", "h200-sxm", "--gpu"}};
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string text = log;
    text.replace(text.find(old), old.size(), now);
    return import_texts({{"a.log", text}}, given);
  };
  EXPECT_TRUE(import_texts({{"a.log", log}}, given).asks("recompute"));
  EXPECT_TRUE(with("Applied selective", "Applied SelectiveAC").asks("recompute"));
  EXPECT_EQ(with("Applied selective", "Applied FullAC").value("recompute"), "full");
  EXPECT_TRUE(with("Applied selective", "Applied MemoryBudgetAC").asks("recompute"));
  EXPECT_NE(with("['dp_shard'], [8]", "['dp_shard_mod_ep', 'dp_shard_in_ep'], [2, 4]")
                .problems()
                .find("a.log:2:1: error: this mesh has axes that do not say the degrees"),
            std::string::npos);
}

TEST(Logs, OfAnotherModelOrWithoutSettingsAreRefused) {
  const std::string step =
      " iteration 2/ 9 | elapsed time per iteration (ms): 100.0 | global batch size: 8 |\n";
  EXPECT_FALSE(import_texts({{"a.log", step}}, kMachine).result.complete());
  EXPECT_NE(import_texts({{"a.log", "building BERT model ...\n" + step}})
                .problems()
                .find("a.log:1:1: error: building BERT model"),
            std::string::npos);
}

// The batch of most steps counts: those of a ramp are shorter.
TEST(LoggedSteps, AreThoseOfTheCommonestBatch) {
  std::string log;
  for (int i = 0; i < 4; ++i) {
    log += " iteration 1/ 9 | elapsed time per iteration (ms): 50.0 | global batch size: 4 |\n";
  }
  for (int i = 0; i < 9; ++i) {
    log += " iteration 1/ 9 | elapsed time per iteration (ms): 10" + std::to_string(i) +
           ".0 | throughput per GPU (TFLOP/s/GPU): 400.0 | global batch size: 8 |\n";
  }
  const auto steps = steps_in(log, ConfigFormat::megatron_log);
  ASSERT_TRUE(steps.has_value());
  EXPECT_EQ(steps->count, 9U);
  EXPECT_DOUBLE_EQ(in_seconds(steps->median), 0.104);
  EXPECT_DOUBLE_EQ(steps->tflops.value_or(0.0), 400.0);
  EXPECT_EQ(steps->first.line, 5);
  EXPECT_FALSE(steps_in("nothing\n", ConfigFormat::megatron_log).has_value());
}

std::string timed(const std::string& time) {
  return fmt::format(" iteration 1/ 9 | elapsed time per iteration (ms): {} |\n", time);
}

TEST(LoggedNumbers, AreWholeWords) {
  const auto count_of = [](const std::string& time) {
    const auto steps = steps_in(timed("9") + timed("5") + timed(time), ConfigFormat::megatron_log);
    return steps ? steps->count : 0;
  };
  for (const char* whole : {"5", "5.25", "1,005.5", "5e1", "5.0ms", "5."}) {
    EXPECT_EQ(count_of(whole), 2U) << whole;
  }
  for (const char* broken : {"419_104.0", "5.2.1", "0x10", "12-13", "5e1e1", "-5", "nan", ".5"}) {
    EXPECT_EQ(count_of(broken), 1U) << broken;
  }
}

TEST(LoggedNumbers, OfStepsAreTimesThatAStepTakes) {
  const auto problem_of = [](const std::string& time) {
    Diagnostics diagnostics;
    const ConfigFile file = {"a.log", timed(time), ConfigFormat::megatron_log};
    EXPECT_FALSE(steps_of_log(file, {}, diagnostics));
    return to_string(diagnostics);
  };
  EXPECT_EQ(problem_of("1e308"),
            "a.log:1:1: error: a step of 1e+305 s is none that a GPU can take (1 us to 30 "
            "d)\n");
  EXPECT_EQ(problem_of("0.0"),
            "a.log:1:1: error: a step of 0 s is none that a GPU can take (1 us to 30 d)\n");
  const Imported imported = import_texts({{"a.log", "using world size: 8\n" + timed("1e308")}});
  EXPECT_NE(imported.problems().find("a step of 1e+305 s"), std::string::npos);
}

std::optional<SlowerSteps> slower_in(const std::vector<double>& times) {
  std::string log;
  for (std::size_t i = 0; i < times.size(); ++i) {
    log += fmt::format(
        " iteration {}/ 900 | elapsed time per iteration (ms): {:.1f} | global batch size: 64 |\n",
        i + 1, times[i]);
  }
  Diagnostics diagnostics;
  return steps_of_log(ConfigFile{"a.log", log, ConfigFormat::megatron_log}, {}, diagnostics)
      ->slower;
}

TEST(SlowerSteps, AreNamedWhereTheyBeginAndStay) {
  RandomStream random(20261127, 0, Purpose::property_test);
  const auto noisy = [&random](double level) { return level * (0.98 + 0.04 * random.uniform01()); };
  std::vector<double> limping;
  std::vector<double> steady;
  std::vector<double> spiked;
  for (int i = 0; i < 40; ++i) {
    limping.push_back(noisy(i < 25 ? 1000.0 : 1400.0));
    steady.push_back(noisy(1000.0));
    spiked.push_back(noisy(i % 9 == 4 ? 3000.0 : 1000.0));
  }
  const auto slower = slower_in(limping);
  ASSERT_TRUE(slower);
  EXPECT_EQ(slower->from, 26);
  EXPECT_EQ(slower->line, 26);
  EXPECT_NEAR(in_seconds(slower->before), 1.0, 0.03);
  EXPECT_NEAR(in_seconds(slower->since), 1.4, 0.03);
  EXPECT_FALSE(slower_in(steady));
  EXPECT_FALSE(slower_in(spiked));
  std::reverse(limping.begin(), limping.end());
  EXPECT_FALSE(slower_in(limping)) << "faster is no limp";
  EXPECT_FALSE(slower_in({1000.0, 1000.0, 1400.0, 1400.0})) << "too few to tell";
}

// Steps that were skipped are printed as 0.
TEST(LoggedNumbers, OfZeroAreLeftOutBesideOthers) {
  const auto steps = steps_in(timed("9") + timed("5") + timed("0.0"), ConfigFormat::megatron_log);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->count, 1U);
}

}  // namespace
}  // namespace orrery::import_config::testing
