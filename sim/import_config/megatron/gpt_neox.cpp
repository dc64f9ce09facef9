// GPT-NeoX: YAML with DeepSpeed's keys beside its own, which are Megatron-LM's under other names.
//
// Names and defaults: megatron/neox_arguments/neox_args.py and deepspeed_args.py of EleutherAI's
// gpt-neox (Apache-2.0).

#include <fmt/core.h>

#include <algorithm>

#include "sim/import_config/megatron/megatron_keys.hpp"

namespace orrery::import_config {

namespace {

// Of a gated MLP the file says three times its width (megatron/model/transformer.py).
void read_mlp_width(Import& import) {
  SourceKeys& keys = import.keys;
  const auto stated = copy_count(import, "ffn_hidden_size", "model.ffn_hidden_size");
  const auto factor = keys.number("expansion_factor");
  const auto multiple = keys.count("mlp_multiple_of").value_or(1);
  const auto hidden = copy_count(import, "hidden_size", "model.hidden_size");
  const std::string activation = keys.text("activation").value_or("");
  const bool llama = keys.text("mlp_type").value_or("") == "llama";  // until 2024
  const bool gated = activation.ends_with("glu") || activation == "bilinear";
  constexpr std::int64_t kMost = std::int64_t{1} << 30U;
  if (!hidden || *hidden > kMost || stated.value_or(0) > kMost || multiple < 1 ||
      multiple > kMost || (!gated && !llama && !factor && multiple == 1)) {
    return;
  }
  const std::int64_t whole = stated ? *stated
                             : factor
                                 ? static_cast<std::int64_t>(*factor * static_cast<double>(*hidden))
                                 : 4 * *hidden;
  const std::int64_t width = gated ? whole * 2 / 3 / 2 : llama && !stated ? whole * 2 / 3 : whole;
  import.draft.erase("model.ffn_hidden_size");
  import.draft.set(
      "model.ffn_hidden_size", (width + multiple - 1) / multiple * multiple,
      stated ? derived_from(*keys.find("ffn_hidden_size"),
                            fmt::format("{} of which a gate takes 2/3 / 2, up to a multiple of {}",
                                        whole, multiple))
             : default_of(import, "from hidden_size, up to mlp_multiple_of"));
}

// [[["flash"], 6], [["global", "local"], 6]]: kinds of layers, and how often they come.
bool attends_to_all(const yaml::Value& value) {
  const std::string& text = value.text;
  const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return (value.kind != yaml::Value::Kind::scalar || number || text == "global" ||
          text == "flash" || text == "all") &&
         std::all_of(value.items.begin(), value.items.end(), attends_to_all);
}

void read_model_words(Import& import) {
  SourceKeys& keys = import.keys;
  const bool untied = import.on("no_weight_tying");
  import.draft.set("model.tie_embeddings", !untied,
                   untied ? read_from(*keys.find("no_weight_tying"))
                          : default_of(import, "embedding and output share a table"));
  for (const std::string_view key : {"use_bias_in_attn_linear", "use_bias_in_mlp"}) {
    if (!keys.flag(key).value_or(true) && import.draft.find("model.linear_bias") == nullptr) {
      import.set("model.linear_bias", false, key);
    }
  }
  if (const auto mlp = keys.text("mlp_type"); mlp && *mlp == "llama") {
    import.set("model.activation", "swiglu", "mlp_type");
  }
  read_mlp_width(import);
  if (import.on("use_bnb_optimizer")) {
    import.set("precision.optimizer.name", "adam-8bit", "use_bnb_optimizer");
    static_cast<void>(keys.take("optimizer"));
  }
  if (const SourceItem* kinds = keys.take("attention_config")) {
    if (!attends_to_all(kinds->value)) {
      keys.error(*kinds, "holds layers without attention to all keys");
    }
    if (value_text(kinds->value).find("flash") != std::string::npos) {
      import.draft.set_stack("megatron-deepspeed-fa2");
    }
  }
  if (import.on("gpt_j_residual")) {
    import.draft.note(
        "gpt_j_residual: attention and MLP work side by side; costed one after the other");
  }
}

}  // namespace

void read_gpt_neox(Import& import) {
  SourceKeys& keys = import.keys;
  read_model_words(import);
  const std::int64_t pipeline = keys.count("pipeline_model_parallel_size").value_or(0);
  if (pipeline > 0) {  // 0: without the engine for pipelines
    import.set("layout.pipeline", pipeline, "pipeline_model_parallel_size");
  }
  const auto precision = keys.text("precision");
  const auto type = keys.text("fp16.type");  // counts over the name of its section
  if (type && *type == "bfloat16") {
    import.set("precision.compute", "bf16", "fp16.type");
    static_cast<void>(keys.flag("fp16.enabled"));
  } else if (precision && (*precision == "bfloat16" || *precision == "fp16")) {
    import.set("precision.compute", *precision == "fp16" ? "fp16" : "bf16", "precision");
  }
  for (const std::string_view name : {"bf16", "fp16"}) {
    const std::string enabled = fmt::format("{}.enabled", name);
    if (import.on(enabled) && import.draft.find("precision.compute") == nullptr) {
      import.set("precision.compute", std::string(name), enabled);
    }
  }
  read_zero(import);
  MegatronKeys megatron{import, {""}};
  read_megatron_model(megatron);
  read_megatron_layout(megatron);
  read_megatron_step(megatron);
  read_megatron_run(megatron);
  const auto micro = import.draft.count("batch.micro");
  const auto repeated = keys.count("gradient_accumulation_steps");
  if (micro && repeated && import.draft.find("batch.global") == nullptr) {
    import.pending.local_batch =
        PendingCount{*micro * *repeated, derived_from(*keys.find("gradient_accumulation_steps"),
                                                      fmt::format("{} x {}", *micro, *repeated))};
  }
}

}  // namespace orrery::import_config
