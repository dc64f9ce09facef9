// A log without the arguments of its run is no log of defaults: what it says is used and compared,
// what it does not say is asked for.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

const Given kOneGpu = {{"cluster.gpu", "h100-sxm-80gb", "--gpu"}};

Given with(Given given, const char* key, const char* value) {
  given.push_back({key, value, "--set"});
  return given;
}

const std::string kMegatronSteps =
    " [2026-01-05 09:00:00] iteration 42/ 100 | consumed samples: 5376 | elapsed time per "
    "iteration (ms): 5500.0 | global batch size: 128 |\n"
    " [2026-01-05 09:00:06] iteration 43/ 100 | consumed samples: 5504 | elapsed time per "
    "iteration (ms): 5500.0 | global batch size: 128 |\n";
const std::string kMegatronWorld =
    "using world size: 16, data-parallel size: 8, context-parallel size: 1, tensor-model-parallel "
    "size: 2, encoder-tensor-model-parallel size: 0, pipeline-model-parallel size: 1\n";
const std::string kLlama =
    R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "vocab_size": 32000,
        "num_attention_heads": 32, "intermediate_size": 11008, "tie_word_embeddings": false})";

TEST(SilentLog, OfMegatronStatesItsDegreesAndNoDefaults) {
  const Imported imported =
      import_texts({{"a.log", kMegatronWorld + kMegatronSteps}, {"config.json", kLlama}},
                   with(kOneGpu, "model.sequence_length", "4096"));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.tensor"), "2");
  EXPECT_EQ(imported.value("layout.pipeline"), "1");
  EXPECT_EQ(imported.value("cluster.gpus"), "16");
  EXPECT_EQ(imported.value("batch.global"), "128");
  EXPECT_EQ(imported.value("model.activation"), "swiglu");
  EXPECT_EQ(imported.value("model.linear_bias"), "");
  EXPECT_EQ(imported.value("overlap.data"), "");
  EXPECT_TRUE(imported.asks("layout.sharding"));
  EXPECT_TRUE(imported.asks("recompute"));
  EXPECT_NE(report_text(imported.result).find("the log does not hold what the program was started"),
            std::string::npos);
}

TEST(SilentLog, ContradictsAnotherCluster) {
  EXPECT_NE(import_texts({{"a.log", kMegatronWorld + kMegatronSteps}}, machines(4))
                .problems()
                .find("a.log:1:1: error: using world size: says 16 ranks, but the cluster has 32"),
            std::string::npos);
}

TEST(SilentLog, BesideItsArgumentsIsOfTheSameJob) {
  const std::string script =
      "torchrun pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
      "--seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size "
      "256 --bf16 --tensor-model-parallel-size 2\n";
  const Imported imported = import_texts({{"train.sh", script}, {"a.log", kMegatronSteps}},
                                         with(machines(2), "model.vocab_size", "32000"));
  EXPECT_NE(imported.problems().find("128"), std::string::npos) << imported.problems();
}

TEST(PrintedParameters, AreThoseOfTheModel) {
  const auto problems = [](const std::string& line) {
    return import_texts(
               {{"a.log", kMegatronWorld + line + kMegatronSteps}, {"config.json", kLlama}},
               with(kOneGpu, "model.sequence_length", "4096"))
        .problems();
  };
  const std::string words = " > number of parameters on (tensor, pipeline) model parallel rank ";
  // 6,738,415,616; each of the two ranks holds a half, and all norms.
  EXPECT_EQ(problems(words + "(0, 0): 3369340928\n" + words + "(1, 0): 3369340928\n"), "");
  EXPECT_NE(
      problems(words + "(0, 0): 1369340928\n" + words + "(1, 0): 1369340928\n")
          .find("the log prints 1369340928 parameters on a rank, but the model of these files "
                "has 6738415616"),
      std::string::npos);
  EXPECT_NE(problems(words + "(0, 0): 1369340928\n").find("on a rank"), std::string::npos);
  EXPECT_EQ(problems(words + "(0, 0): 3369340928\n"), "");
}

// Four ranks of 1.7 billion, of which a stage has more or less.
TEST(PrintedParameters, OfAStageAreKnownWithinAFactor) {
  const auto problems = [](const std::string& count) {
    const std::string world =
        "using world size: 4, data-parallel size: 1, context-parallel size: 1, "
        "tensor-model-parallel size: 2, pipeline-model-parallel size: 2\n";
    return import_texts(
               {{"a.log", world +
                              " > number of parameters on (tensor, pipeline) model parallel rank "
                              "(0, 0): " +
                              count + "\n" + kMegatronSteps},
                {"config.json", kLlama}},
               with(kOneGpu, "model.sequence_length", "4096"))
        .problems();
  };
  EXPECT_EQ(problems("1684670464").find("on a rank"), std::string::npos);
  EXPECT_EQ(problems("2100000000").find("on a rank"), std::string::npos);
  EXPECT_NE(problems("421000000").find("on a rank"), std::string::npos);
  EXPECT_NE(problems("5000000000").find("on a rank"), std::string::npos);
}

std::string titan_log(const std::string& lines) {
  std::string text;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    text += "2026-01-05 09:00:" + lines.substr(at, end + 1 - at);
    at = end + 1;
  }
  return text;
}

TEST(TitanLog, TakesTheVocabularyThatItPrints) {
  const std::string log = titan_log(
      "00,000 - root - INFO - Building 1-D device mesh with ['dp_shard'], [8]\n"
      "00,000 - root - INFO - Building llama3 8B with ModelArgs(dim=4096, n_layers=32, n_heads=32, "
      "n_kv_heads=8, vocab_size=2256, max_seq_len=8192)\n"
      "00,000 - root - INFO - Model llama3 8B size: 6,998,069,248 total parameters\n"
      "01,000 - root - INFO - Training starts at step 1, with local batch size 1, global batch "
      "size "
      "8, sequence length 8192, total steps 1000 (warmup 200)\n"
      "20,000 - root - INFO - step:  1  loss: 12.00  memory: 40.00GiB(50.00%)  wps: 900  mfu: 4%\n"
      "32,000 - root - INFO - step: 10  loss: 11.00  memory: 40.00GiB(50.00%)  wps: 6,800  mfu: "
      "40%\n");
  const Imported imported = import_texts({{"a.log", log}}, kOneGpu);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.vocab_size"), "2256");
  EXPECT_EQ(imported.value("measured.step_time"), "1.20471s");
  std::string other = log;
  other.replace(other.find("vocab_size=2256"), 15, "vocab_size=9999");
  EXPECT_NE(import_texts({{"a.log", other}}, kOneGpu).problems().find("6998069248 parameters"),
            std::string::npos);
}

// Its rates are those of one GPU: without the mesh the dates tell how many there are.
TEST(TitanLog, WithoutItsMeshIsNoLogOfOneGpu) {
  const std::string batch =
      "00,000 - root - INFO - Training starts at step 1, with local batch size 2, global batch "
      "size 16, sequence length 4096, total steps 100 (warmup 10)\n";
  const auto steps = [](int rate) {
    return fmt::format(
        "20,000 - root - INFO - step:  1  memory: 40.00GiB(50.00%)  tps: 900  mfu: 4.00%\n"
        "30,000 - root - INFO - step: 10  memory: 40.00GiB(50.00%)  tps: {0}  mfu: 40.00%\n"
        "40,000 - root - INFO - step: 20  memory: 40.00GiB(50.00%)  tps: {0}  mfu: 40.00%\n",
        rate);
  };
  const Imported imported = import_texts({{"a.log", titan_log(batch + steps(8192))}}, kOneGpu);
  EXPECT_EQ(imported.value("measured.step_time"), "1s");
  EXPECT_EQ(imported.value("layout.tensor"), "");
  EXPECT_TRUE(imported.asks("layout.tensor"));
  EXPECT_EQ(imported.value("recompute"), "");
  // With tensor parallelism of 8 there are eight times as many GPUs: 10 s are ten steps still.
  const Imported tensor = import_texts({{"a.log", titan_log(batch + steps(1024))}}, kOneGpu);
  EXPECT_EQ(tensor.value("measured.step_time"), "1.05263s");
  const std::string undated =
      "step: 10  memory: 40.00GiB(50.00%)  tps: 800  mfu: 40.00%\n"
      "step: 20  memory: 40.00GiB(50.00%)  tps: 800  mfu: 40.00%\n";
  EXPECT_TRUE(import_texts({{"a.log", undated}}, kOneGpu).notes("on how many GPUs"));
}

TEST(TitanLog, BesideItsTomlHasItsBatch) {
  const std::string toml =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
      "seq_len = 8192\nsteps = 1000\n[parallelism]\ntensor_parallel_degree = 1\n"
      "[activation_checkpoint]\nmode = \"full\"\n";
  const std::string log =
      "step: 1  loss: 9.0  memory: 40.00GiB(50.00%)  tps: 900  mfu: 4.00%\n"
      "step: 10  loss: 8.0  memory: 40.00GiB(50.00%)  tps: 6,800  mfu: 40.00%\n";
  const Imported imported = import_texts({{"a.toml", toml}, {"a.log", log}}, machines(4));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.value("measured.step_time"), "1.20471s");  // 32 x 8,192 / (6,800 x 32)
}

// `tps: 8` may be 7.5: the dates are finer.
TEST(TitanLog, WithRatesOfOneDigitIsTimedByItsDates) {
  const std::string log = titan_log(
      "00,000 - root - INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [256, 8]\n"
      "01,000 - root - INFO - Training starts at step 1, with local batch size 1, global batch "
      "size 256, sequence length 32, total steps 9 (warmup 2)\n"
      "02,000 - root - INFO - step:  1  memory: 40.00GiB(50.00%)  tps: 3  mfu: 4.00%\n"
      "12,200 - root - INFO - step: 11  memory: 40.00GiB(50.00%)  tps: 8  mfu: 40.00%\n"
      "22,400 - root - INFO - step: 21  memory: 40.00GiB(50.00%)  tps: 8  mfu: 40.00%\n");
  const auto steps = steps_in(log, ConfigFormat::torchtitan_log);
  ASSERT_TRUE(steps);
  EXPECT_TRUE(steps->by_dates);
  EXPECT_NEAR(in_seconds(steps->median), 1.02, 1e-9);
}

TEST(NemoLog, HasItsBatchInTheLinesOfSteps) {
  const Imported lines = import_texts(
      {{"a.log",
        "Training epoch 1, iteration 8/999 | global_batch_size: 512 | global_step: 19 | "
        "train_step_timing in s: 46.86 | consumed_samples: 10240\n"
        "Training epoch 1, iteration 9/999 | global_batch_size: 512 | global_step: 20 | "
        "train_step_timing in s: 46.84 | consumed_samples: 10752\n"}},
      kOneGpu);
  EXPECT_EQ(lines.value("batch.global"), "512");
  const Imported json = import_texts(
      {{"a.log",
        "DLLL {\"type\": \"LOG\", \"step\": 28, \"data\": {\"consumed_samples\": 59392.0, "
        "\"global_step\": 28, \"train_step_timing in s\": 12.64}}\n"
        "DLLL {\"type\": \"LOG\", \"step\": 29, \"data\": {\"consumed_samples\": 61440.0, "
        "\"global_step\": 29, \"train_step_timing in s\": 12.66}}\n"}},
      kOneGpu);
  EXPECT_EQ(json.value("measured.step_time"), "12.66s");
  EXPECT_EQ(json.value("batch.global"), "2048");
}

TEST(TrainerState, IsNoFileOfDeepSpeed) {
  const Imported imported = import_texts(
      {{"trainer_state.json",
        R"({"global_step": 100, "max_steps": 100, "log_history": [{"loss": 2.0, "step": 50},
            {"step": 100, "train_runtime": 1000.0, "train_samples_per_second": 6.4,
             "train_steps_per_second": 0.1}], "train_batch_size": 8})"},
       {"config.json", kLlama}},
      with(machines(1), "model.sequence_length", "2048"));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("batch.micro"), "8");
  EXPECT_EQ(imported.value("batch.global"), "64");
  EXPECT_EQ(imported.value("measured.step_time"), "10s");
  EXPECT_TRUE(imported.asks("layout.sharding"));
}

TEST(TrainerLog, OfAnUntiedEmbeddingTrainsMoreThanItsFileSays) {
  std::string log = config_text("trainer-llama-3.2-1b-fsdp.log");
  const std::string line = "Number of trainable parameters = ";
  const std::size_t at = log.find(line) + line.size();
  log.replace(at, log.find('\n', at) - at, "1,498,482,688");  // and 128,256 x 2,048
  const Imported imported = import_texts({{"a.log", log}}, kOneGpu);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.tie_embeddings"), "false");
  EXPECT_EQ(imported.result.model->parameters, 1'498'482'688);
  log.replace(at, 13, "9,498,482,688");
  EXPECT_NE(import_texts({{"a.log", log}}, kOneGpu).problems().find("it is another model"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery::import_config::testing
