// The places where two programs mean different things by alike words.

#include <gtest/gtest.h>

#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

bool has(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

// A model of 32 layers, arguments as one command.
std::string command(const std::string& more) {
  return "python pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
         "--seq-length 4096 --vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size "
         "64 " +
         more + "\n";
}

Imported import_command(const std::string& more, const Given& given = machines(8)) {
  return import_texts({{"run.sh", command(more)}}, given);
}

TEST(VirtualStages, HaveThreeNamesAndTwoMeanings) {
  const std::string pipeline = "--pipeline-model-parallel-size 4 ";
  EXPECT_EQ(import_command(pipeline + "--num-layers-per-virtual-pipeline-stage 2")
                .value("layout.virtual_stages"),
            "4");  // 32 / 4 / 2
  EXPECT_EQ(import_command(pipeline + "--num-virtual-stages-per-pipeline-rank 2")
                .value("layout.virtual_stages"),
            "2");
  const Imported nothing = import_command("--num-layers-per-virtual-pipeline-stage 2");
  EXPECT_EQ(nothing.value("layout.virtual_stages"), "");  // without a pipeline
  const Imported odd = import_command(pipeline + "--num-layers-per-virtual-pipeline-stage 3");
  EXPECT_TRUE(has(odd.problems(),
                  "--num-layers-per-virtual-pipeline-stage: 32 layers on 4 devices do not fall "
                  "into stages of 3"))
      << odd.problems();
}

TEST(ExpertTensor, IsThatOfTensorParallelismWhenUnset) {
  const std::string moe =
      "--num-experts 8 --tensor-model-parallel-size 4 --expert-model-parallel-size 2 ";
  const Imported unset = import_command(moe);
  EXPECT_EQ(unset.value("layout.expert_tensor"), "4");
  EXPECT_EQ(unset.origin("layout.expert_tensor"), "default");
  const Imported set = import_command(moe + "--expert-tensor-parallel-size 1");
  EXPECT_EQ(set.value("layout.expert_tensor"), "1");
  EXPECT_EQ(set.origin("layout.expert_tensor"), "read");
}

TEST(Vocabulary, IsPaddedByTensorParallelism) {
  EXPECT_EQ(import_command("").value("model.vocab_size"), "32000");  // 250 x 128
  EXPECT_EQ(import_command("--tensor-model-parallel-size 8").value("model.vocab_size"), "32768");
  EXPECT_EQ(import_command("--make-vocab-size-divisible-by 1").value("model.vocab_size"), "32000");
  EXPECT_EQ(import_command("").value("model.tie_embeddings"), "true");
  EXPECT_EQ(import_command("--untie-embeddings-and-output-weights").value("model.tie_embeddings"),
            "false");
}

TEST(PipelineLayouts, SayStagesAndLayers) {
  // 3 + 7 x 4 + 1 = 32 layers in 1 + 6 + 1 + 1 = 9 stages: not a multiple of 4.
  const Imported nine = import_command(
      "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'Ettt|(tttt|)*7,tL'");
  EXPECT_TRUE(has(nine.problems(), "has 9 stages, no multiple of 4 devices")) << nine.problems();
  const Imported eight = import_command(
      "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'Et*3|(t*5|)*5,tttt|L'");
  EXPECT_EQ(eight.problems(), "");
  EXPECT_EQ(eight.value("layout.virtual_stages"), "2");
  EXPECT_EQ(eight.value("layout.stage_layers"), "[3, 5, 5, 5, 5, 5, 4, 0]");
  const Imported wrong =
      import_command("--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'Ettx|L'");
  EXPECT_TRUE(has(wrong.problems(), "`Ettx|L` is no layout of a pipeline")) << wrong.problems();
}

TEST(UnevenStages, CountEmbeddingAndLossAsLayers) {
  const Imported ends = import_texts(
      {{"run.sh",
        "python train.py --num-layers 30 --hidden-size 4096 --num-attention-heads 32 "
        "--seq-length 4096 --vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size 64 "
        "--pipeline-model-parallel-size 8 --account-for-embedding-in-pipeline-split "
        "--account-for-loss-in-pipeline-split"}},
      machines(8));
  EXPECT_EQ(ends.problems(), "");
  EXPECT_EQ(ends.value("layout.stage_layers"), "[3, 4, 4, 4, 4, 4, 4, 3]");
  const Imported first = import_command(
      "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 5 "
      "--decoder-last-pipeline-num-layers 7");
  EXPECT_EQ(first.value("layout.stage_layers"), "[5, 10, 10, 7]");
}

TEST(ExpertLayers, AreCountedFromTheirPattern) {
  const std::string moe = "--num-experts 8 ";
  EXPECT_EQ(import_command(moe + "--moe-layer-freq [0]*3+[1]*29").value("model.moe.dense_layers"),
            "3");
  const Imported mixed = import_command(moe + "--moe-layer-freq '([0]+[1])*16'");
  EXPECT_EQ(mixed.value("model.moe.dense_layers"), "16");
  EXPECT_TRUE(mixed.notes("the scenario puts them first"));
  EXPECT_EQ(import_command(moe + "--moe-layer-freq 2").value("model.moe.dense_layers"), "16");
  const Imported wrong = import_command(moe + "--moe-layer-freq [0]*3+[1]*30");
  EXPECT_TRUE(has(wrong.problems(), "`[0]*3+[1]*30` is no pattern of 32 layers"))
      << wrong.problems();
}

TEST(ExpertLayers, OfHybridModelsAreRefused) {
  const Imported imported = import_command("--hybrid-layer-pattern 'M-M*'");
  EXPECT_TRUE(has(imported.problems(), "belongs to layers that are no attention"))
      << imported.problems();
}

TEST(Recompute, TakesItsModulesAsListOrAsOneText) {
  EXPECT_EQ(import_command("--recompute-granularity selective --recompute-modules moe_act "
                           "layernorm")
                .value("recompute.modules"),
            "[moe_act, layernorm]");
  EXPECT_EQ(import_command("--recompute-granularity selective --recompute-modules "
                           "'[moe_act layernorm]'")
                .value("recompute.modules"),
            "[moe_act, layernorm]");
  EXPECT_EQ(import_command("--recompute-activations").value("recompute"), "selective");
  EXPECT_EQ(import_command("--recompute-granularity full --recompute-method block "
                           "--recompute-num-layers 3")
                .value("recompute.layers"),
            "3");
}

TEST(DeepSpeed, BindsItsThreeFiguresOfABatch) {
  const std::string model = config_text("llama-3.1-8b.json");
  Given given = {{"model.sequence_length", "4096", "--set"}};
  const Imported whole =
      import_texts({{"config.json", model},
                    {"ds.json",
                     R"({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4,
            "gradient_accumulation_steps": 2, "bf16": {"enabled": true}})"}},
                   given);
  EXPECT_EQ(whole.problems(), "");
  EXPECT_EQ(whole.value("layout.data"), "32");
  EXPECT_EQ(whole.why("layout.data"), "256 / (4 x 2)");
  EXPECT_TRUE(whole.notes("implies 32 GPUs"));
  const Imported broken =
      import_texts({{"ds.json",
                     "{\n  \"train_batch_size\": 250,\n  \"train_micro_batch_size_per_gpu\": 4,\n"
                     "  \"gradient_accumulation_steps\": 2\n}\n"}});
  EXPECT_EQ(broken.problems(),
            "ds.json:2:3: error: train_batch_size: 250 is no multiple of "
            "train_micro_batch_size_per_gpu x gradient_accumulation_steps = 4 x 2\n");
  // The ranks that the batch implies are not those of the machines.
  given = machines(8);
  given.push_back({"model.sequence_length", "4096", "--set"});
  const Imported other =
      import_texts({{"config.json", model},
                    {"ds.json",
                     R"({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4,
            "gradient_accumulation_steps": 2})"}},
                   given);
  EXPECT_TRUE(has(other.problems(), "implies 32 data-parallel ranks, but 64 GPUs"))
      << other.problems();
}

TEST(DeepSpeed, AutoIsAskedForAndNeverGuessed) {
  const Imported imported = import_named({"llama-3.1-8b.json", "deepspeed-auto.json"}, machines(8));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_FALSE(imported.result.complete());
  EXPECT_TRUE(imported.asks("batch.global"));
  EXPECT_TRUE(imported.asks("batch.micro"));
  EXPECT_EQ(imported.effect("train_batch_size"), "unread");
  EXPECT_EQ(imported.value("precision.compute"), "bf16");
  EXPECT_EQ(imported.origin("precision.compute"), "read");
  EXPECT_EQ(imported.effect("optimizer.params.lr"), "none");  // auto, but without effect
}

TEST(Torchtitan, ALayoutWithoutMachinesLeavesTheBatchOpen) {
  const Imported imported = import_named({"torchtitan-llama3-405b.toml"});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.asks("batch.global"));
  EXPECT_NE(report_text(imported.result).find("with the number of GPUs it follows"),
            std::string::npos);
}

std::string titan(const std::string& parallelism, const std::string& more = "") {
  return "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 8\n"
         "seq_len = 8192\n" +
         more + "[parallelism]\n" + parallelism;
}

TEST(Torchtitan, ReplicasOfShardGroupsAreHybrid) {
  const Imported imported = import_texts(
      {{"job.toml",
        titan("data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = -1\n")}},
      machines(4));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.sharding"), "hsdp");
  EXPECT_EQ(imported.value("layout.shard_group"), "16");  // 32 ranks in 2 groups
  const Imported plain = import_texts(
      {{"job.toml",
        titan("data_parallel_replicate_degree = 32\ndata_parallel_shard_degree = 1\n")}},
      machines(4));
  EXPECT_EQ(plain.value("layout.sharding"), "none");
}

// (32 + 1 + 1) / 8 stages: 5, 5, 4, ...; the first and the last hold embedding and output besides.
TEST(Torchtitan, StagesCountEmbeddingAndOutput) {
  const Imported looped =
      import_texts({{"job.toml", titan("pipeline_parallel_degree = 4\npipeline_parallel_schedule = "
                                       "\"Interleaved1F1B\"\n")}},
                   machines(4));
  EXPECT_EQ(looped.problems(), "");
  EXPECT_EQ(looped.value("layout.virtual_stages"), "2");
  EXPECT_EQ(looped.value("layout.stage_layers"), "[4, 5, 4, 4, 4, 4, 4, 3]");
  EXPECT_EQ(looped.value("batch.micro"), "1");
  EXPECT_EQ(looped.value("batch.global"), "64");  // 8 x 8 data-parallel ranks
  const Imported foreign =
      import_texts({{"job.toml", titan("pipeline_parallel_degree = 4\npipeline_parallel_schedule = "
                                       "\"InterleavedZeroBubble\"\n")}},
                   machines(4));
  EXPECT_TRUE(foreign.asks("layout.schedule"));
}

TEST(Torchtitan, UnknownFlavorsAreAskedForUnlessAModelFileHelps) {
  const std::string job =
      "[model]\nname = \"llama3\"\nflavor = \"9B\"\n[training]\nlocal_batch_size = 1\n"
      "seq_len = 8192\n[parallelism]\n";
  const Imported alone = import_texts({{"job.toml", job}}, machines(2));
  EXPECT_TRUE(alone.asks("model.num_layers"));
  EXPECT_NE(report_text(alone.result).find("known: llama3 8B"), std::string::npos);
  const Imported both = import_texts(
      {{"config.json", config_text("llama-3.1-8b.json")}, {"job.toml", job}}, machines(2));
  EXPECT_EQ(both.problems(), "");
  EXPECT_TRUE(both.result.complete());
}

TEST(Torchtitan, NewerCommandsNameAModuleAndAConfig) {
  const Imported imported =
      import_texts({{"run.sh",
                     "torchrun --nproc_per_node 8 --nnodes 4 -m torchtitan.train --module llama3 "
                     "--config llama3_70b --training.max_context_length 8192 "
                     "--training.num_tokens_per_microbatch_per_dp_rank 16384 "
                     "--parallelism.tensor_parallel_degree 8 --training.steps 100\n"}},
                   machines(4));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.tensor"), "8");
  EXPECT_EQ(imported.value("batch.micro"), "2");
  EXPECT_EQ(imported.value("batch.global"), "8");  // 2 x 4 ranks
  EXPECT_EQ(imported.result.model->parameters, 70'553'706'496);
  EXPECT_TRUE(imported.notes("only what the command states was read"));
}

// The names of 2024.
TEST(Torchtitan, OlderFilesStateTheirDegreesElsewhere) {
  const Imported imported = import_texts(
      {{"job.toml",
        "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nbatch_size = 2\nseq_len = 8192\n"
        "tensor_parallel_degree = 8\ndata_parallel_shard_degree = -1\ncompile = true\n"
        "[experimental]\npipeline_parallel_degree = 2\ncontext_parallel_degree = 1\n"
        "[float8]\nenable_float8_linear = true\n"}},
      machines(8));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.tensor"), "8");
  EXPECT_EQ(imported.value("layout.pipeline"), "2");
  EXPECT_EQ(imported.value("compile"), "true");
  EXPECT_EQ(imported.value("precision.compute"), "fp8-tensorwise");
  EXPECT_EQ(imported.value("batch.global"), "8");  // 2 x 4 data-parallel ranks
}

// What train/tr11-176B-ml/tr11-176B-ml.slurm of bigscience passes.
TEST(MegatronDeepSpeed, OfBloomSaysRecomputationVocabularyAndSharding) {
  const Imported imported = import_command(
      "--checkpoint-activations --pad-vocab-size-to 250880 --embed-layernorm "
      "--position-embedding-type alibi --deepspeed --zero-stage 0 "
      "--deepspeed-activation-checkpointing --rampup-batch-size 32 16 9_765_625 "
      "--train-samples 220_000_000");
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("recompute"), "full");
  EXPECT_EQ(imported.value("model.vocab_size"), "250880");
  EXPECT_EQ(imported.value("model.embedding_norm"), "true");
  EXPECT_EQ(imported.value("layout.sharding"), "zero1");
  EXPECT_EQ(imported.value("training.batch_ramp.samples"), "9765625");
}

TEST(MegatronScripts, OfOtherModelsOrWithUnknownSizesAreRefused) {
  EXPECT_TRUE(
      has(import_texts({{"run.sh", "python pretrain_bert.py --num-layers 24\n"}}).problems(),
          "run.sh:1:8: error: pretrain_bert: another model"));
  const std::string unknown = "--retro-num-layers 4 --moe-hidden-size 512";
  EXPECT_TRUE(has(import_command(unknown).problems(), "--moe-hidden-size: not understood"));
}

TEST(Nemo, EightBitsStandBesideTheTrainersPrecision) {
  const Imported imported = import_texts(
      {{"conf.yaml",
        "trainer: {devices: 8, num_nodes: 2, precision: bf16}\nmodel:\n  num_layers: 32\n  "
        "hidden_size: 4096\n  num_attention_heads: 32\n  fp8: True\n  micro_batch_size: 1\n  "
        "global_batch_size: 64\n  encoder_seq_length: 4096\n"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("precision.compute"), "fp8-delayed");
}

TEST(Networks, AreTheUsualOnesOfTheGpuWhenNobodySays) {
  const Imported imported = import_command(
      "", {{"cluster.gpu", "h100-sxm-80gb", "--gpu"}, {"cluster.nodes", "16", "--nodes"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.value("cluster.network.preset"), "infiniband-400g");
  EXPECT_EQ(imported.origin("cluster.network.preset"), "assumed");
}

TEST(Combining, ContradictionsNameBothPlaces) {
  const Imported imported = import_texts(
      {{"config.json", config_text("llama-3.1-8b.json")},
       {"run.sh", command("--swiglu --normalization RMSNorm --position-embedding-type rope")}},
      machines(8));
  EXPECT_TRUE(has(imported.problems(),
                  "run.sh:1:102: error: --vocab-size: says 32000, but vocab_size "
                  "(config.json:33) says 128256"))
      << imported.problems();
  EXPECT_EQ(imported.result.scenario, "");
}

TEST(Combining, WhatTheCallerStatesWins) {
  Given given = machines(8);
  given.push_back({"layout.tp", "4", "--set"});
  const Imported imported = import_command("--tensor-model-parallel-size 8", given);
  EXPECT_EQ(imported.value("layout.tensor"), "4");
  EXPECT_EQ(imported.origin("layout.tensor"), "given");
  EXPECT_EQ(imported.why("layout.tensor"),
            "in place of 8 of --tensor-model-parallel-size (run.sh:1)");
}

TEST(Precision, OfFullWidthIsAskedForWhereNoFileSaysSo) {
  const Imported imported = import_texts(
      {{"run.sh",
        "python train.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
        "--seq-length 4096 --vocab-size 32000 --micro-batch-size 1 --global-batch-size 64"}},
      machines(8));
  EXPECT_TRUE(imported.asks("precision.compute"));
  EXPECT_EQ(import_command("--fp8-format hybrid").value("precision.compute"), "fp8-delayed");
  EXPECT_EQ(import_command("--fp8-format hybrid --fp8-recipe blockwise").value("precision.compute"),
            "fp8-block");
}

TEST(UnknownKeys, StopTheImportUnlessTheyAreIgnored) {
  const std::string text =
      command("--lr 1e-4 --some-new-kernel --seed 1234 --attention-backend unfused");
  const std::vector<ConfigFile> files = {{"run.sh", text, std::nullopt}};
  Diagnostics diagnostics;
  const ImportResult stopped = import_configs(files, {"", machines(8)}, diagnostics);
  EXPECT_EQ(stopped.scenario, "");
  EXPECT_FALSE(stopped.settings.empty());  // what was read is said all the same
  EXPECT_TRUE(has(to_string(diagnostics), "--some-new-kernel: not understood"));
  EXPECT_TRUE(has(to_string(diagnostics), "--attention-backend: attention that is not fused"));
  EXPECT_FALSE(has(to_string(diagnostics), "--lr"));
  Diagnostics none;
  const ImportOptions options = {"", machines(8), "", {"--some-*", "attention_backend"}};
  EXPECT_TRUE(import_configs(files, options, none).complete());
  EXPECT_FALSE(none.has_errors());
}

TEST(Attention, OfMegatronDeepSpeedIsUnfusedUnlessItIsFlash) {
  const std::string deepspeed = "--deepspeed --zero-stage 1 --no-pipeline-parallel ";
  EXPECT_EQ(import_command(deepspeed).value("software.name"), "megatron-deepspeed");
  EXPECT_EQ(import_command(deepspeed + "--use-flash-attn-v2").value("software.name"),
            "megatron-deepspeed-fa2");
}

TEST(DenseLayers, AreThoseThatAnyKeyNames) {
  const auto dense = [](const std::string& keys) {
    return import_texts({{"config.json",
                          R"({"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe",
                              "hidden_size": 2048, "num_hidden_layers": 48, "num_experts": 128,
                              "num_attention_heads": 32, "num_experts_per_tok": 8,
                              "intermediate_size": 6144, "moe_intermediate_size": 768,
                              "vocab_size": 151936, )" +
                              keys + "}"}},
                        machines(8))
        .value("model.moe.dense_layers");
  };
  EXPECT_EQ(dense(R"("decoder_sparse_step": 2)"), "24");
  EXPECT_EQ(dense(R"("decoder_sparse_step": 2, "mlp_only_layers": [0, 1, 2, 3])"), "26");
  EXPECT_EQ(dense(R"("decoder_sparse_step": 1, "mlp_only_layers": [0, 1])"), "2");
}

TEST(ShardGroups, HoldTheContextRanksToo) {
  const auto imported = [](const std::string& degrees) {
    return import_texts(
        {{"train.toml",
          "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\n"
          "local_batch_size = 1\nglobal_batch_size = 32\n[parallelism]\n" +
              degrees}},
        machines(8));
  };
  EXPECT_EQ(imported("data_parallel_replicate_degree = 4\ndata_parallel_shard_degree = 8\n"
                     "context_parallel_degree = 2\n")
                .value("layout.shard_group"),
            "16");
  EXPECT_TRUE(has(
      imported("data_parallel_replicate_degree = 4\ndata_parallel_shard_degree = 8\n").problems(),
      "8 x 4 copies are not the 64 data-parallel ranks of the job"));
}

TEST(Nemo2, BuildsTheModelOfItsClass) {
  const auto imported = [](const std::string& name) {
    return import_texts(
        {{"config.yaml",
          "data: {seq_length: 8192, global_batch_size: 512, micro_batch_size: 1}\n"
          "model:\n  _target_: nemo.collections.llm.LlamaModel\n"
          "  config: {_target_: nemo.collections.llm." +
              name +
              ", num_layers: 32, hidden_size: 4096, ffn_hidden_size: 14336, num_attention_heads: "
              "32,"
              " num_query_groups: 8, vocab_size: 128256}\n"
              "optim: {config: {use_distributed_optimizer: true}}\n"
              "trainer:\n  devices: 8\n  num_nodes: 8\n"
              "  callbacks: [{_target_: x.MegatronCommOverlapCallback, tp_comm_overlap: true}]\n"
              "  plugins: {precision: bf16-mixed, fp8: hybrid, fp8_recipe: tensorwise}\n"
              "  strategy: {tensor_model_parallel_size: 4, sequence_parallel: true}\n"}},
        machines(8));
  };
  const Imported llama = imported("Llama3Config8B");
  EXPECT_EQ(llama.problems(), "");
  EXPECT_EQ(llama.value("model.activation"), "swiglu");
  EXPECT_EQ(llama.value("model.linear_bias"), "false");
  EXPECT_EQ(llama.value("layout.sharding"), "zero1");
  EXPECT_EQ(llama.value("overlap.tensor"), "true");
  EXPECT_EQ(llama.value("precision.compute"), "fp8-tensorwise");
  EXPECT_TRUE(imported("NemotronConfig8B").asks("model.activation"));
}

TEST(UnknownKeys, AreResolvedByStatingWhatTheySay) {
  const std::string muon = "--optimizer muon";
  EXPECT_TRUE(has(import_command(muon).problems(), "--optimizer: an optimizer that"));
  Given given = machines(8);
  given.push_back({"precision.optimizer.state_bytes", "8B", "--set"});
  EXPECT_EQ(import_command(muon, given).problems(), "");
}

const std::string kTrainer =
    " train.py --model_name_or_path m --per_device_train_batch_size 2 "
    "--gradient_accumulation_steps 4 "
    "--max_seq_length 2048 --bf16 --gradient_checkpointing --output_dir o\n";

TEST(Launches, OfTwoJobsAreNoJob) {
  const auto script = [](const std::string& first, const std::string& second) {
    return import_texts({{"run.sh", command(first) + command(second)}}, machines()).problems();
  };
  EXPECT_EQ(script("--swiglu", "--swiglu"), "");
  EXPECT_TRUE(
      has(script("--tensor-model-parallel-size 2", "--tensor-model-parallel-size 4"),
          "run.sh:2:8: error: pretrain_gpt.py: is started at line 1 too, with other options "
          "(--tensor-model-parallel-size): these are two jobs"));
}

TEST(Launches, NameTheDevicesOfAHost) {
  const auto gpus = [](const std::string& line) {
    const Imported imported = import_texts({{"run.sh", line}}, {});
    return imported.value("cluster.nodes") + "x" + imported.value("cluster.gpus_per_node");
  };
  EXPECT_EQ(gpus("deepspeed --include localhost:0,1,2,3" + kTrainer), "1x4");
  EXPECT_EQ(gpus("deepspeed --include worker-0:0,1@worker-1:2,3" + kTrainer), "2x2");
  EXPECT_EQ(gpus("NNODES=2 NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1 python" + kTrainer), "2x4");
  EXPECT_EQ(gpus("export CUDA_VISIBLE_DEVICES=0,1\npython" + kTrainer), "x2");
}

TEST(Launches, WithoutEitherFusedAttentionAreRefused) {
  const auto refused = [](const std::string& variables) {
    return has(import_texts({{"run.sh", variables + command("")}}, machines()).problems(),
               "attention that is not fused");
  };
  EXPECT_TRUE(refused("export NVTE_FLASH_ATTN=0 NVTE_FUSED_ATTN=0\n"));
  EXPECT_FALSE(refused("export NVTE_FLASH_ATTN=0\n"));
  EXPECT_FALSE(refused("export NVTE_FUSED_ATTN=0\n"));
}

// What a condition that cannot be decided may add to the precision counts.
TEST(Launches, MayBeOfEightBits) {
  const Imported imported = import_texts(
      {{"run.sh",
        "source ./env.sh\n[ \"$FP8\" = 1 ] && OPTS=\"--fp8-format hybrid\"\n" + command("$OPTS")}},
      machines());
  EXPECT_TRUE(has(imported.problems(), "run.sh:2:25: error: --fp8-format")) << imported.problems();
  EXPECT_EQ(imported.effect("source ./env.sh"), "unread");
}

// Of llm-foundry an algorithm without settings is on.
TEST(EmptySections, AreOnWhereTheTableNamesAnotherOff) {
  const auto refused = [](const std::string& algorithms) {
    return has(import_texts({{"train.yaml",
                              "global_train_batch_size: 64\ndevice_train_microbatch_size: 1\n"
                              "max_seq_len: 2048\nalgorithms: " +
                                  algorithms + "\n"}},
                            machines())
                   .problems(),
               "length of the sequences");
  };
  EXPECT_TRUE(refused("{seq_length_warmup: {}}"));
  EXPECT_FALSE(refused("{gradient_clipping: {clipping_type: norm}}"));
}

TEST(Combining, FilesOfOneProgramMustAgree) {
  const auto toml = [](const std::string& batch) {
    return "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = " + batch +
           "\nseq_len = 8192\n";
  };
  const Imported two = import_texts({{"a.toml", toml("1")}, {"b.toml", toml("2")}}, machines());
  EXPECT_NE(two.problems().find("b.toml:5:1: error: training.local_batch_size: says 2, but "
                                "training.local_batch_size (a.toml:5) says 1"),
            std::string::npos)
      << two.problems();
  using Text = std::pair<std::string, std::string>;
  const Text run{"run.sh",
                 "torchrun --nproc_per_node 8 -m torchtitan.train --training.local_batch_size 4"};
  for (const bool first : {true, false}) {  // the command counts over its file, wherever it stands
    const Text file{"a.toml", toml("1")};
    const std::vector<Text> texts = first ? std::vector{run, file} : std::vector{file, run};
    const Imported both = import_texts(texts, machines());
    EXPECT_EQ(both.value("batch.micro"), "4");
  }
}

}  // namespace
}  // namespace orrery::import_config::testing
