// Megatron-LM: precision, recomputation, overlap, optimizer, and the length of the run.

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/text/text.hpp"
#include "sim/import_config/megatron/megatron_keys.hpp"

namespace orrery::import_config {

namespace {

struct Recipe {
  std::string_view theirs;
  std::string_view ours;
};

constexpr std::array<Recipe, 4> kRecipes = {{{"delayed", "fp8-delayed"},
                                             {"tensorwise", "fp8-tensorwise"},
                                             {"blockwise", "fp8-block"},
                                             {"mxfp8", "mxfp8"}}};

// An 8-bit format and its recipe; false when the file asks for none.
bool read_narrow_format(MegatronKeys& keys) {
  SourceKeys& source = keys.import.keys;
  Draft& draft = keys.import.draft;
  const std::string four = keys.path({"fp4_format", "fp4"});
  if (const SourceItem* item = source.take(four)) {
    draft.set("precision.compute", "nvfp4", read_from(*item));
    return true;
  }
  const std::string eight = keys.path({"fp8_format", "fp8"});
  const SourceItem* format = source.take(eight);
  if (format == nullptr || format->value.text == "False" || format->value.text == "false") {
    return false;
  }
  const std::string path = keys.path("fp8_recipe");
  const auto name = source.text(path);
  const std::string wanted = name.value_or("delayed");
  const auto* known = std::find_if(
      kRecipes.begin(), kRecipes.end(), [&](const Recipe& r) { return r.theirs == wanted; });
  if (known == kRecipes.end()) {
    draft.leave_open(
        "precision.compute",
        *source.find(path),
        fmt::format("{} is a recipe that a scenario does not have", yaml::display(wanted)));
    return true;
  }
  draft.set("precision.compute",
            std::string(known->ours),
            name ? read_from(*source.find(path)) : derived_from(*format, "delayed by default"));
  return true;
}

void read_precision(MegatronKeys& keys) {
  Draft& draft = keys.import.draft;
  const bool narrow = read_narrow_format(keys);
  const bool bf16 = keys.on("bf16");
  const bool fp16 = keys.on("fp16");
  if (!narrow && (bf16 || fp16)) {
    draft.set(
        "precision.compute", bf16 ? "bf16" : "fp16", read_from(*keys.find(bf16 ? "bf16" : "fp16")));
  }
  keys.import.pending.full_precision = true;
  if (keys.on("grad_reduce_in_bf16")) {
    draft.set("precision.gradient_dtype", "bf16", read_from(*keys.find("grad_reduce_in_bf16")));
  } else if (keys.on("accumulate_allreduce_grads_in_fp32")) {
    draft.set("precision.gradient_dtype",
              "fp32",
              read_from(*keys.find("accumulate_allreduce_grads_in_fp32")));
  }
}

double bytes_of(std::string_view dtype, double usual) {
  if (dtype == "fp8") {
    return 1.0;
  }
  return dtype == "bf16" || dtype == "fp16" ? 2.0 : dtype == "fp32" ? 4.0 : usual;
}

void read_optimizer(MegatronKeys& keys) {
  SourceKeys& source = keys.import.keys;
  Draft& draft = keys.import.draft;
  const auto name = source.text(keys.path("optimizer"));
  if (name && lower_case(*name) == "adam") {
    draft.set("precision.optimizer.name", "adam", read_from(*keys.find("optimizer")));
  } else if (name && *name == "sgd") {
    draft.set("precision.optimizer.name", "sgd-momentum", read_from(*keys.find("optimizer")));
  } else if (name) {
    leave_out(keys.import,
              keys.path("optimizer"),
              Effect::large,
              "an optimizer that a scenario does not know",
              "precision.optimizer");
  }
  if (keys.on("use_precision_aware_optimizer")) {
    // Beside weights in bf16 an fp32 master copy is the 16 bits that they lack.
    const bool remainders =
        source.flag(keys.path("store_param_remainders")).value_or(true) && keys.on("bf16") &&
        source.text(keys.path("main_params_dtype")).value_or("fp32").ends_with("32");
    double bytes = remainders ? -2.0 : 0.0;
    for (const std::string_view part : {"main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype"}) {
      bytes += bytes_of(source.text(keys.path(part)).value_or("fp32"), 4.0);
    }
    draft.set("precision.optimizer.state_bytes",
              fmt::format("{}B", bytes),
              derived_from(*keys.find("use_precision_aware_optimizer"),
                           remainders ? "two moments, and of the parameters what bf16 lacks"
                                      : "parameters and two moments in the stated types"));
  }
  if (keys.on("optimizer_cpu_offload")) {
    const double share = source.number(keys.path("optimizer_offload_fraction")).value_or(1.0);
    if (share >= 1.0) {
      draft.set("offload.optimizer", "cpu", read_from(*keys.find("optimizer_cpu_offload")));
    } else {
      leave_out(keys.import,
                keys.path("optimizer_offload_fraction"),
                Effect::large,
                "a scenario offloads the whole state of the optimizer or nothing");
    }
  }
}

void read_full_recompute(MegatronKeys& keys, const SourceItem& item) {
  SourceKeys& source = keys.import.keys;
  Draft& draft = keys.import.draft;
  const std::string method_path = keys.path({"recompute_method", "activations_checkpoint_method"});
  const std::string layers_path =
      keys.path({"recompute_num_layers", "activations_checkpoint_num_layers"});
  const auto method = source.text(method_path);
  const auto layers = source.count(layers_path);
  if (layers && (*layers == 0 || (method && *method == "block"))) {
    if (*layers == 0) {
      draft.set("recompute", "none", read_from(*source.find(layers_path)));
    } else {
      draft.set("recompute.layers", *layers, read_from(*source.find(layers_path)));
    }
    return;
  }
  draft.set("recompute", "full", read_from(item));
  if (layers && *layers > 1) {
    leave_out(keys.import,
              layers_path,
              Effect::small,
              "inputs are kept of groups of layers: a scenario keeps those of every layer");
  }
}

// One per item, also where the file has them as one text: "[moe_act layernorm]".
std::vector<std::string> module_names(const std::vector<std::string>& texts) {
  std::vector<std::string> names;
  for (const std::string& text : texts) {
    for (std::size_t at = 0; at < text.size();) {
      constexpr std::string_view kBetween = " ,[]'\"";
      const std::size_t begin = std::min(text.find_first_not_of(kBetween, at), text.size());
      const std::size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
      if (end > begin) {
        names.push_back(text.substr(begin, end - begin));
      }
      at = end;
    }
  }
  return names;
}

void read_recompute(MegatronKeys& keys) {
  SourceKeys& source = keys.import.keys;
  Draft& draft = keys.import.draft;
  const std::string path =
      keys.path({"recompute_granularity", "activations_checkpoint_granularity"});
  const auto granularity = source.text(path);
  const std::string modules_path = keys.path("recompute_modules");
  const std::vector<std::string> all = module_names(source.texts(modules_path));
  std::vector<std::string> modules = all;
  const bool short_form = keys.on("recompute_activations");
  // Until 2022, and in Megatron-DeepSpeed and GPT-NeoX, one switch for whole layers. DeepSpeed's
  // says by whose code, not whether.
  if (keys.on("checkpoint_activations") && !granularity && draft.find("recompute") == nullptr) {
    draft.set("recompute", "full", read_from(*keys.find("checkpoint_activations")));
  }
  static_cast<void>(keys.on("deepspeed_activation_checkpointing"));
  static_cast<void>(keys.on("distribute_checkpointed_activations"));
  const SourceItem* method = keys.find("activations_checkpoint_method");
  if (!granularity && !short_form && method != nullptr && draft.find("recompute") == nullptr) {
    read_full_recompute(keys, *method);  // of 2021 and 2022
  } else if (granularity && *granularity == "full") {
    read_full_recompute(keys, *source.find(path));
  } else if (short_form || (granularity && *granularity == "selective")) {
    std::erase(modules, "core_attn");
    const Origin origin =
        short_form ? read_from(*keys.find("recompute_activations")) : read_from(*source.find(path));
    if (keys.on("moe_layer_recompute")) {
      draft.set(
          "recompute.modules", "[core_attn, moe]", read_from(*keys.find("moe_layer_recompute")));
    } else if (modules.empty()) {
      draft.set("recompute", "selective", origin);
    } else {
      draft.set("recompute.modules",
                fmt::format("[{}]", fmt::join(all, ", ")),
                read_from(*source.find(modules_path)));
    }
  } else if (source.is_unread(path)) {
    draft.leave_open("recompute", *source.find(path), unread_reason(source.find(path)->value));
  } else if (granularity) {
    source.error(*source.find(path),
                 fmt::format("{} is no granularity", yaml::display(*granularity)),
                 "selective, full");
  }
}

// flex sends by DeepEP or HybridEP, as its backend says.
void read_dispatcher(MegatronKeys& keys) {
  SourceKeys& source = keys.import.keys;
  const std::string dispatcher = keys.path("moe_token_dispatcher_type");
  const auto type = source.text(dispatcher);
  const auto backend = source.text(keys.path("moe_flex_dispatcher_backend"));
  const bool apart = keys.import.draft.count("layout.expert").value_or(1) > 1;
  if (keys.import.draft.find("model.moe.num_experts") == nullptr) {
    return;
  }
  if (!type) {
    const std::string expert = keys.path({"expert_model_parallel_size", "moe_token_dispatcher"});
    if (apart && keys.import.program == "Megatron-LM" && !source.is_unread(dispatcher) &&
        !keys.on("moe_enable_deepep")) {
      leave_out(keys.import,
                expert,
                Effect::large,
                "without --moe-token-dispatcher-type Megatron-LM gathers all tokens, which a "
                "scenario does not",
                "software_options.expert_dispatcher");
    }
    return;
  }
  if (*type == "alltoall" || *type == "flex") {
    keys.import.draft.set("software_options.expert_dispatcher",
                          *type == "flex" ? backend.value_or("deepep") : *type,
                          read_from(*source.find(dispatcher)));
  } else if (apart) {
    leave_out(keys.import,
              dispatcher,
              Effect::large,
              "a scenario sends tokens by all-to-all, not by gathering all of them",
              "software_options.expert_dispatcher");
  }
}

void read_overlap(MegatronKeys& keys) {
  SourceKeys& source = keys.import.keys;
  Draft& draft = keys.import.draft;
  const std::string reduce =
      keys.path({"overlap_grad_reduce", "overlap_grad_sync", "optim.overlap_grad_sync"});
  const std::string gather =
      keys.path({"overlap_param_gather", "overlap_param_sync", "optim.overlap_param_sync"});
  const auto reduces = source.flag(reduce);
  const auto gathers = source.flag(gather);
  draft.set("overlap.data",
            reduces.value_or(false),
            reduces ? read_from(*source.find(reduce))
                    : default_of(keys.import, "gradients are not reduced beside the backward"));
  if (reduces.value_or(false) && !gathers.value_or(false) && !draft.is("layout.sharding", "none")) {
    draft.note(
        "gradients are reduced beside the backward, but parameters are not gathered beside the "
        "forward: a scenario hides both or none (overlap.data)");
  }
  const std::string bucket = keys.path({"ddp_bucket_size", "bucket_size"});
  if (const auto size = source.count(bucket); size && *size > 0) {
    const std::int64_t bytes = draft.is("precision.gradient_dtype", "bf16") ? 2 : 4;
    draft.set("overlap.bucket",
              fmt::format("{}B", *size * bytes),
              derived_from(*source.find(bucket), fmt::format("parameters of {} bytes", bytes)));
  }
  const std::string tensor = keys.path({"tp_comm_overlap", "ub_tp_comm_overlap"});
  if (source.flag(tensor).value_or(false)) {
    draft.set("overlap.tensor", true, read_from(*source.find(tensor)));
  }
  const bool interleaved = draft.count("layout.virtual_stages").value_or(1) > 1;
  const bool off = keys.on("no_overlap_p2p_communication");
  const auto sends = source.flag(keys.path("overlap_p2p_comm"));
  if (interleaved && (off || sends)) {
    draft.set("overlap.pipeline",
              !off && sends.value_or(true),
              read_from(*keys.find(off ? "no_overlap_p2p_communication" : "overlap_p2p_comm")));
  }
  read_dispatcher(keys);
}

void read_run(MegatronKeys& keys) {
  SourceKeys& source = keys.import.keys;
  copy_count(keys.import, keys.path("train_iters"), "training.steps");
  keep_count(
      keys.import, keys.path("train_samples"), keys.import.pending.samples, "training.tokens");
  const std::string interval = keys.path("save_interval");
  const auto steps = source.count(interval);
  const SourceItem* save = keys.find("save_interval");
  const bool nowhere =
      save != nullptr && save->shown.starts_with("--") && keys.find("save") == nullptr;
  if (steps && *steps > 0 && !nowhere) {
    keys.import.draft.set(
        "checkpoint.interval", fmt::format("{} steps", *steps), read_from(*source.find(interval)));
    const bool async = keys.on("async_save");
    keys.import.draft.set("checkpoint.mode",
                          async ? "async" : "sync",
                          async ? read_from(*keys.find("async_save"))
                                : default_of(keys.import, "saves stop the training"));
  }
  leave_out(keys.import,
            keys.path("step_batch_size_schedule"),
            Effect::large,
            "the batch rises in steps",
            "training");
}

// What the command line takes for what it does not say.
void read_absent(MegatronKeys& keys) {
  for (const std::string& prefix : keys.prefixes) {
    keys.import.keys.rename(prefix + "cuda_graph_modules", prefix + "cuda_graph_scope");
  }
  if (keys.find("num_layers") == nullptr || keys.import.program != "Megatron-LM") {
    return;
  }
  if (keys.find("hidden_dropout") == nullptr) {
    keys.import.draft.set(
        "software_options.dropout", true, default_of(keys.import, "hidden_dropout is 0.1"));
  }
  if (keys.find("num_experts") != nullptr && keys.find("moe_grouped_gemm") == nullptr) {
    keys.import.draft.set("software_options.grouped_gemm",
                          "per_expert",
                          default_of(keys.import, "without moe_grouped_gemm one by one"));
  }
}

}  // namespace

void read_megatron_step(MegatronKeys& keys) {
  read_precision(keys);
  read_optimizer(keys);
  read_recompute(keys);
  read_overlap(keys);
}

void read_megatron_run(MegatronKeys& keys) {
  read_run(keys);
}

void read_megatron(Import& import, const std::vector<std::string>& prefixes) {
  MegatronKeys keys{import, prefixes};
  read_absent(keys);
  read_megatron_model(keys);
  read_megatron_layout(keys);
  read_megatron_step(keys);
  read_megatron_run(keys);
  if (keys.on("deepspeed")) {
    import.draft.set_stack("megatron-deepspeed");
  }
}

}  // namespace orrery::import_config
