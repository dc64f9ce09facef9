// Files of other programs that were once read wrongly with exit code 0: one case for each kind.

#include <gtest/gtest.h>

#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

constexpr const char* kSmallModel =
    R"({"model_type": "qwen3", "num_hidden_layers": 36, "hidden_size": 4096,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 12288,
    "vocab_size": 151936, "tie_word_embeddings": false, "head_dim": 128,
    "torch_dtype": "bfloat16"})";

std::string megatron(const std::string& more) {
  return "python pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
         "--seq-length 4096 --vocab-size 32000 --micro-batch-size 1 --global-batch-size 64 " +
         more + "\n";
}

struct Stranger {
  std::string name;
  std::vector<std::pair<std::string, std::string>> files;
  std::string path;   // of the scenario
  std::string value;  // or a piece of the message, where `path` is empty; "?" asks for it
};

// The file of a trainer beside the model.
Stranger trainer(const std::string& name, const std::string& text, const std::string& path,
                 const std::string& value) {
  return {name, {{"config.json", kSmallModel}, {"train.yaml", text}}, path, value};
}

Stranger script(const std::string& name, const std::string& more, const std::string& path,
                const std::string& value) {
  return {name, {{"run.sh", megatron(more)}}, path, value};
}

std::vector<Stranger> trainers() {
  const std::string factory =
      "model_name_or_path: a/b\nfinetuning_type: full\ncutoff_len: 2048\n"
      "per_device_train_batch_size: 1\nbf16: true\n";
  const std::string axolotl = "base_model: a/b\nsequence_len: 2048\nmicro_batch_size: 1\n";
  const std::string fsdp = "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n";
  return {
      trainer("EightBitAdam", axolotl + "optimizer: adamw_8bit\n", "precision.optimizer.name",
              "adam-8bit"),
      trainer("OffInYaml", axolotl + "bf16: true\ngradient_checkpointing: off\n", "recompute", ""),
      trainer("OnInYaml", axolotl + "bf16: true\ngradient_checkpointing: Yes\n", "recompute",
              "full"),
      trainer("OctalInYaml", "base_model: a/b\nsequence_len: 2048\nmicro_batch_size: 010\n",
              "batch.micro", "8"),
      trainer("PagedAdam", factory + "optim: paged_adamw_8bit\n", "precision.optimizer.name",
              "adam-8bit"),
      trainer("Adafactor", factory + "optim: adafactor\n", "", "optim: is not read"),
      trainer("RecomputedUnlessTold", factory, "recompute", "full"),
      trainer("ToldNotToRecompute", factory + "disable_gradient_checkpointing: true\n", "recompute",
              ""),
      trainer("Preferences", factory + "stage: dpo\n", "model.reference", "true"),
      trainer("PairsAreTwoSequences", factory + "stage: dpo\n", "batch.micro", "2"),
      trainer("PreferencesWithoutAReference", factory + "stage: dpo\npref_loss: simpo\n",
              "model.reference", ""),
      trainer("PreferencesOfAxolotl", axolotl + "rl: dpo\nbf16: true\n", "model.reference", "true"),
      trainer("ReferenceComputedBefore",
              axolotl + "rl: dpo\nprecompute_ref_log_probs: true\nbf16: true\n", "model.reference",
              ""),
      trainer("RewardsBesidePreferences", factory + "stage: kto\n", "", "second model"),
      trainer("AdaptersUnlessTold", "model_name_or_path: a/b\ncutoff_len: 2048\nstage: sft\n",
              "model.lora.rank", "8"),
      trainer("UnfusedAttention", factory + "flash_attn: disabled\n", "", "flash_attn: attention"),
      trainer("SequencesSplit", factory + "sequence_parallel_size: 4\n", "layout.context", "4"),
      trainer("NeitherBf16NorFp16",
              "model_name_or_path: a/b\nfinetuning_type: full\ncutoff_len: 2048\nbf16: false\n",
              "precision.compute", "fp32"),
      trainer("BothDegreesOfAccelerate",
              fsdp + "  fsdp_version: 2\nparallelism_config:\n  parallelism_config_tp_size: 2\n",
              "layout.tensor", "2"),
      trainer("NoMixedPrecision", "distributed_type: MULTI_GPU\nmixed_precision: 'no'\n",
              "precision.compute", "fp32"),
      trainer("EightBitsOfNoRecipe", "distributed_type: MULTI_GPU\nmixed_precision: fp8\n",
              "precision.compute", "?"),
      trainer("OffloadInSections",
              "distributed_type: DEEPSPEED\nmixed_precision: bf16\ndeepspeed_config:\n  "
              "zero_stage: 3\n  offload_optimizer_device: cpu\n  offload_param_device: cpu\n",
              "offload.parameters", "cpu"),
      trainer("KeptWeightsOfFsdp2", fsdp + "  fsdp_reshard_after_forward: false\n",
              "layout.sharding", "zero3"),
      trainer("KeptWeightsAreNotGatheredAgain", fsdp + "  fsdp_reshard_after_forward: false\n",
              "overlap.fsdp.reshard", "false"),
      trainer("NothingAheadInTheBackward", fsdp + "  fsdp_sharding_strategy: FULL_SHARD\n",
              "overlap.fsdp.backward_prefetch", "none"),
      trainer("AheadWhereItIsStated",
              fsdp + "  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_backward_prefetch: "
                     "BACKWARD_PRE\n",
              "overlap.fsdp.backward_prefetch", "before"),
      {"PreferencesByTrl",
       {{"config.json", kSmallModel},
        {"run.sh",
         "accelerate launch --num_processes 16 trl/scripts/dpo.py --model_name_or_path a/b "
         "--per_device_train_batch_size 2 --bf16 True --max_length 2048 --beta 0.1\n"}},
       "model.reference",
       "true"},
      {"DefaultsOfTrlsCommands",
       {{"config.json", kSmallModel},
        {"run.sh", "trl sft --model_name_or_path a/b --per_device_train_batch_size 2\n"}},
       "recompute",
       "full"},
      {"LengthOfTrlsCommands",
       {{"config.json", kSmallModel}, {"run.sh", "trl sft --model_name_or_path a/b\n"}},
       "model.sequence_length",
       "1024"},
      {"PrecisionOfTrlsCommands",
       {{"config.json", kSmallModel}, {"run.sh", "trl sft --model_name_or_path a/b\n"}},
       "precision.compute",
       "bf16"},
      {"AdaptersOfSwiftByDefault",
       {{"config.json", kSmallModel}, {"run.sh", "swift sft --model a/b --max_length 4096\n"}},
       "model.lora.rank",
       "8"},
      {"ATaskWithinTheNameOfAScript",
       {{"config.json", kSmallModel},
        {"run.sh",
         "accelerate launch --num_processes 16 run_orpo.py --model_name_or_path a/b "
         "--per_device_train_batch_size 2 --bf16 True --max_length 2048\n"}},
       "batch.micro",
       "4"},
      {"AScorerByTheNameOfItsScript",
       {{"config.json", kSmallModel},
        {"run.sh",
         "accelerate launch reward_modeling.py --model_name_or_path a/b "
         "--per_device_train_batch_size 2 --bf16 True --max_length 2048\n"}},
       "",
       "second model"},
      {"ATaskOfTrlThatIsNoFineTuning",
       {{"config.json", kSmallModel},
        {"run.sh",
         "trl kto --model_name_or_path a/b --per_device_train_batch_size 2 --bf16 True\n"}},
       "",
       "second model"},
      {"ArgumentsOfTheTrainer",
       {{"config.json", kSmallModel},
        {"run.sh",
         "torchrun --nnodes 2 --nproc_per_node 8 run_clm.py --model_name_or_path a/b "
         "--per_device_train_batch_size 2 --gradient_accumulation_steps 8 --bf16 True --fsdp "
         "\"full_shard auto_wrap\" --optim adamw_bnb_8bit --block_size 4096 --output_dir out\n"}},
       "batch.global",
       "256"},
  };
}

std::vector<Stranger> megatrons() {
  const std::string moe = "--bf16 --num-experts 8 --moe-router-topk 2 ";
  return {
      script("GroupsNeedTheirSwitch", "--bf16 --num-query-groups 8", "model.num_query_groups", ""),
      script("GroupsWithTheirSwitch", "--bf16 --num-query-groups 8 --group-query-attention",
             "model.num_query_groups", "8"),
      script("ModulesOnTheHost",
             "--bf16 --fine-grained-activation-offloading --offload-modules core_attn attn_proj",
             "offload.modules", "[core_attn, attn_proj]"),
      script("FsdpAlone", "--bf16 --use-megatron-fsdp", "layout.sharding", "zero3"),
      script("ExpertsOneByOne", moe, "software_options.grouped_gemm", "per_expert"),
      script("ExpertsGrouped", moe + "--moe-grouped-gemm", "software_options.grouped_gemm",
             "grouped"),
      script("TokensAreGathered", moe + "--expert-model-parallel-size 8", "",
             "without --moe-token-dispatcher-type Megatron-LM gathers all tokens"),
      script("UnfusedAttention", "--bf16 --attention-backend unfused", "",
             "--attention-backend: attention that is not fused"),
      script("FusedAttention", "--bf16 --attention-backend fused", "precision.compute", "bf16"),
      script("NoLayerRecomputed",
             "--bf16 --recompute-granularity full --recompute-method block "
             "--recompute-num-layers 0",
             "recompute", "none"),
      script("Windows", "--bf16 --window-size 1023,0 --window-attn-skip-freq 4",
             "model.attention_window.size", "1024"),
      script("DropoutByDefault", "--bf16", "software_options.dropout", "true"),
      script("DropoutOff", "--bf16 --hidden-dropout 0.0", "software_options.dropout", "false"),
      script("NoSaveWithoutAPlace", "--bf16 --save-interval 100", "checkpoint.interval", ""),
      script("RemaindersOfMasterWeights",
             "--bf16 --use-distributed-optimizer --use-precision-aware-optimizer",
             "precision.optimizer.state_bytes", "10B"),
      script("QuotedPattern", moe + "--moe-layer-freq \"'([0]*1+[1]*31)'\"",
             "model.moe.dense_layers", "1"),
      script("EverySecondLayer", moe + "--deepspeed --expert-interval 2", "model.moe.dense_layers",
             "16"),
      script("OrderOfRanks", "--bf16 --use-tp-pp-dp-mapping", "layout.order", "[tp, cp, pp, dp]"),
      script("GraphsOfParts", "--bf16 --cuda-graph-impl local --cuda-graph-scope attn moe_router",
             "software_options.cuda_graphs", "[attn, moe_router]"),
      {"PrimusOverrides",
       {{"exp.yaml",
         "modules:\n  pre_trainer:\n    framework: megatron\n    model: llama3.1_8B.yaml\n    "
         "overrides:\n      tensor_model_parallel_size: 2\n      bf16: true\n"}},
       "layout.tensor",
       "2"},
      {"GpusOfTheBatchSystem",
       {{"job.slurm", "#SBATCH --nodes=4\n#SBATCH --gres=gpu:h100:8\n" + megatron("--bf16")}},
       "cluster.gpus_per_node",
       "8"},
  };
}

std::vector<Stranger> others() {
  const std::string neox =
      "pipe-parallel-size: 0\nmodel-parallel-size: 1\nnum-layers: 32\nhidden-size: 4096\n"
      "num-attention-heads: 32\nseq-length: 2048\nvocab_size: 32000\n"
      "train_micro_batch_size_per_gpu: 1\nbf16: {enabled: true}\n";
  const std::string titan =
      "[job]\n[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\n"
      "local_batch_size = 1\nseq_len = 8192\n";
  const std::string nemo =
      "trainer: {devices: 8, num_nodes: 2, precision: bf16}\nmodel:\n  "
      "num_layers: 12\n  hidden_size: 768\n  num_attention_heads: 12\n";
  return {
      {"RecomputedByWhom",
       {{"neox.yml", neox + "deepspeed_activation_checkpointing: true\n"}},
       "recompute",
       ""},
      {"Recomputed", {{"neox.yml", neox + "checkpoint_activations: true\n"}}, "recompute", "full"},
      {"SectionOfZero",
       {{"neox.yml", neox + "zero_optimization: {stage: 1, overlap_comm: true}\n"}},
       "overlap.data",
       "true"},
      {"ThriceTheWidth",
       {{"neox.yml",
         neox + "activation: swiglu\nintermediate_size: 33024\nmlp_multiple_of: 256\n"}},
       "model.ffn_hidden_size",
       "11008"},
      {"RowsOfScales",
       {{"job.toml", titan + "[float8]\nrecipe_name = \"rowwise\"\nenable_float8_linear = true\n"}},
       "precision.compute",
       "fp8-rowwise"},
      {"GathersOfTorchtitan",
       {{"job.toml", titan + "[float8]\nenable_float8_linear = true\n"
                             "enable_fsdp_float8_all_gather = true\n"}},
       "precision.parameters",
       "fp8"},
      {"GathersOfTorchtitanByDefault",
       {{"job.toml", titan + "[float8]\nenable_float8_linear = true\n"}},
       "precision.parameters",
       "bf16"},
      {"OptimizerOfTorchtitan",
       {{"job.toml", titan + "[optimizer]\nname = \"SGD\"\n"}},
       "precision.optimizer.name",
       "sgd"},
      {"SavesOf2025",
       {{"job.toml", titan + "[checkpoint]\nenable_checkpoint = true\ninterval = 100\n[float8]\n"}},
       "checkpoint.interval",
       "100 steps"},
      {"BertOfNemo",
       {{"bert.yaml", nemo + "  bert_binary_head: true\n"}},
       "",
       "belongs to another model or task"},
      {"AdaptersOfNemo",
       {{"peft.yaml", nemo + "  peft: {peft_scheme: lora}\n"}},
       "model.lora.targets",
       "[qkv]"},
      {"VocabularyOfNemo",
       {{"nemo.yaml", nemo + "  override_vocab_size: 32000\n"}},
       "model.vocab_size",
       "32000"},
      {"EqualNumbersOfLayers",
       {{"config.json",
         R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 4096,
         "num_attention_heads": 32, "num_key_value_heads": [8, 8],
         "intermediate_size": [14336, 14336], "vocab_size": 32000})"}},
       "model.num_query_groups",
       "8"},
      {"OneGroupOfBigCode",
       {{"config.json",
         R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_head": 48, "n_layer": 40,
         "n_inner": 24576, "n_positions": 8192, "vocab_size": 49152})"}},
       "model.num_query_groups",
       "1"},
  };
}

class Strangers : public ::testing::TestWithParam<Stranger> {};

TEST_P(Strangers, AreReadAsTheirProgramReadsThem) {
  const Stranger& one = GetParam();
  const Imported imported = import_texts(one.files, machines(2));
  if (one.path.empty()) {
    EXPECT_NE(imported.problems().find(one.value), std::string::npos) << imported.problems();
    EXPECT_EQ(imported.result.scenario, "");
  } else if (one.value == "?") {
    EXPECT_EQ(imported.problems(), "");
    EXPECT_TRUE(imported.asks(one.path)) << imported.value(one.path);
  } else {
    EXPECT_EQ(imported.problems(), "");
    EXPECT_EQ(imported.value(one.path), one.value);
  }
}

std::string name_of(const ::testing::TestParamInfo<Stranger>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Trainers, Strangers, ::testing::ValuesIn(trainers()), name_of);
INSTANTIATE_TEST_SUITE_P(Megatron, Strangers, ::testing::ValuesIn(megatrons()), name_of);
INSTANTIATE_TEST_SUITE_P(Others, Strangers, ::testing::ValuesIn(others()), name_of);

// ERNIE's names: 64 experts of which 6, two shared, the first layer dense.
TEST(As, MapsNamesAndLosesNoExpert) {
  const Imported imported =
      import_as("llama",
                R"({"model_type": "newmoe", "hidden_size": 2560, "intermediate_size": 12288,
      "moe_intermediate_size": 1536, "num_hidden_layers": 28, "num_attention_heads": 20,
      "num_key_value_heads": 4, "head_dim": 128, "moe_num_experts": 64,
      "moe_num_shared_experts": 2, "moe_k": 6, "moe_layer_start_index": 1,
      "moe_layer_end_index": 27, "moe_layer_interval": 1, "vocab_size": 103424,
      "tie_word_embeddings": true, "hidden_act": "silu"})");
  EXPECT_EQ(imported.problems(), "");
  ASSERT_TRUE(imported.result.model);
  EXPECT_NEAR(static_cast<double>(imported.result.model->parameters), 21.8e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(imported.result.model->active), 3.35e9, 0.05e9);
  EXPECT_EQ(imported.value("model.moe.dense_layers"), "1");
}

TEST(As, NeverIgnoresWhatSaysTheStructure) {
  const std::string plain =
      R"({"model_type": "new", "hidden_size": 4096, "intermediate_size": 11008,
      "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000, )";
  for (const char* more :
       {R"("hybrid_override_pattern": "M-M*"})", R"("block_configs": [{"ffn": {"no_op": true}}]})",
        R"("layer_types": ["linear_attention", "full_attention"]})", R"("ssm_state_size": 128})",
        R"("some_new_width": 512})"}) {
    const Imported imported = import_as("llama", plain + more);
    EXPECT_NE(imported.problems(), "") << more;
    EXPECT_EQ(imported.result.scenario, "") << more;
  }
}

TEST(Scripts, TakeWhatTheirCallerPasses) {
  ConfigFile file = {"run.sh",
                     "MODEL=$1\nif [ $MODEL = 8B ]; then\n  LAYERS=32\nelse\n  LAYERS=80\nfi\n"
                     "python train.py --num-layers $LAYERS --tensor-model-parallel-size ${TP} "
                     "--micro-batch-size ${2}\n",
                     std::nullopt,
                     {{"1", "8B"}, {"2", "4"}, {"TP", "2"}}};
  Diagnostics diagnostics;
  const ImportResult result = import_configs(std::vector<ConfigFile>{file}, {}, diagnostics);
  std::string found;
  for (const ImportedSetting& setting : result.settings) {
    if (setting.path == "model.num_layers" || setting.path == "layout.tensor" ||
        setting.path == "batch.micro") {
      found += setting.value + " ";
    }
  }
  EXPECT_EQ(found, "32 2 4 ");
}

// Of 12,800 runs each excerpt began with as many empty lines as stood before it.
TEST(StrangerFiles, OfManyRunsKeepTheirLines) {
  std::string text;
  for (int run = 0; run < 3; ++run) {
    text +=
        "[INFO|trainer.py:1] >> ***** Running training, Total optimization steps = 100\n"
        "Model config LlamaConfig {\n  \"model_type\": \"llama\",\n  \"hidden_size\": 64\n}\n"
        "  0%|   | 0/100 [00:00<?, ?it/s]\n 50%|   | 50/100 [01:40<01:40, 2.00s/it]\n";
  }
  const Imported imported = import_texts({{"many.log", text}});
  EXPECT_EQ(imported.line("model.hidden_size"), 2 * 7 + 4);
}

TEST(StrangerFiles, OfPrimusTakeTheModelFromTheFileThatTheyNameAndAskForOneThatIsMissing) {
  const std::string run =
      "modules:\n  pre_trainer:\n    framework: megatron\n    model: small.yaml\n    overrides:\n"
      "      seq_length: ${PRIMUS_SEQ_LENGTH:4096}\n      micro_batch_size: 1\n"
      "      global_batch_size: 64\n      num_layers: 8\n";
  const std::string model =
      "extends: [base.yaml]\nnum_layers: 32\nhidden_size: 4096\nnum_attention_heads: 32\n";
  const std::string base =
      "num_layers: 24\nswiglu: true\nnormalization: RMSNorm\nhidden_size: 1024\n";
  const Imported all =
      import_texts({{"run.yaml", run}, {"small.yaml", model}, {"base.yaml", base}}, machines());
  EXPECT_EQ(all.value("model.num_layers"), "8");
  EXPECT_EQ(all.value("model.hidden_size"), "4096");
  EXPECT_EQ(all.value("model.activation"), "swiglu");
  EXPECT_EQ(all.value("model.sequence_length"), "4096");
  const Imported alone = import_texts({{"run.yaml", run}}, machines());
  EXPECT_EQ(alone.value("model.activation"), "");
  EXPECT_TRUE(alone.asks("model.activation"));
  EXPECT_NE(report_text(alone.result).find("small.yaml: give this file as a further one"),
            std::string::npos);
}

TEST(StrangerFiles, OfProgramsThatAreKnownAndNotReadSaySo) {
  const auto problems = [](const std::string& text) {
    return import_texts({{"a.yaml", text}}).problems();
  };
  EXPECT_EQ(problems("actor_rollout_ref:\n  model: {path: a/b}\n"),
            "a.yaml: error: generates text between steps (reinforcement by verl), which a scenario "
            "cannot express\n");
  EXPECT_EQ(
      problems("train:\n  train_iters: 9\nscheduler: {a: 1}\ndist: {}\nlogger: {}\n"),
      "a.yaml: error: holds what a script changes of a recipe, and the recipe is "
      "Megatron-Bridge's code: import the run_config.yaml that it saves with a checkpoint, or "
      "the log\n");
}

// 4 hosts with 4 processes each, and a strategy that stands in another file.
TEST(StrangerFiles, OfAcceleratesLauncherAreNoTrainerByDefault) {
  const Imported imported = import_texts(
      {{"run.sh",
        "accelerate launch --config_file fsdp.yaml --num_processes 16 --num_machines 4 train.py "
        "--mixed_precision bf16\n"}});
  EXPECT_EQ(imported.value("cluster.gpus_per_node"), "4");
  EXPECT_EQ(imported.value("layout.sharding"), "");
  EXPECT_TRUE(imported.asks("layout.sharding"));
  EXPECT_EQ(imported.value("batch.micro"), "");
}

TEST(StrangerFiles, OfMaxTextCountTheBatchOfEveryDeviceAndCopyBetweenHosts) {
  const Imported imported = import_texts(
      {{"run.yml",
        "base_config: base.yml\nmodel_name: small\nper_device_batch_size: 2\n"
        "ici_tensor_parallelism: 2\nhardware: gpu\n"},
       {"small.yml",
        "base_emb_dim: 4096\nbase_num_query_heads: 32\nbase_num_kv_heads: 8\n"
        "base_num_decoder_layers: 32\nbase_mlp_dim: 14336\nhead_dim: 128\n"
        "mlp_activations: [silu, linear]\nvocab_size: 128256\ndecoder_block: llama2\n"}},
      {{"cluster.gpu", "h100-sxm-80gb", "--gpu"}, {"cluster.nodes", "4", "--nodes"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("batch.global"), "64");  // 2 x 32 ranks
  EXPECT_EQ(imported.value("batch.micro"), "4");    // of 16 data-parallel ranks
  EXPECT_EQ(imported.value("layout.sharding"), "hsdp");
  EXPECT_EQ(imported.value("layout.shard_group"), "4");
  EXPECT_EQ(imported.origin("recompute"), "default");
  EXPECT_EQ(imported.result.model->parameters, 8'030'261'248);
}

// Latent attention by its widths, windows by the family, numbers as Python writes them.
TEST(StrangerFiles, OfMaxTextSayWhichAttentionAFamilyHas) {
  const std::string sizes =
      "base_config: base.yml\nper_device_batch_size: 1\nhardware: gpu\nbase_emb_dim: 2048\n"
      "base_num_query_heads: 16\nbase_num_kv_heads: 16\nbase_num_decoder_layers: 26\n"
      "base_mlp_dim: 10_944\nhead_dim: 128\nvocab_size: 102_400\n";
  const Imported latent = import_texts(
      {{"a.yml",
        sizes + "mlp_activations: [silu, linear]\ndecoder_block: deepseek\nattention_type: mla\n"
                "kv_lora_rank: 512\nqk_nope_head_dim: 128\nqk_rope_head_dim: 64\n"
                "v_head_dim: 128\n"}},
      machines(1));
  EXPECT_EQ(latent.problems(), "");
  EXPECT_EQ(latent.value("model.mla.kv_lora_rank"), "512");
  EXPECT_EQ(latent.value("model.vocab_size"), "102400");
  EXPECT_EQ(latent.value("model.head_dim"), "");
  const Imported windows =
      import_texts({{"a.yml", sizes + "mlp_activations: [gelu, linear]\ndecoder_block: gemma2\n"
                                      "sliding_window_size: 4096\n"}},
                   machines(1));
  EXPECT_EQ(windows.problems(), "");
  EXPECT_EQ(windows.value("model.activation"), "swiglu");
  EXPECT_EQ(windows.value("model.attention_window.size"), "4096");
  EXPECT_EQ(windows.value("model.attention_window.full_every"), "2");
}

TEST(StrangerFiles, OfLlmFoundryMayMergeSectionsAndStateTheWidthOfTheMlp) {
  const Imported imported = import_texts(
      {{"mpt.yaml",
        "max_seq_len: 2048\nmodel: {name: mpt_causal_lm, d_model: 4096, n_heads: 32, n_layers: "
        "32,\n"
        "  expansion_ratio: 4, vocab_size: 50368, ffn_config: {ffn_hidden_size: 11008}}\n"
        "train_loader: &loader {name: text, drop_last: true}\n"
        "eval_loader: {<<: *loader, drop_last: false}\nmax_duration: 100ba\n"
        "global_train_batch_size: 64\ndevice_train_microbatch_size: 1\n"}},
      machines(1));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.ffn_hidden_size"), "11008");
}

TEST(StrangerFiles, OfAcceleratesLauncherTurnOnFsdpAndDeepspeed) {
  const auto launched = [](const std::string& options) {
    return import_texts({{"config.json", config_text("llama-3.1-8b.json")},
                         {"run.sh", "accelerate launch " + options +
                                        " --num_machines 2 --num_processes 16 train.py "
                                        "--per_device_train_batch_size 2 --bf16 True\n"}},
                        {{"cluster.gpu", "h100-sxm-80gb", "--gpu"}});
  };
  const Imported fsdp = launched("--use_fsdp --fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP");
  EXPECT_EQ(fsdp.problems(), "");
  EXPECT_EQ(fsdp.value("layout.sharding"), "zero3");
  EXPECT_EQ(launched("--use_fsdp --fsdp_sharding_strategy SHARD_GRAD_OP").value("layout.sharding"),
            "zero2");
  EXPECT_EQ(launched("--use_deepspeed").value("layout.sharding"), "zero2");
  EXPECT_EQ(launched("--use_deepspeed --zero_stage 3").value("layout.sharding"), "zero3");
}

TEST(StrangerFiles, OfLlmFoundryHaveItsDefaults) {
  const Imported imported = import_texts(
      {{"mpt.yaml",
        "max_seq_len: 2048\nmodel: {name: mpt_causal_lm, d_model: 4096, n_heads: 32, n_layers: "
        "32,\n"
        "  expansion_ratio: 4, vocab_size: 50368}\noptimizer: {name: decoupled_adamw}\n"
        "max_duration: 63900ba\nglobal_train_batch_size: 1024\n"
        "device_train_microbatch_size: auto\nfsdp_config: {mixed_precision: PURE}\n"}},
      {{"cluster.gpu", "h100-sxm-80gb", "--gpu"}, {"cluster.nodes", "4", "--nodes"}});
  EXPECT_EQ(imported.value("model.ffn_hidden_size"), "16384");
  EXPECT_EQ(imported.value("training.steps"), "63900");
  EXPECT_EQ(imported.value("layout.sharding"), "zero3");
  EXPECT_EQ(imported.value("precision.gradient_dtype"), "bf16");
  EXPECT_EQ(imported.value("model.position"), "learned");
  EXPECT_TRUE(imported.asks("batch.micro"));
}

TEST(StrangerFiles, OfSwiftsMegatronTakeTheModelFromItsConfig) {
  const std::string model =
      R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
      "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000,
      "torch_dtype": "bfloat16"})";
  const std::string script =
      "megatron sft --model a/b --save_safetensors true --tensor_model_parallel_size 4 "
      "--global_batch_size 16 --max_length 8192\n";
  const Imported imported =
      import_texts({{"run.sh", script}, {"config.json", model}},
                   {{"cluster.gpu", "h100-sxm-80gb", "--gpu"}, {"cluster.nodes", "1", "--nodes"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("batch.micro"), "1");
  EXPECT_EQ(imported.value("recompute"), "selective");
  EXPECT_EQ(imported.value("layout.sharding"), "zero1");
  EXPECT_EQ(imported.value("model.linear_bias"), "false");
  EXPECT_EQ(imported.result.model->parameters, 6'738'415'616);
}

TEST(StrangerFiles, OfShellsReadTwoDigitsAChoiceAndNothingBehindARedirection) {
  const Imported imported =
      import_texts({{"run.sh",
                     "TP=${10:-2}\nflags=$(( ($TP > 1) ? 1 : 0 ))\nif [ $flags -eq 1 ]; then\n"
                     "more=\"--sequence-parallel\"\nfi\nip=$(srun hostname --ip-address)\n"
                     "cmd=\"torchrun --rdzv_endpoint $ip:1 pretrain_gpt.py --num-layers 2 --bf16 "
                     "--tensor-model-parallel-size $TP $more --checkpoint-activations &> "
                     "log\"\neval ${cmd}\n"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("layout.tensor"), "2");
  EXPECT_EQ(imported.value("layout.sequence_parallel"), "true");
  EXPECT_EQ(imported.value("recompute"), "full");
}

}  // namespace
}  // namespace orrery::import_config::testing
