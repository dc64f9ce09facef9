// Megatron-Bridge and NeMo run Megatron Core: their files hold its arguments in sections, most of
// them under the same name.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

#include "sim/base/units.hpp"
#include "sim/import_config/key_fates.hpp"
#include "sim/import_config/launch/launch_settings.hpp"

namespace orrery::import_config {

namespace {

// An argument, perhaps with its value, and what the file says in place of it: `key=value ...`, {}
// being the value of the argument. Nothing: the file has no word for it and needs none.
struct Translation {
  std::string_view argument;
  std::string_view words;
};

constexpr std::array<Translation, 19> kBridge = {{
    {"num_experts", "model.num_moe_experts={}"},
    {"swiglu",
     "model.gated_linear_unit=true model.activation_func._target_=torch.nn.functional.silu"},
    {"squared_relu", "model.activation_func._target_=megatron.core.activations.squared_relu"},
    {"untie_embeddings_and_output_weights", "model.share_embeddings_and_output_weights=false"},
    {"disable_bias_linear", "model.add_bias_linear=false"},
    {"group_query_attention", ""},
    {"data_path", ""},
    {"save", ""},
    {"seq_length", "dataset.seq_length={} model.seq_length={}"},
    {"num_virtual_stages_per_pipeline_rank", "model.virtual_pipeline_model_parallel_size={}"},
    {"decoder_first_pipeline_num_layers", "model.num_layers_in_first_pipeline_stage={}"},
    {"decoder_last_pipeline_num_layers", "model.num_layers_in_last_pipeline_stage={}"},
    {"fp8_format", "model.fp8={}"},
    {"fp4_format", "model.fp4={}"},
    {"grad_reduce_in_bf16", "ddp.grad_reduce_in_fp32=false"},
    {"accumulate_allreduce_grads_in_fp32", "ddp.grad_reduce_in_fp32=true"},
    {"ddp_bucket_size", "ddp.bucket_size={}"},
    {"no_overlap_p2p_communication", "model.overlap_p2p_comm=false"},
    {"no_gradient_accumulation_fusion", "model.gradient_accumulation_fusion=false"},
}};

constexpr std::array<Translation, 35> kNemo = {{
    {"swiglu", "model.activation=fast-swiglu"},
    {"squared_relu", "model.activation=squared-relu"},
    {"untie_embeddings_and_output_weights", "model.share_embeddings_and_output_weights=false"},
    {"disable_bias_linear", "model.bias=false"},
    {"group_query_attention", ""},
    {"data_path", ""},
    {"save", ""},
    {"seq_length", "model.encoder_seq_length={}"},
    {"num_experts", "model.num_moe_experts={}"},
    {"num_virtual_stages_per_pipeline_rank", "model.virtual_pipeline_model_parallel_size={}"},
    {"decoder_first_pipeline_num_layers", "model.num_layers_in_first_pipeline_stage={}"},
    {"decoder_last_pipeline_num_layers", "model.num_layers_in_last_pipeline_stage={}"},
    {"bf16", "trainer.precision=bf16"},
    {"fp16", "trainer.precision=16"},
    {"fp8_format", "model.fp8={}"},
    {"fp4_format", "model.fp4={}"},
    {"use_distributed_optimizer", "model.optim.name=distributed_fused_adam"},
    {"use_megatron_fsdp", "model.fsdp=true"},
    {"data_parallel_sharding_strategy optim_grads", "model.fsdp_sharding_strategy=grad"},
    {"data_parallel_sharding_strategy optim_grads_params", "model.fsdp_sharding_strategy=full"},
    {"grad_reduce_in_bf16", "model.optim.grad_sync_dtype=bf16"},
    {"accumulate_allreduce_grads_in_fp32", "model.optim.grad_sync_dtype=fp32"},
    {"overlap_grad_reduce", "model.optim.overlap_grad_sync=true"},
    {"overlap_param_gather", "model.optim.overlap_param_sync=true"},
    {"ddp_bucket_size", ""},
    {"tp_comm_overlap", "model.ub_tp_comm_overlap=true"},
    {"recompute_granularity", "model.activations_checkpoint_granularity={}"},
    {"recompute_method", "model.activations_checkpoint_method={}"},
    {"recompute_num_layers", "model.activations_checkpoint_num_layers={}"},
    {"train_iters", "trainer.max_steps={}"},
    {"save_interval", "exp_manager.checkpoint_callback_params.every_n_train_steps={}"},
    {"async_save", "exp_manager.checkpoint_callback_params.async_save=true"},
    {"no_overlap_p2p_communication", "model.overlap_p2p_comm=false"},
    {"no_gradient_accumulation_fusion", "model.gradient_accumulation_fusion=false"},
    {"moe_router_force_load_balancing", "model.moe_router_force_load_balancing=true"},
}};

// Lists stand with blanks on a command line.
std::string file_value(const LaunchSetting& setting) {
  if (setting.value.empty()) {
    return "true";
  }
  const bool several = setting.value.find(' ') != std::string::npos;
  const bool list = setting.key == "recompute_modules" || setting.key == "cuda_graph_scope";
  if (!several && !list) {
    std::string value = setting.value;
    std::erase(value, '\'');
    return value;
  }
  std::string text = setting.value;
  for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 2)) {
    text.replace(at, 1, ", ");
  }
  return "[" + text + "]";
}

void add_words(std::string_view words,
               const std::string& value,
               std::vector<LaunchSetting>& settings) {
  while (!words.empty()) {
    std::string_view theirs = cut(words, ' ');
    const std::string_view key = cut(theirs, '=');
    settings.push_back({std::string(key), theirs == "{}" ? value : std::string(theirs)});
  }
}

std::vector<LaunchSetting> translated(const scenario::Scenario& scenario,
                                      std::span<const Translation> table,
                                      std::string_view program) {
  std::vector<LaunchSetting> settings;
  for (const LaunchSetting& argument : megatron_settings(scenario)) {
    const std::string whole = argument.key + " " + argument.value;
    const auto known = std::find_if(table.begin(), table.end(), [&](const Translation& one) {
      return one.argument == argument.key || one.argument == whole;
    });
    if (known != table.end()) {
      add_words(known->words, file_value(argument), settings);
      continue;
    }
    std::string key = key_ending_in(program, argument.key);
    if (key.empty() && program == "nemo") {
      key = "model." + argument.key;
    }
    if (!key.empty()) {
      settings.push_back({std::move(key), file_value(argument)});
    }
  }
  if (scenario.model.moe && value_at(scenario, "software_options.grouped_gemm") == "per_expert") {
    settings.push_back({"model.moe_grouped_gemm", "false"});
  }
  return settings;
}

}  // namespace

std::vector<LaunchSetting> bridge_settings(const scenario::Scenario& scenario) {
  std::vector<LaunchSetting> settings = {
      {"_target_", "megatron.bridge.training.config.ConfigContainer"}};
  const auto more = translated(scenario, kBridge, "megatron-bridge");
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

std::vector<LaunchSetting> nemo_settings(const scenario::Scenario& scenario) {
  std::vector<LaunchSetting> settings = {
      {"trainer.num_nodes", fmt::format("{}", scenario.cluster.nodes)},
      {"trainer.devices", fmt::format("{}", scenario.cluster.gpus_per_node)}};
  const auto more = translated(scenario, kNemo, "nemo");
  settings.insert(settings.end(), more.begin(), more.end());
  if (scenario.step.bucket) {
    settings.push_back(
        {"model.optim.bucket_cap_mb",
         fmt::format("{}", static_cast<std::int64_t>(in_mebibytes(*scenario.step.bucket)))});
  }
  return settings;
}

}  // namespace orrery::import_config
