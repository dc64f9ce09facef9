#include "sim/import_config/effects.hpp"

#include <algorithm>
#include <array>

#include "sim/base/text/text.hpp"

namespace orrery::import_config {

namespace {

// Any text for each `*`, whatever the case; linear in the text for one star, and patterns have few.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && lower_case(pattern[p]) == lower_case(text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') {
    ++p;
  }
  return p == pattern.size();
}

// Patterns of keys without effect, words between blanks.
constexpr std::string_view kHuggingFace =
    "temperature top_p top_k typical_p torchscript num_beam* num_return_sequences "
    "*length_penalty repetition_penalty diversity_penalty max_length min_length "
    "*no_repeat_ngram_size early_stopping remove_invalid_values is_decoder "
    "is_encoder_decoder add_cross_attention tie_encoder_decoder tf_legacy_loss use_bfloat16 "
    "chunk_size_feed_forward sliding_window_size cache_implementation swiglu_limit "
    "use_routing_bias use_mrope embd_layer* *_token_id *_token_index *dropout* *_pdrop "
    "initializer_* *init_std init_std rms_norm_eps layer_norm_eps* layer_norm_epsilon "
    "norm_eps* rope_* rotary_* partial_rotary_factor use_cache transformers_version "
    "torch_dtype dtype auto_map* pretraining_tp _name_or_path output_* return_dict* "
    "problem_type id2label* label2id* router_aux_loss_coef router_jitter* router_z_loss* "
    "norm_topk_prob routed_scaling_factor scoring_func topk_method aux_loss_alpha seq_aux "
    "ep_size n_group topk_group max_window_layers max_position_embeddings n_ctx n_positions "
    "query_pre_attn_scalar quantization_config* use_sliding_window sliding_window summary_* "
    "task_specific_params* attention_softmax_in_fp32 masked_softmax_fusion "
    "bias_dropout_fusion skip_bias_add* slow_but_exact offset_alibi unk_token_id do_sample "
    "prefix architectures model_type layerdrop vision_config* audio_config* "
    "*_token_per_image initial_context_length attention_multiplier embedding_multiplier "
    "residual_multiplier logits_scaling do_layer_norm_before use_parallel_residual "
    "attn_config* layernorm_epsilon attn_implementation* _attn_implementation* "
    "*_block_size_* ";

constexpr std::string_view kDeepSpeed =
    "optimizer.params* scheduler* gradient_clipping prescale_gradients "
    "gradient_predivide_factor steps_per_print wall_clock_breakdown dump_state *loss_scale* "
    "*.hysteresis *.initial_scale_power tensorboard* wandb* csv_monitor* comet* "
    "flops_profiler* comms_logger* autotuning* monitor_config* elasticity* "
    "zero_allow_untested_optimizer zero_force_ds_cpu_optimizer *.pin_memory *.auto_cast "
    "zero_optimization.stage3_gather_16bit_weights_on_model_save "
    "zero_optimization.stage3_gather_fp16_weights_on_model_save *.nvme_path "
    "zero_optimization.contiguous_gradients zero_optimization.load_from_fp32_weights "
    "checkpoint.* data_efficiency* seed* nebula* memory_breakdown ";

constexpr std::string_view kMegatron =
    "*lr *lr_* min_lr* *weight_decay* *adam_* *sgd_momentum *clip_grad* *init_method* *seed* "
    "*log* *tensorboard* *wandb* *profile* *data_path* *data_cache* *split* *tokenizer* "
    "*vocab_file* *merge_file* *vocab_extra_ids *num_workers* *dataloader_type* *mock_data* "
    "*mmap* *attention_mask* *position_ids* *eod_mask_loss* *timeout* master_* rdzv_* "
    "node_rank standalone max_restarts tee redirects role sbatch.* ntasks* mpi container_* "
    "use_mcore_models use_legacy_models transformer_impl *use_flash_attn* attention_backend "
    "save* load* *no_load_* *no_save_* *finetune* *ckpt* *checkpoint_path* *exit_* *dropout* "
    "*loss_scale* *hysteresis* *epsilon* *norm_eps *layernorm_1p* *layernorm_zero_centered* "
    "rotary_* *rotary_base* *rotary_percent* *rope_* *mscale* *aux_loss* *z_loss* "
    "*load_balancing* *score_function* *expert_bias* *bias_update_rate* "
    "*topk_scaling_factor* *pre_softmax* *moe_router_dtype* *check_for_nan* *manual_gc* "
    "*empty_unused_memory* *one_logger* *distributed_backend* *tiktoken* env_vars* test_type "
    "launcher metrics* *calculate_per_token_loss* *use_checkpoint_* *auto_detect* "
    "*perform_initialization* *use_cpu_initialization* *params_dtype* *enable_experimental* "
    "*force_load_balancing* *eval_only* *skip_train* *test_mode* *fp8_margin* ";

constexpr std::string_view kMegatronMore =
    "*softmax_in_fp32* *inference* mode *temperature prompts top_k *num_tokens_to_generate* "
    "*mtp_loss_scaling* *straggler* max_tokens_to_oom incoming_requests* "
    "*use_tp_pp_dp_mapping* *fp8_interval* *fp8_amax* *fp8_e4m3* *fp8_hybrid* *fp8_wgrad* "
    "*reduce_amax* *use_emha* *num_experts* *timers* *_func *barrier_with* *onnx_safe* "
    "*openai_gelu* *bert_binary_head* *sample_rate* *mask_prob* *short_seq_prob* "
    "*data_parallel_random_init* *local_rank* *lazy_mpu_init* *adlr_autoresume* "
    "*nccl_communicator* *retro_* *eval_interval* *eval_iters* *train_data* *valid_data* "
    "*test_data* *encoder_seq_length* *decoder_seq_length* *decoder_num_layers* *async_save* "
    "*autocast* *pipeline_dtype* *moe_router_topk *moe_router_group_topk "
    "*moe_router_num_groups *moe_grouped_gemm* *group_query_attention* *per_split* spec "
    "*decoupled_* *no_initialization* *override_opt* *distributed_optimizer_instances* "
    "world_size ";

constexpr std::string_view kGptNeox =
    "data_impl *fusion* scaled_* rotary_* *_path checkpoint_validation* partition_activations "
    "checkpoint_num_layers synchronize_each_layer contiguous_checkpointing keep_last_n* "
    "launcher deepspeed_mpi *init* output_layer* text_gen* steps_per_print norm_eps *_eps "
    "gpt_j_tied zero_optimization.* fp16.* bf16.* optimizer.* max_position_embeddings seed ";

constexpr std::string_view kTrainer =
    "*eval* *lr* learning_rate* optim* warmup* weight_decay save* logging* *dataset* *data* "
    "template output_dir overwrite* plot* report_to* num_train_epochs num_epochs wandb* mlflow* "
    "*token* machine_rank main_* rdzv* same_network use_cpu downcast* debug dynamo* tpu* "
    "compute_environment seed val_* hub* resume* flash_attention flash_attn attn_implementation "
    "pad_to* train_on* group_by_length tf32 strict load_in_* xformers* early_stopping* "
    "local_rank max_samples preprocessing* stage do_train model_name_or_path base_model* "
    "model_type tokenizer_type trust_remote_code chat_template ddp_timeout gradient_clipping "
    "max_grad_norm fsdp_config.* deepspeed_config.* enable_cpu_affinity sequence_parallel_size "
    "loss_watchdog* special_tokens* gpu_ids use_mps* logging_steps mixed_precision ";

constexpr std::string_view kNemo =
    "run.* name exp_manager.* restore_from_* trainer.accelerator trainer.logger "
    "trainer.enable_* trainer.use_distributed* trainer.max_epochs trainer.max_time "
    "trainer.log_every* trainer.limit_* trainer.accumulate_grad_batches "
    "trainer.gradient_clip* trainer.benchmark trainer.max_steps trainer.devices "
    "trainer.strategy._target_ model.optim.* model.data.* model.tokenizer.* "
    "model.resume_from* model.restore_from* model.mcore_gpt model.native_amp_* "
    "model.hysteresis model.megatron_amp_O2 model.transformer_engine model.nsys_profile* "
    "model.*_process model.persist_layer_norm model.gradient_as_bucket_view model.apex_* "
    "model.headscale model.attention_type model.transformer_block_type "
    "model.normalize_attention_scores model.do_layer_norm_weight_decay "
    "model.use_scaled_init_method model.sync_batch_comm model.gc_interval model.fsdp_* "
    "model.sharp model.apply_query_key_layer_scaling model.ffn_dropout model.kv_channels "
    "model.rotary_percentage cluster_type defaults hydra.* model.fp32_residual_connection "
    "model.fp16_lm_cross_entropy model.grad_div_ar_fusion model.grad_allreduce_chunk_size_mb "
    "model.layernorm_epsilon model.get_attention_mask_from_fusion "
    "model.seq_len_interpolation* model.rotary_base model.tp_only_amax_red "
    "model.ub_tp_comm_overlap* model.reset_position* log.* resume.* model.precision ";

constexpr std::string_view kNanotron =
    "general.* logging.* data_stages* tokenizer.* optimizer.* profiler* lighteval* s3_upload* "
    "metrics_logging* checkpoints.* tokens.val_check_interval tokens.limit_* model.init_method* "
    "model.ddp_bucket_cap_mb model.model_config.*token_id model.model_config.init* "
    "model.model_config.is_* model.model_config.rope* model.model_config.*eps "
    "model.model_config.use_cache model.model_config.pretraining_tp parallelism.pp_engine "
    "parallelism.tp_mode model.model_config.z_loss* ";

constexpr std::string_view kBridge =
    "_target_ *._target_ *._call_ *._partial_ *._args_ tokenizer.* checkpoint.* logger.* rng.* "
    "rerun_state_machine.* scheduler.* profiling* dataset.* dist.* ft* straggler* nvrx* "
    "model.generation_config* *_init_method* tensor_inspect* inprocess_restart* validation.* ";

constexpr std::string_view kTorchtitan =
    "job.* profiling.* metrics.* optimizer.lr optimizer.eps optimizer.beta* "
    "optimizer.weight_decay optimizer.implementation optimizer.name lr_scheduler.* "
    "training.max_norm training.dataset* training.gc_* training.dataloader.* training.seed "
    "training.deterministic checkpoint.* comm.* validation.* debug.* "
    "memory_estimation.* model.hf_assets_path model.tokenizer_path "
    "model.print_after_conversion hf_assets_path dump_folder nproc_per_node rdzv_* "
    "local_ranks_filter role tee training.seq_len activation_checkpoint.early_stop float8.* "
    "compile.backend ";

// Written out whatever they are; those of a pipeline are read when there is one.
constexpr std::string_view kTorchtitanSaved =
    "profiler.* tokenizer* dataloader.* validator.* loss.* optimizer.* "
    "activation_checkpoint.* training.mixed_precision_reduce training.disable_cuda_graphs "
    "parallelism.spmd_backend parallelism.pipeline_parallel_* "
    "parallelism.context_parallel_load_balancer parallelism.fsdp_reshard_after_forward "
    "parallelism.enable_sequence_parallel parallelism.module_fqns_per_model_part override.* ";

bool any_matches(std::string_view patterns, std::string_view path) {
  while (!patterns.empty()) {
    const std::size_t end = std::min(patterns.find(' '), patterns.size());
    if (matches(patterns.substr(0, end), path)) {
      return true;
    }
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
  }
  return false;
}

}  // namespace

bool is_known_idle(ConfigFormat format, std::string_view path) {
  constexpr std::string_view kText = "text_config.";
  switch (format) {
    case ConfigFormat::hugging_face:
      if (path.starts_with(kText)) {
        path.remove_prefix(kText.size());
      }
      return any_matches(kHuggingFace, path);
    case ConfigFormat::deepspeed:
    case ConfigFormat::deepspeed_log:
      return any_matches(kDeepSpeed, path);
    case ConfigFormat::nanotron:
    case ConfigFormat::nanotron_log:
      return any_matches(kNanotron, path);
    case ConfigFormat::megatron_bridge:
    case ConfigFormat::megatron_bridge_log:
      return any_matches(kBridge, path) || any_matches(kMegatron, path) ||
             any_matches(kMegatronMore, path);
    case ConfigFormat::megatron_args:
    case ConfigFormat::megatron_yaml:
    case ConfigFormat::megatron_log:
      return any_matches(kMegatron, path) || any_matches(kMegatronMore, path);
    case ConfigFormat::gpt_neox:
      return any_matches(kGptNeox, path) || any_matches(kDeepSpeed, path) ||
             any_matches(kMegatron, path) || any_matches(kMegatronMore, path);
    case ConfigFormat::trainer_yaml:
    case ConfigFormat::trainer_log:
      return any_matches(kTrainer, path);
    case ConfigFormat::nemo:
    case ConfigFormat::nemo_log:
      return any_matches(kNemo, path) || any_matches(kMegatron, path) ||
             any_matches(kMegatronMore, path);
    case ConfigFormat::torchtitan:
    case ConfigFormat::torchtitan_command:
    case ConfigFormat::torchtitan_log:
      return any_matches(kTorchtitan, path);
    case ConfigFormat::torchtitan_saved:
      return any_matches(kTorchtitan, path) || any_matches(kTorchtitanSaved, path);
  }
  return false;
}

}  // namespace orrery::import_config
