#include "tests/unit/import_config/key_table_programs.hpp"

namespace orrery::import_config::testing {
namespace {

const KeyValues kMegatron = {{"num_layers", "32"},          {"hidden_size", "4096"},
                             {"num_attention_heads", "32"}, {"seq_length", "4096"},
                             {"vocab_size", "50257"},       {"bf16", "true"},
                             {"micro_batch_size", "1"},     {"global_batch_size", "64"},
                             {"num_experts", "8"},          {"moe_ffn_hidden_size", "4096"}};

// The same below a section.
KeyValues megatron_below(const std::string& section, KeyValues more) {
  for (const auto& [key, value] : kMegatron) {
    if (key != "bf16" && !key.ends_with("batch_size")) {
      more.emplace_back(section + key, value);
    }
  }
  return more;
}

const KeyValues kMegatronOthers = {
    {"tensor_model_parallel_size", "2"},           {"pipeline_model_parallel_size", "4"},
    {"expert_model_parallel_size", "2"},           {"moe_token_dispatcher_type", "alltoall"},
    {"use_distributed_optimizer", "true"},         {"overlap_grad_reduce", "true"},
    {"num_layers_per_virtual_pipeline_stage", "2"}};

KeyValues below_model(KeyValues keys) {
  for (auto& [key, value] : keys) {
    key.insert(0, "model.");
  }
  return keys;
}

std::vector<TableProgram> megatron_programs() {
  return {
      {"megatron-lm", "run.sh", kMegatron, "python pretrain_gpt.py", "", "", kMegatronOthers,
       " fp16 fine_grained_activation_offloading pp_partition_method add_qkv_bias "
       "deepspeed_activation_checkpointing distribute_checkpointed_activations recompute_modules "
       "moe_flex_dispatcher_backend deepspeed_config tokenizer_type no_position_embedding "
       "q_lora_rank kv_lora_rank qk_head_dim qk_pos_emb_head_dim v_head_dim "},
      {"launchers",
       "run.sh",
       kMegatron,
       "torchrun pretrain_gpt.py",
       "",
       "",
       {},
       " sbatch.gres env.CUDA_VISIBLE_DEVICES "},
      {"primus", "run.yaml", kMegatron, "", "", "", {}, " overlap_p2p_comm "}};
}

std::vector<TableProgram> trainer_programs() {
  return {
      {"hugging-face",
       "config.json",
       {{"model_type", "llama"},
        {"hidden_size", "4096"},
        {"num_hidden_layers", "32"},
        {"num_attention_heads", "32"},
        {"intermediate_size", "11008"},
        {"vocab_size", "32000"}},
       "",
       "",
       "",
       {},
       " architectures "},
      {"hf-trainer",
       "args.yaml",
       {{"per_device_train_batch_size", "1"}, {"output_dir", "out"}, {"bf16", "true"}}},
      {"hf-scripts",
       "run.sh",
       {{"per_device_train_batch_size", "1"}, {"output_dir", "out"}, {"bf16", "true"}},
       "torchrun run_clm.py"},
      {"llama-factory",
       "sft.yaml",
       {{"model_name_or_path", "a/b"},
        {"finetuning_type", "full"},
        {"cutoff_len", "2048"},
        {"bf16", "true"}},
       "",
       "",
       "",
       {},
       " mixed_precision "},
      {"axolotl",
       "ax.yaml",
       {{"base_model", "a/b"}, {"sequence_len", "2048"}, {"micro_batch_size", "1"}},
       "",
       "",
       "",
       {},
       " resources_per_worker dp_replicate_size lora_r lora_dropout lora_target_modules "},
      {"accelerate",
       "acc.yaml",
       {{"distributed_type", "FSDP"}},
       "",
       "",
       "",
       {},
       " use_fsdp ec2_instance_type "},
      {"ms-swift",
       "run.sh",
       {{"model", "a/b"},
        {"train_type", "full"},
        {"torch_dtype", "bfloat16"},
        {"per_device_train_batch_size", "1"}},
       "swift sft",
       "",
       "",
       {},
       " bf16 "},
      {"ms-swift-megatron",
       "run.sh",
       {{"model", "a/b"}, {"train_type", "full"}, {"torch_dtype", "bfloat16"}},
       "megatron sft",
       "",
       "",
       kMegatronOthers,
       " account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split "
       "overlap_p2p_comm overlap_param_gather bf16 moe_token_dispatcher_type recompute_modules "}};
}

std::vector<TableProgram> deepspeed_programs() {
  return {
      {"deepspeed",
       "ds.json",
       {{"train_batch_size", "64"}, {"train_micro_batch_size_per_gpu", "1"}}},
      {"gpt-neox",
       "neox.yml",
       {{"pipe_parallel_size", "1"},
        {"num_layers", "32"},
        {"hidden_size", "4096"},
        {"num_attention_heads", "32"},
        {"seq_length", "2048"},
        {"precision", "bfloat16"},
        {"train_micro_batch_size_per_gpu", "1"}},
       "",
       "",
       "",
       {{"model_parallel_size", "2"}, {"vocab_size", "50257"}, {"moe_num_experts", "8"}},
       " bf16 padded_vocab_size "},
      {"nemo", "nemo.yaml",
       megatron_below("model.", {{"trainer.devices", "8"},
                                 {"trainer.num_nodes", "2"},
                                 {"trainer.precision", "bf16"},
                                 {"model.micro_batch_size", "1"},
                                 {"model.global_batch_size", "64"}}),
       "", "", "", below_model(kMegatronOthers),
       " model.fp8_e4m3 model.fp8_hybrid model.precision model.overlap_p2p_comm "},
      {"megatron-bridge", "run_config.yaml",
       megatron_below("model.", {{"_target_", "megatron.bridge.training.config.ConfigContainer"},
                                 {"train.micro_batch_size", "1"},
                                 {"train.global_batch_size", "64"}}),
       "", "", "", below_model(kMegatronOthers),
       " ddp.overlap_param_gather optimizer.overlap_param_gather comm_overlap.overlap_param_gather "
       "tokenizer.vocab_size comm_overlap.overlap_p2p_comm "
       "optimizer.use_distributed_optimizer ddp.use_distributed_optimizer "
       "ddp.overlap_grad_reduce comm_overlap.overlap_grad_reduce "
       "model.fine_grained_activation_offloading "
       "model.add_qkv_bias model.multi_latent_attention model.recompute_modules "
       "model.moe_flex_dispatcher_backend model.q_lora_rank model.kv_lora_rank model.qk_head_dim "
       "model.qk_pos_emb_head_dim model.v_head_dim model.make_vocab_size_divisible_by "}};
}

std::vector<TableProgram> other_programs() {
  return {{"nanotron",
           "nano.yaml",
           {{"parallelism.dp", "8"},
            {"tokens.sequence_length", "2048"},
            {"model.dtype", "bfloat16"},
            {"model.model_config.is_llama_config", "true"},
            {"model.model_config.num_hidden_layers", "2"},
            {"model.model_config.hidden_size", "1024"},
            {"model.model_config.intermediate_size", "4096"},
            {"model.model_config.num_attention_heads", "8"},
            {"model.model_config.vocab_size", "32000"}},
           "",
           "",
           "",
           {},
           " model.make_vocab_size_divisible_by "},
          {"llm-foundry",
           "mpt.yaml",
           {{"model.name", "mpt_causal_lm"},
            {"model.d_model", "4096"},
            {"model.n_layers", "32"},
            {"model.n_heads", "32"},
            {"max_seq_len", "2048"},
            {"precision", "amp_bf16"},
            {"global_train_batch_size", "64"},
            {"device_train_microbatch_size", "1"}},
           "",
           "",
           "",
           {},
           " max_duration "},
          {"maxtext",
           "run.yml",
           {{"base_emb_dim", "4096"},
            {"base_num_query_heads", "32"},
            {"base_num_kv_heads", "8"},
            {"base_mlp_dim", "14336"},
            {"base_num_decoder_layers", "32"},
            {"head_dim", "128"},
            {"vocab_size", "128256"},
            {"num_experts", "8"},
            {"per_device_batch_size", "1"}},
           "",
           "",
           "",
           {},
           " model_name "},
          {"torchtitan",
           "job.toml",
           {{"model.name", "deepseek_v3"}, {"model.flavor", "16B"}},
           "",
           "[job]\n",
           "job",
           {{"parallelism.pipeline_parallel_degree", "2"},
            {"parallelism.expert_parallel_degree", "2"},
            {"parallelism.context_parallel_degree", "2"},
            {"checkpoint.enable", "true"},
            {"compile.enable", "true"}},
           " experimental.pipeline_parallel_schedule "}};
}

}  // namespace

std::vector<TableProgram> table_programs() {
  std::vector<TableProgram> all;
  for (const auto& some :
       {megatron_programs(), trainer_programs(), deepspeed_programs(), other_programs()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace orrery::import_config::testing
