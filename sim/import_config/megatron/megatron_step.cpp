// Megatron-LM: precision, optimizer, recomputation, overlap, and the run.

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/text/text.hpp"
#include "sim/import_config/megatron/megatron_keys.hpp"
#include "sim/import_config/trees/key_fates.hpp"

namespace orrery::import_config {

namespace {

constexpr std::array<std::pair<std::string_view, const char*>, 4> kRecipes = {
    {{"delayed", "fp8-delayed"},
     {"tensorwise", "fp8-tensorwise"},
     {"blockwise", "fp8-block"},
     {"mxfp8", "mxfp8"}}};

// An 8-bit format and its recipe; false when the file asks for none.
bool read_narrow_format(const MegatronKeys& keys) {
  const std::string_view target = "precision.compute";
  const auto stated = [&keys](std::string_view names) -> const SourceItem* {
    const SourceItem* item = keys.import.keys.take(keys.path(names));
    return item == nullptr || lower_case(item->value.text) == "false" ? nullptr : item;
  };
  if (stated("fp4_format|fp4") != nullptr) {
    keys.set(target, "nvfp4", "fp4_format|fp4");
    return true;
  }
  const SourceItem* format = stated("fp8_format|fp8");
  if (format == nullptr && keys.import.program == "Megatron-LM") {
    const SourceItem* other = stated("fp8_e4m3");  // switches of their own until 2023
    format = stated("fp8_hybrid");
    format = format == nullptr ? other : format;
  }
  if (format == nullptr) {
    return false;
  }
  const auto name = keys.text("fp8_recipe");
  const std::string wanted = name.value_or("delayed");
  const auto* known = std::find_if(kRecipes.begin(), kRecipes.end(),
                                   [&](const auto& one) { return one.first == wanted; });
  if (known == kRecipes.end()) {
    keys.import.draft.leave_open(
        target, *keys.find("fp8_recipe"),
        fmt::format("{} is a recipe that a scenario does not have", yaml::display(wanted)));
  } else if (name) {
    keys.set(target, known->second, "fp8_recipe");
  } else {
    keys.import.draft.set(target, known->second, derived_from(*format, "delayed by default"));
  }
  return true;
}

void read_precision(const MegatronKeys& keys) {
  const bool narrow = read_narrow_format(keys);
  const bool bf16 = keys.on("bf16");
  const bool fp16 = keys.on("fp16");
  if (!narrow && (bf16 || fp16)) {
    keys.set("precision.compute", bf16 ? "bf16" : "fp16", bf16 ? "bf16" : "fp16");
  }
  keys.import.pending.full_precision = true;
  keys.import.pending.no_short_type |=
      keys.flag("bf16").has_value() || keys.flag("fp16").has_value();
  const std::string_view target = "precision.gradient_dtype";
  if (!keys.set_if("grad_reduce_in_bf16", target, "bf16")) {
    keys.set_if("accumulate_allreduce_grads_in_fp32", target, "fp32");
  }
}

double bytes_of(std::string_view dtype) {
  return dtype == "fp8" ? 1.0 : dtype == "bf16" || dtype == "fp16" ? 2.0 : 4.0;
}

void read_optimizer(const MegatronKeys& keys) {
  const auto name = keys.text("optimizer");
  const std::string word = lower_case(name.value_or(""));
  if (keys.set_if("use_bnb_optimizer", "precision.optimizer.name", "adam-8bit")) {
    keys.pass("optimizer");  // whichever it would be
  } else if (word == "adam" || word == "sgd" || word == "lion") {
    keys.set("precision.optimizer.name", word == "sgd" ? "sgd-momentum" : word, "optimizer");
  } else if (name) {
    keys.leave_out("optimizer", Effect::large, "an optimizer that a scenario does not know",
                   "precision.optimizer");
  }
  if (keys.on("use_precision_aware_optimizer")) {
    // Beside weights in bf16 an fp32 master copy is the 16 bits that they lack.
    const bool remainders = keys.flag("store_param_remainders").value_or(true) && keys.on("bf16") &&
                            keys.text("main_params_dtype").value_or("fp32").ends_with("32");
    double bytes = remainders ? -2.0 : 0.0;
    for (const std::string_view part : {"main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype"}) {
      bytes += bytes_of(keys.text(part).value_or("fp32"));
    }
    keys.derive("precision.optimizer.state_bytes", fmt::format("{}B", bytes),
                "use_precision_aware_optimizer",
                remainders ? "two moments, and of the parameters what bf16 lacks"
                           : "parameters and two moments in the stated types");
  }
  if (keys.on("optimizer_cpu_offload")) {
    const std::string_view share = "optimizer_offload_fraction";
    if (keys.import.keys.number(keys.path(share)).value_or(1.0) >= 1.0) {
      keys.set("offload.optimizer", "cpu", "optimizer_cpu_offload");
    } else {
      keys.leave_out(share, Effect::large,
                     "a scenario offloads the whole state of the optimizer or nothing");
    }
  }
}

constexpr std::string_view kGranularity =
    "recompute_granularity|activations_checkpoint_granularity";
constexpr std::string_view kMethod = "recompute_method|activations_checkpoint_method";
constexpr std::string_view kLayers = "recompute_num_layers|activations_checkpoint_num_layers";

void read_full_recompute(const MegatronKeys& keys, std::string_view by) {
  const auto method = keys.text(kMethod);
  const auto layers = keys.count(kLayers);
  if (layers && *layers == 0) {
    keys.set("recompute", "none", kLayers);
  } else if (layers && method && *method == "block") {
    keys.set("recompute.layers", *layers, kLayers);
  } else {
    keys.set("recompute", "full", by);
    if (layers && *layers > 1) {
      keys.leave_out(kLayers, Effect::small,
                     "inputs are kept of groups of layers: a scenario keeps those of every layer");
    }
  }
}

// One per item, also where the file has them as one text: "[moe_act layernorm]".
std::vector<std::string> module_names(const std::vector<std::string>& texts) {
  std::vector<std::string> names;
  for (std::string text : texts) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return std::strchr(",[]'\"", c) != nullptr; }, ' ');
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view name = cut(rest, ' ');
      if (!name.empty()) {
        names.emplace_back(name);
      }
    }
  }
  return names;
}

void read_selective_recompute(const MegatronKeys& keys, std::string_view by,
                              const std::vector<std::string>& modules) {
  const bool only_core = std::all_of(modules.begin(), modules.end(),
                                     [](const auto& name) { return name == "core_attn"; });
  if (keys.set_if("moe_layer_recompute", "recompute.modules", "[core_attn, moe]")) {
    return;
  }
  if (only_core) {
    keys.set("recompute", "selective", by);
  } else {
    keys.set("recompute.modules", fmt::format("[{}]", fmt::join(modules, ", ")),
             "recompute_modules");
  }
}

void read_recompute(const MegatronKeys& keys) {
  Draft& draft = keys.import.draft;
  const auto granularity = keys.text(kGranularity);
  const auto modules = module_names(keys.import.keys.texts(keys.path("recompute_modules")));
  const bool short_form = keys.on("recompute_activations");
  // Until 2022, and in Megatron-DeepSpeed and GPT-NeoX, one switch for whole layers. DeepSpeed's
  // says by whose code, not whether.
  if (keys.on("checkpoint_activations") && !granularity && draft.find("recompute") == nullptr) {
    keys.set("recompute", "full", "checkpoint_activations");
  }
  static_cast<void>(keys.on("deepspeed_activation_checkpointing"));
  static_cast<void>(keys.on("distribute_checkpointed_activations"));
  const std::string_view old_method = "activations_checkpoint_method";
  if (!granularity && !short_form && keys.find(old_method) != nullptr &&
      draft.find("recompute") == nullptr) {
    read_full_recompute(keys, old_method);  // of 2021 and 2022
  } else if (granularity && *granularity == "full") {
    read_full_recompute(keys, kGranularity);
  } else if (short_form || (granularity && *granularity == "selective")) {
    read_selective_recompute(keys, short_form ? "recompute_activations" : kGranularity, modules);
  } else if (keys.import.keys.is_unread(keys.path(kGranularity))) {
    const SourceItem& item = *keys.find(kGranularity);
    draft.leave_open("recompute", item, unread_reason(item.value));
  } else if (granularity) {
    keys.import.keys.error(*keys.find(kGranularity),
                           fmt::format("{} is no granularity", yaml::display(*granularity)),
                           "selective, full");
  }
}

// flex sends by DeepEP or HybridEP, as its backend says.
void read_dispatcher(const MegatronKeys& keys) {
  const std::string_view target = "software_options.expert_dispatcher";
  const std::string_view key = "moe_token_dispatcher_type";
  const auto type = keys.text(key);
  const auto backend = keys.text("moe_flex_dispatcher_backend");
  const bool apart = keys.import.draft.count("layout.expert").value_or(1) > 1;
  if (keys.import.draft.find("model.moe.num_experts") == nullptr) {
    return;
  }
  if (type && (*type == "alltoall" || *type == "flex")) {
    keys.set(target, *type == "flex" ? backend.value_or("deepep") : *type, key);
  } else if (type && apart) {
    keys.leave_out(key, Effect::large,
                   "a scenario sends tokens by all-to-all, not by gathering all of them", target);
  } else if (!type && apart && keys.import.program == "Megatron-LM" &&
             !keys.import.keys.is_unread(keys.path(key)) && !keys.on("moe_enable_deepep")) {
    keys.leave_out("expert_model_parallel_size|moe_token_dispatcher", Effect::large,
                   "without --moe-token-dispatcher-type Megatron-LM gathers all tokens, which a "
                   "scenario does not",
                   target);
  }
}

void read_overlap(const MegatronKeys& keys) {
  Draft& draft = keys.import.draft;
  const std::string_view reduce = "overlap_grad_reduce|overlap_grad_sync|optim.overlap_grad_sync";
  const auto reduces = keys.flag(reduce);
  const bool gathers = keys.on("overlap_param_gather|overlap_param_sync|optim.overlap_param_sync");
  if (reduces) {
    keys.set("overlap.data", *reduces, reduce);
  } else {
    keys.usual("overlap.data", false, "gradients are not reduced beside the backward");
  }
  if (reduces.value_or(false) && !gathers && !draft.is("layout.sharding", "none")) {
    draft.note(
        "gradients are reduced beside the backward, but parameters are not gathered beside the "
        "forward: a scenario hides both or none (overlap.data)");
  }
  const std::string_view bucket = "ddp_bucket_size|bucket_size";
  if (const auto size = keys.count(bucket); size && *size > 0) {
    const std::int64_t bytes = draft.is("precision.gradient_dtype", "bf16") ? 2 : 4;
    draft.set("overlap.bucket", fmt::format("{}B", *size * bytes),
              derived_from(*keys.find(bucket), fmt::format("parameters of {} bytes", bytes)));
  }
  keys.set_if("tp_comm_overlap|ub_tp_comm_overlap", "overlap.tensor", true);
  const bool off = keys.on("no_overlap_p2p_communication");
  const auto sends = keys.flag("overlap_p2p_comm");
  if (draft.count("layout.virtual_stages").value_or(1) > 1 && (off || sends)) {
    keys.set("overlap.pipeline", !off && sends.value_or(true),
             off ? "no_overlap_p2p_communication" : "overlap_p2p_comm");
  }
  read_dispatcher(keys);
}

// What the command line takes for what it does not say.
void read_absent(const MegatronKeys& keys) {
  for (const std::string& prefix : keys.prefixes) {
    keys.import.keys.rename(prefix + "cuda_graph_modules", prefix + "cuda_graph_scope");
  }
  if (keys.find("num_layers") == nullptr || keys.import.program != "Megatron-LM") {
    return;
  }
  if (keys.find("hidden_dropout") == nullptr) {
    keys.usual("software_options.dropout", true, "hidden_dropout is 0.1");
  }
  if (keys.find("num_experts") != nullptr && keys.find("moe_grouped_gemm") == nullptr) {
    keys.usual("software_options.grouped_gemm", "per_expert",
               "without moe_grouped_gemm one by one");
  }
}

void read_offload(const MegatronKeys& keys) {
  const auto modules = keys.import.keys.texts(keys.path("offload_modules"));
  if (keys.on("fine_grained_activation_offloading") && !modules.empty()) {
    keys.set("offload.modules", fmt::format("[{}]", fmt::join(modules, ", ")),
             "fine_grained_activation_offloading");
  }
}

}  // namespace

void read_megatron_step(MegatronKeys& keys) {
  read_precision(keys);
  read_optimizer(keys);
  read_recompute(keys);
  read_offload(keys);
  read_overlap(keys);
}

void read_megatron_run(MegatronKeys& keys) {
  if (keys.copy("train_tokens", "training.tokens")) {
    keys.pass("train_samples");  // bounds of Megatron-DeepSpeed, set to what is never reached
    keys.pass("train_iters");
  } else {
    keys.copy("train_iters", "training.steps");
    keep_count(keys.import, keys.path("train_samples"), keys.import.pending.samples,
               "training.tokens");
  }
  const auto steps = keys.count("save_interval");
  const SourceItem* save = keys.find("save_interval");
  const bool nowhere =
      save != nullptr && save->shown.starts_with("--") && keys.find("save") == nullptr;
  if (steps && *steps > 0 && !nowhere) {
    keys.set("checkpoint.interval", fmt::format("{} steps", *steps), "save_interval");
    if (!keys.set_if("async_save", "checkpoint.mode", "async")) {
      keys.usual("checkpoint.mode", "sync", "saves stop the training");
    }
  }
  keys.leave_out("step_batch_size_schedule", Effect::large, "the batch rises in steps", "training");
}

void read_megatron(Import& import, const std::vector<std::string>& prefixes) {
  MegatronKeys keys{import, prefixes};
  read_absent(keys);
  read_megatron_model(keys);
  read_megatron_layout(keys);
  read_megatron_step(keys);
  read_megatron_run(keys);
  if (keys.on("deepspeed")) {
    const bool flash = keys.on("use_flash_attn") || keys.on("use_flash_attn_v2") ||
                       keys.on("use_flash_attn_builder") || keys.on("use_flash_attn_triton");
    import.draft.set_stack(flash ? "megatron-deepspeed-fa2" : "megatron-deepspeed");
  }
}

}  // namespace orrery::import_config
