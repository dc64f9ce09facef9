// `orrery import` of configuration files, as a user calls it.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using ImportConfig = CliTest;

constexpr const char* kModel = R"({
  "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
  "vocab_size": 128256, "tie_word_embeddings": false, "torch_dtype": "bfloat16"
})";

constexpr const char* kZero = R"({
  "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4,
  "zero_optimization": {"stage": 2}, "bf16": {"enabled": true}
})";

constexpr const char* kMachines =
    " --gpu h100-sxm-80gb --nodes 2 --network infiniband-400g --set model.sequence_length=8192";

TEST_F(ImportConfig, TwoFilesMakeAScenarioThatRuns) {
  write("config.json", kModel);
  write("ds.json", kZero);
  const Finished imported =
      run("import config.json ds.json -o run.yaml --set recompute=full" + std::string(kMachines));
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(imported.out, "");
  EXPECT_TRUE(has(imported.err, "config.json: config.json of a model (Hugging Face)\n"));
  EXPECT_TRUE(has(imported.err, "Model: 8.030B parameters\n"));
  EXPECT_TRUE(has(imported.err, "Batch: 64 sequences of 8,192 tokens, 524k tokens a step\n"));
  const std::string scenario = read("run.yaml");
  EXPECT_TRUE(
      has(scenario, "  num_layers: 32                      # config.json:3 num_hidden_layers"));
  EXPECT_TRUE(has(scenario, "  sharding: zero2"));
  EXPECT_EQ(run("check run.yaml").code, 0);
}

// A packed file may be a trace, which another program reads: it takes the same options.
TEST_F(ImportConfig, APackedFileIsSaidToBeOneQuietlyToo) {
  write("config.json.gz", "\x1F\x8B\x08");
  for (const char* command : {"import config.json.gz", "import config.json.gz -q"}) {
    const Finished imported = run(command);
    EXPECT_EQ(imported.code, 3) << command;
    EXPECT_TRUE(has(imported.err, "is packed")) << imported.err;
  }
}

TEST_F(ImportConfig, WhatIsStillToBeStatedEndsWith3AndIsRefusedByName) {
  write("config.json", kModel);
  const Finished imported = run("import config.json");
  EXPECT_EQ(imported.code, 3);
  EXPECT_TRUE(has(imported.err, "Still to be stated (5)\n"));
  EXPECT_TRUE(has(imported.err, "--gpu NAME"));
  EXPECT_TRUE(has(imported.out, "format: orrery/1\n"));
  write("run.yaml", imported.out);
  const Finished checked = run("check run.yaml");
  EXPECT_EQ(checked.code, 3);
  EXPECT_TRUE(has(checked.err, "error: cluster.gpu: has no value"));
}

// A run of eight GPUs that stopped once: its log makes a scenario that stops there, too.
TEST_F(ImportConfig, RestartsInALogAreReplayed) {
  std::string log =
      "  num_layers ..................... 16\n  hidden_size .................... 2048\n"
      "  num_attention_heads ............ 16\n  padded_vocab_size .............. 50304\n"
      "  seq_length ..................... 2048\n  global_batch_size .............. 64\n"
      "  micro_batch_size ............... 1\n  world_size ..................... 8\n"
      "  train_iters .................... 1000\n  bf16 ........................... True\n";
  for (const char* step : {"00:10] iteration 10", "00:20] iteration 20", "10:30] iteration 20",
                           "10:40] iteration 30"}) {
    log += " [2025-10-06 03:" + std::string(step) +
           "/ 1000 | elapsed time per iteration (ms): 1000.0 | global batch size: 64 |\n";
  }
  write("train.log", log);
  const Finished imported =
      run("import train.log --gpu h100-sxm-80gb --failures restarts.csv -o run.yaml -q");
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_TRUE(has(imported.err, "train.log:13: restart after 0.01 h, out for 10.0 min"));
  EXPECT_TRUE(has(imported.err, "1 restart in 0.18 h of logs"));
  EXPECT_TRUE(has(read("restarts.csv"), "time_s,cause,outage_s\n20,restart,600\n"));
  EXPECT_TRUE(has(read("run.yaml"), "failures:\n  log: restarts.csv"));
  EXPECT_EQ(run("check run.yaml").code, 0);
  write("config.json", kModel);
  const Finished undated = run("import config.json --failures none.csv");
  EXPECT_EQ(undated.code, 3);
  EXPECT_TRUE(has(undated.err, "no line of a step in these files has a date"));
}

TEST_F(ImportConfig, JsonReportsEveryKeyWithItsOrigin) {
  write("config.json", kModel);
  const Finished imported =
      run("import --json -q config.json" + std::string(kMachines) + " --set batch.global=64");
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(imported.err, "");
  const auto json = nlohmann::json::parse(imported.out);
  EXPECT_EQ(json["schema"], "orrery-config-import/1");
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["files"][0]["format"], "hugging-face");
  EXPECT_EQ(json["model"]["parameters"], 8'030'261'248);
  const auto& first = json["settings"][0];
  EXPECT_EQ(first["key"], "model.num_layers");
  EXPECT_EQ(first["value"], "32");
  EXPECT_EQ(first["origin"], "read");
  EXPECT_EQ(first["where"]["line"], 3);
  EXPECT_TRUE(has(json["scenario"].get<std::string>(), "format: orrery/1"));
}

TEST_F(ImportConfig, LayoutsThatTheMachinesDoNotHoldAreSaid) {
  write("run.sh",
        "torchrun pretrain.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
        "--seq-length 4096 --vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size 64 "
        "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4\n");
  const Finished imported =
      run("import run.sh -q --gpu h100-sxm-80gb --nodes 2 --network infiniband-400g -o run.yaml");
  EXPECT_EQ(imported.code, 3);
  EXPECT_TRUE(has(imported.err, "the files and options do not go together yet:\nrun.yaml:"))
      << imported.err;
}

// The line of README.md: no network is stated, and the GPU has a usual one.
TEST_F(ImportConfig, OfAModelAndAScriptNeedsNoNetwork) {
  write("config.json", kModel);
  write("train.sh",
        "torchrun pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
        "--group-query-attention --num-query-groups 8 --ffn-hidden-size 14336 --swiglu "
        "--normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
        "--untie-embeddings-and-output-weights --seq-length 8192 --bf16 --micro-batch-size 1 "
        "--global-batch-size 256 --tensor-model-parallel-size 2 --use-distributed-optimizer\n");
  const Finished imported =
      run("import config.json train.sh --gpu h100-sxm-80gb --nodes 16 -o run.yaml");
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_TRUE(has(imported.err, "cluster.network.preset: infiniband-400g")) << imported.err;
  EXPECT_EQ(run("check run.yaml").code, 0);
}

TEST_F(ImportConfig, UnknownClassesNeedAs) {
  write("config.json",
        R"({"model_type": "newllm", "hidden_size": 4096, "num_hidden_layers": 32,
            "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000,
            "num_new_layers": 2})");
  EXPECT_EQ(run("import config.json").code, 3);
  EXPECT_TRUE(has(run("import config.json --as llama").err, "Model: 6.738B parameters"));
}

TEST_F(ImportConfig, LogsBecomeAScenarioThatIsComparedWithThem) {
  std::string log;
  for (const char* line :
       {"bf16 ........... True", "ffn_hidden_size ........... 11008",
        "global_batch_size ........... 128", "hidden_size ........... 4096",
        "micro_batch_size ........... 1", "num_attention_heads ........... 32",
        "num_layers ........... 32", "position_embedding_type ........... rope",
        "recompute_granularity ........... selective", "seq_length ........... 4096",
        "swiglu ........... True", "tensor_model_parallel_size ........... 2",
        "use_distributed_optimizer ........... True", "vocab_size ........... 32000",
        "world_size ........... 16"}) {
    log += std::string("  ") + line + "\n";
  }
  for (int i = 0; i < 3; ++i) {
    log +=
        " iteration 1/ 9 | elapsed time per iteration (ms): 4000.0 | throughput per GPU "
        "(TFLOP/s/GPU): 350.0 | global batch size: 128 |\n";
  }
  write("train.log", log);
  const Finished imported = run("import train.log --gpu h100-sxm-80gb -o run.yaml");
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_TRUE(has(read("run.yaml"), "step_time: 4s"));
  const Finished compared = run("compare run.yaml train.log");
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_TRUE(has(compared.out, "measured: median of 2 steps, 4.00 s to 4.00 s")) << compared.out;
  EXPECT_TRUE(has(compared.out, "350 TFLOP/s per GPU by its own count")) << compared.out;
  const auto json = nlohmann::json::parse(run("compare --json run.yaml train.log").out);
  EXPECT_EQ(json["kind"], "log");
  EXPECT_EQ(json["measured_step_time_s"], 4.0);
  EXPECT_DOUBLE_EQ(json["tokens_per_step"].get<double>(), 128.0 * 4096.0);
  // The same prediction as `run` makes.
  const auto answer = nlohmann::json::parse(run("run --json run.yaml").out);
  EXPECT_EQ(json["predicted_step_time_s"], answer["metrics"]["step_time_s"]["value"]);
}

TEST_F(ImportConfig, BrokenFilesNameTheirPlaceAndLeaveNoFile) {
  write("config.json", "{\n  \"hidden_size\": 4096,\n  \"model_type\" \"llama\"\n}\n");
  const Finished imported = run("import config.json -o run.yaml");
  EXPECT_EQ(imported.code, 3);
  EXPECT_EQ(imported.err.substr(0, 35), "config.json:3:22: error: is no JSON") << imported.err;
  EXPECT_EQ(files(), (std::vector<std::string>{"config.json"}));
}

TEST_F(ImportConfig, LargeFilesAreRefusedBeforeTheyAreRead) {
  write("config.json", "{\"model_type\": \"" + std::string(5'000'000, 'x') + "\"}");
  const Finished imported = run("import --format hugging-face config.json");
  EXPECT_EQ(imported.code, 3);
  EXPECT_EQ(imported.err,
            "config.json: error: has more than 4 MiB: no configuration is that long\n");
}

TEST_F(ImportConfig, ArgumentsThatMakeNoSenseAreUsage) {
  write("config.json", kModel);
  EXPECT_EQ(run("import config.json --set batch.global").code, 2);
  EXPECT_EQ(run("import config.json --format yaml").code, 2);
  EXPECT_EQ(run("import config.json --nodes 0").code, 2);
  EXPECT_EQ(run("import").code, 2);
  const Finished unknown = run("import config.json --set layout.tensors=8");
  EXPECT_EQ(unknown.code, 3);
  EXPECT_TRUE(has(unknown.err, "did you mean `layout.tensor`?"));
  EXPECT_EQ(run("import nothing.json --format nemo").code, 6);
}

// Whatever is in the way is said of the file itself, with -q as without.
TEST_F(ImportConfig, FilesThatCannotBeReadSayWhy) {
  write("empty.log", "");
  write("packed.log", "\x1F\x8B packed");
  write("notes.txt", "nothing of any program\n");
  ASSERT_EQ(run("--version", "mkdir -p checkpoint &&").code, 0);
  write("checkpoint/config.json", kModel);

  const struct {
    const char* words;
    int code;
    const char* message;
  } rows[] = {{"missing.sh", 6, "missing.sh: is no file"},
              {"meta-llama/Llama-3.1-8B", 6, "of a model at Hugging Face give its config.json"},
              {"empty.log", 3, "empty.log: error: is empty"},
              {"packed.log", 3, "packed.log: error: is packed: unpack it first"},
              {"notes.txt", 3, "notes.txt: error: is no configuration and no log that is known"},
              {"checkpoint", 3, "checkpoint: error: is a folder: give checkpoint/config.json"}};

  for (const auto& row : rows) {
    for (const char* quiet : {"", " -q"}) {
      const Finished imported = run("import " + std::string(row.words) + quiet);
      EXPECT_EQ(imported.code, row.code) << row.words << quiet << imported.err;
      EXPECT_TRUE(has(imported.err, row.message)) << imported.err;
    }
  }
}

TEST_F(ImportConfig, AKeyThatNobodyKnowsEndsIt) {
  write("config.json", std::string(kModel).insert(1, "\"some_new_width\": 64,"));
  const std::string command =
      "import config.json -o run.yaml" + std::string(kMachines) + " --set batch.global=64";
  const Finished stopped = run(command);
  EXPECT_EQ(stopped.code, 3);
  EXPECT_TRUE(has(stopped.err, "some_new_width: not understood"));
  EXPECT_TRUE(has(stopped.err, "NOT understood, or not in the scenario (1)"));
  EXPECT_NE(run("check run.yaml").code, 0);  // nothing was written
  EXPECT_EQ(run(command + " --ignore 'some_*'").code, 0);
}

TEST_F(ImportConfig, HelpNamesBothKindsOfFiles) {
  const Finished help = run("import --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(has(help.out, "megatron-yaml"));
  EXPECT_TRUE(has(help.out, "orrery import --format nccl-tests --help"));
}

TEST_F(ImportConfig, AnUnknownLogIsToldOfThePattern) {
  write("own.log", "it 1 took 2.5 s\nit 2 took 2.5 s\nit 3 took 2.5 s\n");
  EXPECT_TRUE(has(run("import own.log -q").err, "--pattern says where the time of a step stands"));
  const Finished finished = run("import own.log --pattern 'it {step} took {s}' -q");
  EXPECT_EQ(finished.code, 3);
  EXPECT_TRUE(has(finished.out, "step_time: 2.5s")) << finished.out << finished.err;
}

// A log of 8 GPUs beside a scenario of 16, with another batch and length.
TEST_F(ImportConfig, LogsOfAnotherJobAreTold) {
  write("a.yaml", small_scenario());
  write("a.log",
        "using world size: 8, data-parallel size: 4, tensor-model-parallel size: 2, "
        "pipeline-model-parallel size: 1\n"
        " iteration 2/ 9 | elapsed time per iteration (ms): 5500.0 | global batch size: 1024 |\n"
        " iteration 3/ 9 | elapsed time per iteration (ms): 5500.0 | global batch size: 1024 |\n");
  const Finished finished = run("compare a.yaml a.log");
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(has(finished.out, "NOT THE SAME JOB: a.log says ")) << finished.out;
  EXPECT_TRUE(has(finished.out, "batch.global 1024, not 64"));
  EXPECT_TRUE(has(finished.out, "GPUs 8, not 16"));
  EXPECT_TRUE(has(run("compare a.yaml a.log --json").out, "\"key\": \"batch.global\""));
}

}  // namespace
}  // namespace orrery::cli::testing
