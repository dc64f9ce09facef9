// Megatron-LM: the model.

#include <fmt/core.h>

#include <algorithm>

#include "sim/base/text/text.hpp"
#include "sim/import_config/hugging_face/layer_patterns.hpp"
#include "sim/import_config/megatron/megatron_keys.hpp"

namespace orrery::import_config {

namespace {

void copy(MegatronKeys& keys, std::string_view name, std::string_view target) {
  copy_count(keys.import, keys.path(name), target);
}

void read_activation(MegatronKeys& keys) {
  Draft& draft = keys.import.draft;
  const auto set = [&](const char* value, std::string_view key) {
    draft.set("model.activation", value, read_from(*keys.find(key)));
  };
  std::string name;
  std::string named_by;
  for (const std::string_view key : {"activation", "activation_func"}) {
    if (const auto text = keys.import.keys.text(keys.path(key))) {
      name = lower_case(*text);
      named_by = key;
    }
  }
  if (name.starts_with("fast-")) {
    name.erase(0, 5);
  }
  const bool other_gate = name == "geglu" || name == "reglu" || keys.on("quick_geglu");
  if (keys.on("swiglu")) {
    set("swiglu", "swiglu");
  } else if (name == "swiglu" || name == "silu" || other_gate) {
    draft.set(
        "model.activation",
        "swiglu",
        named_by.empty() ? read_from(*keys.find("quick_geglu")) : read_from(*keys.find(named_by)));
  } else if (keys.on("gated_linear_unit")) {
    set("swiglu", "gated_linear_unit");
  } else if (keys.on("squared_relu") || name == "squared-relu" || name == "squared_relu") {
    draft.set("model.activation",
              "squared_relu",
              read_from(*keys.find(named_by.empty() ? "squared_relu" : named_by)));
  } else if (name == "relu") {
    set("relu", named_by);
  } else if (!named_by.empty() && name == "gelu") {
    set("gelu", named_by);
  } else {
    draft.set("model.activation", "gelu", default_of(keys.import, "GELU without a gate"));
  }
  if (other_gate) {
    draft.note(
        "the gate of the MLP is no SiLU: costed as SwiGLU, which moves and multiplies the "
        "same");
  }
}

void read_norm_and_biases(MegatronKeys& keys) {
  Draft& draft = keys.import.draft;
  SourceKeys& source = keys.import.keys;
  const auto norm = source.text(keys.path("normalization"));
  const bool rms = norm && lower_case(*norm).find("rms") != std::string::npos;
  draft.set("model.norm",
            rms ? "rms_norm" : "layer_norm",
            norm ? read_from(*keys.find("normalization")) : default_of(keys.import, "LayerNorm"));
  const std::string with = keys.path({"add_bias_linear", "bias"});
  const auto biases = source.flag(with);
  const bool without = keys.on("disable_bias_linear");
  draft.set("model.linear_bias",
            biases.value_or(!without),
            biases    ? read_from(*source.find(with))
            : without ? read_from(*keys.find("disable_bias_linear"))
                      : default_of(keys.import, "linear layers have biases"));
  const std::string qkv = keys.path({"add_qkv_bias", "qkv_bias"});
  if (source.flag(qkv).value_or(false) && !biases.value_or(!without)) {
    draft.set("model.qkv_bias", true, read_from(*source.find(qkv)));
  }
  if (keys.on("embed_layernorm")) {
    draft.set("model.embedding_norm", true, read_from(*keys.find("embed_layernorm")));
  }
  if (keys.on("qk_layernorm")) {
    draft.note("qk_layernorm: norms of queries and keys are neither counted nor costed");
  }
}

void read_positions(MegatronKeys& keys) {
  Draft& draft = keys.import.draft;
  SourceKeys& source = keys.import.keys;
  const auto type = source.text(keys.path("position_embedding_type"));
  source.rename("use_llama2_rotary_position_embeddings", "use_rotary_position_embeddings");
  const bool rotary = keys.on("use_rotary_position_embeddings");
  const auto rows = source.count(keys.path("max_position_embeddings"));
  static_cast<void>(source.flag(keys.path("no_position_embedding")));
  static_cast<void>(source.flag(keys.path("add_position_embedding")));
  std::string position = "learned";
  if (rotary || (type && type->find("rope") != std::string::npos)) {
    position = "rotary";
  } else if (type && (*type == "none" || type->find("alibi") != std::string::npos)) {
    position = *type == "none" ? "none" : "alibi";
  }
  draft.set("model.position",
            position,
            type     ? read_from(*keys.find("position_embedding_type"))
            : rotary ? read_from(*keys.find("use_rotary_position_embeddings"))
                     : default_of(keys.import, "a table of learned positions"));
  if (position == "learned" && rows) {
    draft.set("model.max_positions", *rows, read_from(*keys.find("max_position_embeddings")));
  }
}

// (left, right), left being how many keys before its own a query sees.
void read_window(MegatronKeys& keys) {
  SourceKeys& source = keys.import.keys;
  const std::string path = keys.path("window_size");
  const std::vector<std::string> sizes = source.texts(path);
  if (sizes.empty()) {
    return;
  }
  const std::size_t begin = std::min(sizes[0].find_first_of("0123456789-"), sizes[0].size());
  const std::int64_t left = std::atoll(sizes[0].c_str() + begin);
  const auto every = source.count(keys.path("window_attn_skip_freq"));
  if (left > 0 && begin < sizes[0].size()) {
    keys.import.draft.set("model.attention_window.size",
                          left + 1,
                          derived_from(*source.find(path), "and the key of the token itself"));
    if (every && *every > 0) {
      keys.import.draft.set("model.attention_window.full_every",
                            *every,
                            read_from(*keys.find("window_attn_skip_freq")));
    }
  }
}

void read_heads(MegatronKeys& keys) {
  SourceKeys& source = keys.import.keys;
  const std::string grouped = keys.path("group_query_attention");
  const SourceItem* groups = source.find(keys.path("num_query_groups"));
  // Of the command line they count with the switch alone (megatron/training/arguments.py).
  const bool off = source.find(grouped) != nullptr
                       ? !source.flag(grouped).value_or(true)
                       : groups != nullptr && groups->shown.starts_with("--");
  if (off && groups != nullptr) {
    static_cast<void>(source.take(groups->path));
    if (groups->value.text != "1") {
      keys.import.draft.note(
          fmt::format("{}: ignored without --group-query-attention, as by Megatron-LM: every query "
                      "head has keys and values of its own",
                      groups->shown));
    }
  }
  if (source.text(keys.path("attention_head_type")).value_or("") == "multiquery") {
    keys.import.draft.set(
        "model.num_query_groups", std::int64_t{1}, read_from(*keys.find("attention_head_type")));
  }
  read_window(keys);
  if (keys.on("multi_latent_attention")) {
    static_cast<void>(source.take(keys.path("kv_channels")));
    static_cast<void>(source.take(keys.path("num_query_groups")));
    for (const std::string& prefix : keys.prefixes) {
      copy_known_counts(keys.import, prefix, "model.mla");
    }
    return;
  }
  for (const std::string_view name :
       {"q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim"}) {
    static_cast<void>(source.take(keys.path(name)));
  }
}

void read_expert_layers(MegatronKeys& keys) {
  const std::string path = keys.path({"moe_layer_freq", "expert_interval"});
  const SourceItem* item = keys.import.keys.take(path);
  if (item == nullptr) {
    return;
  }
  // Quotes of a shell may stand in the value.
  std::string text(orrery::trimmed(item->value.text, " '\""));
  if (item->value.kind == yaml::Value::Kind::sequence) {
    text = "[";
    for (const yaml::Value& value : item->value.items) {
      text += (text.size() > 1 ? "," : "") + value.text;
    }
    text += "]";
  }
  const std::string layers_path = keys.path({"num_layers", "encoder_num_layers"});
  const auto layers = keys.import.keys.count(layers_path);
  const auto pattern = parse_expert_pattern(text, layers.value_or(0));
  if (!pattern || !layers || pattern->size() != static_cast<std::size_t>(*layers)) {
    keys.import.keys.error(
        *item,
        fmt::format("{} is no pattern of {} layers", yaml::display(text), layers.value_or(0)),
        "such as [0]*3+[1]*58");
    return;
  }
  keys.import.draft.set(
      "model.num_layers", *layers, read_from(*keys.import.keys.find(layers_path)));
  const auto dense = static_cast<std::int64_t>(std::count(pattern->begin(), pattern->end(), false));
  const bool leading = std::is_sorted(pattern->begin(), pattern->end());
  keys.import.draft.set("model.moe.dense_layers",
                        dense,
                        derived_from(*item, fmt::format("{} layers without experts", dense)));
  if (!leading) {
    keys.import.draft.note(fmt::format(
        "{}: {} layers with a dense MLP lie between those with experts; the scenario puts them "
        "first, so that totals hold, but stages of a pipeline may differ",
        item->shown,
        dense));
  }
}

void read_experts(MegatronKeys& keys) {
  SourceKeys& source = keys.import.keys;
  Draft& draft = keys.import.draft;
  const std::string path = keys.path({"num_moe_experts", "num_experts"});
  const auto experts = source.count(path);
  if (!experts || *experts < 2) {
    return;
  }
  draft.set("model.moe.num_experts", *experts, read_from(*source.find(path)));
  const auto top =
      copy_count(keys.import, keys.path({"moe_router_topk", "topk"}), "model.moe.top_k");
  const bool deepspeed = keys.on("deepspeed");
  if (!top) {
    draft.set("model.moe.top_k",
              std::int64_t{deepspeed ? 1 : 2},
              default_of(keys.import, deepspeed ? "topk is 1" : "moe_router_topk is 2"));
  }
  if (deepspeed && keys.find("expert_interval") == nullptr) {
    leave_out(keys.import,
              path,
              Effect::large,
              "without --expert-interval Megatron-DeepSpeed has experts in every second layer",
              "model.moe.dense_layers");
  }
  const auto width =
      copy_count(keys.import, keys.path("moe_ffn_hidden_size"), "model.moe.ffn_hidden_size");
  const auto ffn = draft.count("model.ffn_hidden_size");
  if (!width && ffn) {
    draft.set("model.moe.ffn_hidden_size",
              *ffn,
              default_of(keys.import, "experts are as wide as the dense MLP"));
  }
  const auto expert = draft.count("model.moe.ffn_hidden_size");
  const std::string shared_path = keys.path("moe_shared_expert_intermediate_size");
  const auto shared = source.count(shared_path);
  if (shared && expert && *expert > 0 && *shared % *expert == 0) {
    draft.set("model.moe.shared",
              *shared / *expert,
              derived_from(*source.find(shared_path), fmt::format("{} / {}", *shared, *expert)));
  } else if (shared && *shared > 0) {
    leave_out(keys.import,
              shared_path,
              Effect::large,
              "a scenario counts shared experts of the width of the routed ones");
  }
  read_expert_layers(keys);
  const auto capacity = source.number(keys.path("moe_expert_capacity_factor"));
  if (capacity && *capacity > 0.0) {
    draft.set("model.moe.capacity",
              fmt::format("{}", *capacity),
              read_from(*keys.find("moe_expert_capacity_factor")));
  }
  const auto groups = source.count(keys.path("moe_router_num_groups"));
  const auto chosen = source.count(keys.path("moe_router_group_topk"));
  if (groups && chosen && *chosen < *groups) {
    const SourceItem& item = *keys.find("moe_router_group_topk");
    draft.set(
        "model.moe.node_limit",
        *chosen,
        Origin{OriginKind::assumed,
               item.where,
               item.shown,
               fmt::format("each of the {} groups of experts on a node of its own", *groups)});
  }
}

void read_widths(MegatronKeys& keys) {
  SourceKeys& source = keys.import.keys;
  Draft& draft = keys.import.draft;
  for (const std::string& prefix : keys.prefixes) {
    copy_known_counts(keys.import, prefix, "model");
  }
  copy(keys, "encoder_seq_length", "model.sequence_length");
  copy(keys, "encoder_num_layers", "model.num_layers");
  const auto hidden = draft.count("model.hidden_size");
  if (!hidden || draft.find("model.ffn_hidden_size") != nullptr ||
      source.is_unread(keys.path("ffn_hidden_size"))) {
    return;
  }
  const bool gated = draft.is("model.activation", "swiglu");
  constexpr std::int64_t kMultiple = 64;
  const std::int64_t narrow = (4 * *hidden * 2 / 3) / kMultiple * kMultiple;
  draft.set("model.ffn_hidden_size",
            gated ? narrow : 4 * *hidden,
            default_of(keys.import,
                       gated ? "8/3 of the width, down to a multiple of 64" : "4 x hidden_size"));
}

void read_vocabulary(MegatronKeys& keys) {
  SourceKeys& source = keys.import.keys;
  Draft& draft = keys.import.draft;
  Pending& pending = keys.import.pending;
  const std::string own = keys.path({"override_vocab_size", "vocab_size"});
  keep_count(keys.import, own, pending.vocab, "model.vocab_size");
  static_cast<void>(source.take(keys.path("vocab_size")));
  const std::string padded = keys.path({"pad_vocab_size_to", "padded_vocab_size"});
  if (const auto rows = source.count(padded); rows && *rows > 0) {
    draft.set("model.vocab_size", *rows, read_from(*source.find(padded)));
    static_cast<void>(source.take(keys.path("vocab_size")));
  }
  keep_count(keys.import,
             keys.path("make_vocab_size_divisible_by"),
             pending.vocab_divisor,
             "model.vocab_size");
  if (keys.on("no_pad_vocab_size")) {
    pending.vocab_divisor = PendingCount{1, read_from(*keys.find("no_pad_vocab_size"))};
  }
  if (!pending.vocab_divisor) {
    constexpr std::int64_t kUsual = 128;
    pending.vocab_divisor = PendingCount{
        kUsual, default_of(keys.import, "the vocabulary is padded to a multiple of 128 x tensor")};
  }
  const std::string type_path = keys.path({"tokenizer_type", "tokenizer.type"});
  const auto tokenizer = source.text(type_path);
  if (!pending.vocab && tokenizer && *tokenizer == "GPT2BPETokenizer") {
    constexpr std::int64_t kGpt2 = 50'257;
    pending.vocab = PendingCount{kGpt2,
                                 {OriginKind::assumed,
                                  source.find(type_path)->where,
                                  source.find(type_path)->shown,
                                  "GPT-2's vocabulary file"}};
  }
  const std::string shared = keys.path("share_embeddings_and_output_weights");
  const auto tied = source.flag(shared);
  const bool untied = keys.on("untie_embeddings_and_output_weights");
  keys.import.draft.set("model.tie_embeddings",
                        tied.value_or(!untied),
                        tied     ? read_from(*source.find(shared))
                        : untied ? read_from(*keys.find("untie_embeddings_and_output_weights"))
                                 : default_of(keys.import, "embedding and output share a table"));
}

}  // namespace

std::string MegatronKeys::path(std::string_view name) const {
  for (const std::string& prefix : prefixes) {
    std::string candidate = prefix + std::string(name);
    if (import.keys.find(candidate) != nullptr) {
      return candidate;
    }
  }
  return prefixes.front() + std::string(name);
}

std::string MegatronKeys::path(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    std::string candidate = path(name);
    if (import.keys.find(candidate) != nullptr) {
      return candidate;
    }
  }
  return path(*names.begin());
}

void read_megatron_model(MegatronKeys& keys) {
  for (const std::string_view name :
       {"hybrid_layer_pattern", "hybrid_override_pattern", "heterogeneous_layers_config_path"}) {
    const std::string path = keys.path(name);
    const SourceItem* item = keys.import.keys.take(path);
    if (item != nullptr || keys.import.keys.is_unread(path)) {
      keys.import.keys.error(*keys.import.keys.find(path),
                             "belongs to layers that are no attention: a scenario cannot express "
                             "them");
    }
  }
  read_activation(keys);
  read_norm_and_biases(keys);
  read_positions(keys);
  read_heads(keys);
  read_vocabulary(keys);
  read_widths(keys);
  read_experts(keys);
}

}  // namespace orrery::import_config
