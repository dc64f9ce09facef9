// Megatron-LM: the model.

#include <fmt/core.h>

#include <algorithm>

#include "sim/base/text/text.hpp"
#include "sim/import_config/megatron/megatron_keys.hpp"
#include "sim/import_config/trees/key_fates.hpp"

namespace orrery::import_config {

namespace {

void read_activation(const MegatronKeys& keys) {
  std::string name;
  std::string_view named_by;
  for (const std::string_view key : {"activation", "activation_func", "glu_activation"}) {
    if (const auto text = keys.text(key)) {
      name = lower_case(*text);
      named_by = key;
    }
  }
  if (name.starts_with("fast-")) {
    name.erase(0, 5);
  }
  constexpr std::string_view kFunction = "function ";  // of logs: <function gelu at 0x7f00>
  if (const std::size_t at = name.find(kFunction); at != std::string::npos) {
    name.erase(0, at + kFunction.size());
    name.resize(std::min(name.find(' '), name.size()));
  }
  const std::string_view target = "model.activation";
  const bool other_gate = name == "geglu" || name == "reglu" || name == "liglu" || name == "glu" ||
                          name == "bilinear" || keys.on("quick_geglu");
  if (other_gate) {
    keys.import.draft.note(
        "the gate of the MLP is no SiLU: costed as SwiGLU, which moves and multiplies the "
        "same");
  }
  if (keys.set_if("swiglu", target, "swiglu")) {
    return;
  }
  const bool neox = keys.import.program == "GPT-NeoX";  // whose gates have names of their own
  if (name == "swiglu" || (name == "silu" && !neox) || other_gate) {
    keys.set(target, "swiglu", named_by.empty() ? "quick_geglu" : named_by);
  } else if (keys.on("gated_linear_unit")) {
    keys.set(target, "swiglu", "gated_linear_unit");
  } else if (keys.on("squared_relu") || name == "squared-relu" || name == "squared_relu") {
    keys.set(target, "squared_relu", named_by.empty() ? "squared_relu" : named_by);
  } else if (name == "relu" || name == "gelu") {
    keys.set(target, name, named_by);
  } else if (name.empty() || (neox && keys.import.draft.find(target) != nullptr)) {
    keys.usual(target, "gelu", "GELU without a gate");
  } else if (name.ends_with("gelu") || (neox && (name == "softsign" || name == "mish" ||
                                                 name == "swish" || name == "silu"))) {
    keys.derive(target, "gelu", named_by, "without a gate: costed as GELU");
  } else {
    keys.import.leave_unknown(target, keys.path(named_by));
  }
}

void read_norm_and_biases(const MegatronKeys& keys) {
  if (const auto norm = keys.text("normalization")) {
    const std::string word = lower_case(*norm);
    const bool rms = word.find("rms") != std::string::npos;
    if (rms || word.find("layer") != std::string::npos) {
      keys.set("model.norm", rms ? "rms_norm" : "layer_norm", "normalization");
    } else {
      keys.import.leave_unknown("model.norm", keys.path("normalization"));
    }
  } else {
    keys.usual("model.norm", "layer_norm", "LayerNorm");
  }
  const std::string_view target = "model.linear_bias";
  const auto biases = keys.flag("add_bias_linear|bias");
  const bool without = keys.on("disable_bias_linear");
  if (biases) {
    keys.set(target, *biases, "add_bias_linear|bias");
  } else if (!keys.set_if("disable_bias_linear", target, false)) {
    keys.usual(target, true, "linear layers have biases");
  }
  if (keys.on("add_qkv_bias|qkv_bias") && !biases.value_or(!without)) {
    keys.set("model.qkv_bias", true, "add_qkv_bias|qkv_bias");
  }
  keys.set_if("embed_layernorm", "model.embedding_norm", true);
  if (keys.on("qk_layernorm")) {
    keys.import.draft.note(
        "qk_layernorm: norms of queries and keys are neither counted nor costed");
  }
}

void read_positions(const MegatronKeys& keys) {
  const std::string_view target = "model.position";
  const auto type = keys.text("position_embedding_type");
  keys.import.keys.rename("use_llama2_rotary_position_embeddings",
                          "use_rotary_position_embeddings");
  const bool rotary = keys.on("use_rotary_position_embeddings");
  const auto rows = keys.count("max_position_embeddings");
  static_cast<void>(keys.flag("no_position_embedding"));
  static_cast<void>(keys.flag("add_position_embedding"));
  const auto says = [&type](std::string_view word) {
    return type && type->find(word) != std::string::npos;
  };
  const bool turns = rotary || says("rope") || says("rotary") || says("yarn");
  const char* position = turns                     ? "rotary"
                         : type && *type == "none" ? "none"
                         : says("alibi")           ? "alibi"
                                                   : "learned";
  if (type && !turns && *type != "none" && !says("alibi") && !says("learned")) {
    keys.import.leave_unknown(target, keys.path("position_embedding_type"));
  } else if (type || rotary) {
    keys.set(target, position, type ? "position_embedding_type" : "use_rotary_position_embeddings");
  } else {
    keys.usual(target, position, "a table of learned positions");
  }
  if (rows && position == std::string_view("learned")) {
    keys.set("model.max_positions", *rows, "max_position_embeddings");
  }
}

// One full layer behind so many with a window: a number, or a list with 0 for every full one.
void read_full_layers(const MegatronKeys& keys) {
  constexpr std::string_view kKey = "window_attn_skip_freq";
  const std::vector<std::string> texts = keys.import.keys.texts(keys.path(kKey));
  if (texts.size() == 1) {
    if (const auto every = keys.count(kKey); every && *every > 0) {
      keys.set("model.attention_window.full_every", *every, kKey);
    }
    return;
  }
  const auto first = std::find(texts.begin(), texts.end(), "0");
  const std::int64_t every = first - texts.begin() + 1;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool full = (static_cast<std::int64_t>(i) + 1) % every == 0;
    if (full != (texts[i] == "0")) {
      keys.leave_out(kKey, Effect::large, "its full layers lie in no regular distance",
                     "model.attention_window.full_every");
      return;
    }
  }
  if (first != texts.end()) {
    keys.set("model.attention_window.full_every", every, kKey);
  }
}

// (left, right), left being how many keys before its own a query sees.
void read_window(const MegatronKeys& keys) {
  const std::vector<std::string> sizes = keys.import.keys.texts(keys.path("window_size"));
  if (sizes.empty()) {
    return;
  }
  const std::size_t begin = sizes[0].find_first_of("0123456789-");
  if (begin == std::string::npos) {
    keys.import.keys.error(*keys.find("window_size"), "is no number of keys", "such as 1023,0");
    return;
  }
  const std::int64_t left = std::atoll(sizes[0].c_str() + begin);
  if (left > 0) {
    keys.derive("model.attention_window.size", left + 1, "window_size",
                "and the key of the token itself");
    read_full_layers(keys);
  }
}

void read_heads(const MegatronKeys& keys) {
  const SourceItem* groups = keys.find("num_query_groups");
  // Of the command line they count with the switch alone (megatron/training/arguments.py).
  const bool off = keys.find("group_query_attention") != nullptr
                       ? !keys.flag("group_query_attention").value_or(true)
                       : groups != nullptr && groups->shown.starts_with("--");
  if (off && groups != nullptr) {
    keys.pass("num_query_groups");
    if (groups->value.text != "1") {
      keys.import.draft.note(
          fmt::format("{}: ignored without --group-query-attention, as by Megatron-LM: every query "
                      "head has keys and values of its own",
                      groups->shown));
    }
  }
  if (const SourceItem* grouped = keys.find("group_query_attention");
      !off && groups == nullptr && grouped != nullptr && grouped->shown.starts_with("--")) {
    keys.usual("model.num_query_groups", std::int64_t{1}, "num_query_groups is 1");
  }
  if (const auto type = keys.text("attention_head_type"); type && *type == "multiquery") {
    keys.set("model.num_query_groups", std::int64_t{1}, "attention_head_type");
  } else if (type && *type != "multihead") {
    keys.import.leave_unknown("model.num_query_groups", keys.path("attention_head_type"));
  }
  read_window(keys);
  if (keys.on("multi_latent_attention")) {
    keys.pass("kv_channels");
    keys.pass("num_query_groups");
    keys.copy_known("model.mla");
    if (keys.import.program == "Megatron-LM") {
      for (const auto& [name, width] :
           {std::pair{"kv_lora_rank", 32}, std::pair{"v_head_dim", 128},
            std::pair{"qk_nope_head_dim", 128}, std::pair{"qk_rope_head_dim", 64}}) {
        keys.usual(fmt::format("model.mla.{}", name), std::int64_t{width},
                   "width of multi_latent_attention");
      }
    }
  }
  for (const std::string_view name :
       {"q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim"}) {
    keys.pass(name);
  }
}

void read_expert_layers(const MegatronKeys& keys) {
  const SourceItem* item = keys.import.keys.take(keys.path("moe_layer_freq|expert_interval"));
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
  const std::string_view layers_key = "num_layers|encoder_num_layers";
  const auto layers = keys.count(layers_key);
  const auto pattern = parse_expert_pattern(text, layers.value_or(0));
  if (!pattern || !layers || std::ssize(*pattern) != *layers) {
    keys.import.keys.error(
        *item,
        fmt::format("{} is no pattern of {} layers", yaml::display(text), layers.value_or(0)),
        "such as [0]*3+[1]*58");
    return;
  }
  keys.set("model.num_layers", *layers, layers_key);
  const auto dense = static_cast<std::int64_t>(std::count(pattern->begin(), pattern->end(), false));
  put_dense_layers(keys.import.draft,
                   derived_from(*item, fmt::format("{} layers without experts", dense)), dense,
                   std::is_sorted(pattern->begin(), pattern->end()));
}

void read_experts(const MegatronKeys& keys) {
  Draft& draft = keys.import.draft;
  const std::string_view count_key = "num_moe_experts|num_experts";
  const auto experts = keys.count(count_key);
  if (!experts || *experts < 2) {
    return;
  }
  keys.set("model.moe.num_experts", *experts, count_key);
  const auto top = keys.copy("moe_router_topk|topk", "model.moe.top_k");
  const bool deepspeed = keys.on("deepspeed");
  if (!top) {
    keys.usual("model.moe.top_k", std::int64_t{deepspeed ? 1 : 2},
               deepspeed ? "topk is 1" : "moe_router_topk is 2");
  }
  if (deepspeed && keys.find("expert_interval") == nullptr) {
    keys.leave_out(count_key, Effect::large,
                   "without --expert-interval Megatron-DeepSpeed has experts in every second layer",
                   "model.moe.dense_layers");
  }
  const std::string_view width = "model.moe.ffn_hidden_size";
  const auto ffn = draft.count("model.ffn_hidden_size");
  if (!keys.copy("moe_ffn_hidden_size", width) && ffn) {
    keys.usual(width, *ffn, "experts are as wide as the dense MLP");
  }
  put_shared_experts(keys.import, keys.path("moe_shared_expert_intermediate_size"));
  read_expert_layers(keys);
  const auto capacity = keys.import.keys.number(keys.path("moe_expert_capacity_factor"));
  if (capacity && *capacity > 0.0) {
    keys.set("model.moe.capacity", fmt::format("{}", *capacity), "moe_expert_capacity_factor");
  }
  const auto groups = keys.count("moe_router_num_groups");
  const auto chosen = keys.count("moe_router_group_topk");
  put_node_limit(draft, keys.find("moe_router_group_topk"), chosen, groups);
}

void read_widths(const MegatronKeys& keys) {
  Draft& draft = keys.import.draft;
  keys.copy_known("model");
  keys.copy("encoder_seq_length", "model.sequence_length");
  keys.copy("encoder_num_layers", "model.num_layers");
  const auto hidden = draft.count("model.hidden_size");
  if (!hidden || draft.find("model.ffn_hidden_size") != nullptr ||
      keys.import.keys.is_unread(keys.path("ffn_hidden_size"))) {
    return;
  }
  const bool gated =
      draft.is("model.activation", "swiglu") && keys.find("glu_activation") == nullptr;
  constexpr std::int64_t kMultiple = 64;
  keys.usual("model.ffn_hidden_size",
             gated ? (4 * *hidden * 2 / 3) / kMultiple * kMultiple : 4 * *hidden,
             gated ? "8/3 of the width, down to a multiple of 64" : "4 x hidden_size");
}

void read_vocabulary(const MegatronKeys& keys) {
  Pending& pending = keys.import.pending;
  const auto keep = [&keys](std::string_view names, std::optional<PendingCount>& slot) {
    keep_count(keys.import, keys.path(names), slot, "model.vocab_size");
  };
  keep("override_vocab_size|vocab_size", pending.vocab);
  keys.pass("vocab_size");
  const std::string_view padded = "pad_vocab_size_to|padded_vocab_size";
  if (const auto rows = keys.count(padded); rows && *rows > 0) {
    keys.set("model.vocab_size", *rows, padded);
  }
  keep("make_vocab_size_divisible_by", pending.vocab_divisor);
  if (keys.on("no_pad_vocab_size")) {
    pending.vocab_divisor = PendingCount{1, read_from(*keys.find("no_pad_vocab_size"))};
  }
  if (!pending.vocab_divisor) {
    constexpr std::int64_t kUsual = 128;
    pending.vocab_divisor = PendingCount{
        kUsual, default_of(keys.import, "the vocabulary is padded to a multiple of 128 x tensor")};
  }
  const std::string_view type = "tokenizer_type|tokenizer.type";
  if (keys.text(type).value_or("") == "GPT2BPETokenizer" && !pending.vocab) {
    constexpr std::int64_t kGpt2 = 50'257;
    Origin origin = derived_from(*keys.find(type), "GPT-2's vocabulary file");
    origin.kind = OriginKind::assumed;
    pending.vocab = PendingCount{kGpt2, origin};
  }
  const std::string_view target = "model.tie_embeddings";
  const std::string_view shared = "share_embeddings_and_output_weights";
  if (const auto tied = keys.flag(shared)) {
    keys.set(target, *tied, shared);
  } else if (!keys.set_if("untie_embeddings_and_output_weights", target, false)) {
    keys.usual(target, true, "embedding and output share a table");
  }
}

}  // namespace

std::string MegatronKeys::path(std::string_view names) const {
  const std::string first = prefixes.front() + std::string(names.substr(0, names.find('|')));
  while (!names.empty()) {
    const std::string_view name = cut(names, '|');
    for (const std::string& prefix : prefixes) {
      std::string candidate = prefix + std::string(name);
      if (import.keys.find(candidate) != nullptr) {
        return candidate;
      }
    }
  }
  return first;
}

void read_megatron_model(MegatronKeys& keys) {
  for (const std::string_view name :
       {"hybrid_layer_pattern", "hybrid_override_pattern", "heterogeneous_layers_config_path"}) {
    const std::string path = keys.path(name);
    if (keys.import.keys.take(path) != nullptr || keys.import.keys.is_unread(path)) {
      keys.import.keys.error(*keys.find(name),
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
