#include "sim/import_config/torchtitan/torchtitan_saved.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace orrery::import_config {

namespace {

using yaml::Value;

constexpr std::string_view kModel = "model_spec.model.";

// The value of a key, or nothing where it is absent or null.
const Value* at(const Value* value, std::string_view key) {
  if (value == nullptr || value->kind != Value::Kind::mapping) {
    return nullptr;
  }
  for (const yaml::Entry& entry : value->entries) {
    if (entry.key == key) {
      return entry.value.kind == Value::Kind::null ? nullptr : &entry.value;
    }
  }
  return nullptr;
}

const Value* at(const Value* value, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    value = at(value, key);
  }
  return value;
}

// What the layers of a scenario have in common.
struct SavedAttention {
  std::int64_t heads = 0;
  std::int64_t groups = 0;
  std::int64_t head_dim = 0;
  std::int64_t query_rank = 0;
  std::int64_t key_rank = 0;  // 0: no latent attention
  std::int64_t nope_dim = 0;
  std::int64_t rope_dim = 0;
  std::int64_t value_dim = 0;
  bool bias = false;

  friend bool operator==(const SavedAttention&, const SavedAttention&) = default;
};

struct SavedExperts {
  std::int64_t count = 0;
  std::int64_t top_k = 0;
  std::int64_t width = 0;
  std::int64_t shared_width = 0;
  std::int64_t groups = 0;
  std::int64_t chosen_groups = 0;

  friend bool operator==(const SavedExperts&, const SavedExperts&) = default;
};

class SavedModel {
 public:
  explicit SavedModel(Import& import) : import_(import), keys_(import.keys) {}

  void read() {
    layers_ = keys_.take(kSavedLayers);
    if (layers_->value.kind != Value::Kind::sequence || layers_->value.items.empty()) {
      keys_.error(*layers_, "is no list of layers");
      return;
    }
    copy_count(import_, "model_spec.model.dim", "model.hidden_size");
    copy_count(import_, "model_spec.model.vocab_size", "model.vocab_size");
    copy_flag(import_, "model_spec.model.enable_weight_tying", "model.tie_embeddings");
    for (std::size_t i = 0; i < layers_->value.items.size() && !broken_; ++i) {
      read_layer(i);
    }
    if (!broken_) {
      put();
    }
    mark_read();
  }

 private:
  void fail(const Value& where, std::size_t layer, std::string_view message) {
    import_.diagnostics.error(where.where, fmt::format("{}[{}]", kSavedLayers, layer), message);
    broken_ = true;
  }

  // 0 where the key is absent or null.
  std::int64_t count(const Value* value, std::size_t layer) {
    if (value == nullptr) {
      return 0;
    }
    constexpr std::int64_t kMost = std::int64_t{1} << 40U;
    std::int64_t number = -1;
    const char* end = value->text.data() + value->text.size();
    const auto [stop, error] = std::from_chars(value->text.data(), end, number);
    if (value->kind != Value::Kind::scalar || error != std::errc{} || stop != end || number < 0 ||
        number > kMost) {
      fail(*value, layer, fmt::format("{} is no whole number from 0 on", value_text(*value)));
      return 0;
    }
    return number;
  }

  void read_layer(std::size_t i) {
    const Value& layer = layers_->value.items[i];
    const Value* attention = at(&layer, "attention");
    if (at(attention, "n_heads") == nullptr) {
      fail(layer, i, "is no attention to all keys: a scenario cannot express it");
      return;
    }
    const SavedAttention found = attention_of(attention, i);
    if (!broken_ && i > 0 && found != attention_) {
      fail(layer, i, "has an attention of other widths than the layers before it");
    }
    if (broken_) {
      return;
    }
    attention_ = found;
    windows_ += at(attention, "sliding_window_size") != nullptr ? 1U : 0U;
    norms_ |= at(attention, "qk_norm") != nullptr;
    const Value* moe = at(&layer, "moe");
    const Value* dense = at(&layer, "feed_forward");
    if (moe != nullptr) {
      read_experts(moe, i);
    } else if (dense != nullptr) {
      read_dense(dense, i);
    } else {
      fail(layer, i, "has neither feed_forward nor moe");
    }
  }

  SavedAttention attention_of(const Value* from, std::size_t i) {
    SavedAttention found;
    found.heads = count(at(from, "n_heads"), i);
    found.key_rank = count(at(from, "kv_lora_rank"), i);
    if (found.key_rank > 0) {
      found.query_rank = count(at(from, "q_lora_rank"), i);
      found.nope_dim = count(at(from, "qk_nope_head_dim"), i);
      found.rope_dim = count(at(from, "qk_rope_head_dim"), i);
      found.value_dim = count(at(from, "v_head_dim"), i);
      return found;
    }
    found.groups = count(at(from, "n_kv_heads"), i);
    found.groups = found.groups > 0 ? found.groups : found.heads;
    found.head_dim = count(at(from, {"qkv_linear", "head_dim"}), i);
    if (found.head_dim == 0) {
      found.head_dim = count(at(from, "head_dim"), i);
    }
    for (const std::string_view name : {"wqkv", "wq"}) {
      const Value* bias = at(from, {"qkv_linear", name, "bias"});
      found.bias |= bias != nullptr && bias->text == "true";
    }
    return found;
  }

  void read_experts(const Value* moe, std::size_t i) {
    SavedExperts found;
    found.count = count(at(moe, "num_experts"), i);
    found.top_k = count(at(moe, {"router", "top_k"}), i);
    found.width = count(at(moe, {"routed_experts", "inner_experts", "hidden_dim"}), i);
    found.shared_width = count(at(moe, {"shared_experts", "w1", "out_features"}), i);
    found.groups = count(at(moe, {"router", "num_expert_groups"}), i);
    found.chosen_groups = count(at(moe, {"router", "num_limited_groups"}), i);
    if (!broken_ && (found.count == 0 || found.top_k == 0 || found.width == 0)) {
      fail(*moe, i, "says neither experts, nor how many a token takes, nor their width");
    } else if (!broken_ && experts_.count > 0 && found != experts_) {
      fail(*moe, i, "has other experts than the layers before it");
    }
    experts_ = found;
  }

  void read_dense(const Value* from, std::size_t i) {
    const std::int64_t width = count(at(from, {"w1", "out_features"}), i);
    if (!broken_ && width == 0) {
      fail(*from, i, "says no width of its feed_forward (w1.out_features)");
    } else if (!broken_ && dense_layers_ > 0 && width != dense_width_) {
      fail(*from, i, "has a feed_forward of another width than the layers before it");
    }
    dense_behind_ |= experts_.count > 0;
    dense_width_ = width;
    ++dense_layers_;
  }

  // `key` as the file writes it, below the first layer.
  void put(std::string_view path, std::int64_t value, std::string_view key) {
    if (value > 0) {
      import_.draft.set(path, value, derived_from(*layers_, fmt::format("layers[0].{}", key)));
    }
  }

  void put() {
    import_.draft.set("model.num_layers",
                      static_cast<std::int64_t>(layers_->value.items.size()),
                      derived_from(*layers_, "the length of the list"));
    put("model.num_attention_heads", attention_.heads, "attention.n_heads");
    put("model.num_query_groups", attention_.groups, "attention.n_kv_heads");
    put("model.head_dim", attention_.head_dim, "attention.qkv_linear.head_dim");
    if (attention_.key_rank > 0) {
      put("model.mla.q_lora_rank", attention_.query_rank, "attention.q_lora_rank");
      put("model.mla.kv_lora_rank", attention_.key_rank, "attention.kv_lora_rank");
      put("model.mla.qk_nope_head_dim", attention_.nope_dim, "attention.qk_nope_head_dim");
      put("model.mla.qk_rope_head_dim", attention_.rope_dim, "attention.qk_rope_head_dim");
      put("model.mla.v_head_dim", attention_.value_dim, "attention.v_head_dim");
    }
    if (attention_.bias) {
      import_.draft.set(
          "model.qkv_bias", true, derived_from(*layers_, "layers[0].attention.qkv_linear, bias"));
    }
    put("model.ffn_hidden_size", dense_width_, "feed_forward.w1.out_features");
    put_experts();
    if (const SourceItem* more = keys_.take("model_spec.model.mtp_layers");
        more != nullptr && !more->value.items.empty()) {
      import_.draft.set(
          "model.mtp", static_cast<std::int64_t>(more->value.items.size()), read_from(*more));
    }
    say_remarks();
  }

  void put_experts() {
    if (experts_.count == 0) {
      return;
    }
    put("model.moe.num_experts", experts_.count, "moe.num_experts");
    put("model.moe.top_k", experts_.top_k, "moe.router.top_k");
    put("model.moe.ffn_hidden_size", experts_.width, "moe.routed_experts.inner_experts.hidden_dim");
    put("model.moe.dense_layers", dense_layers_, "feed_forward in place of moe");
    if (experts_.shared_width % experts_.width == 0) {
      put("model.moe.shared",
          experts_.shared_width / experts_.width,
          fmt::format("moe.shared_experts: {} / {}", experts_.shared_width, experts_.width));
    } else {
      import_.draft.note(
          "moe.shared_experts: a scenario counts shared experts of the width of the routed ones");
    }
    if (experts_.chosen_groups > 0 && experts_.chosen_groups < experts_.groups) {
      import_.draft.set("model.moe.node_limit",
                        experts_.chosen_groups,
                        Origin{OriginKind::assumed,
                               layers_->where,
                               layers_->shown,
                               fmt::format("each of the {} groups of experts on a node of its own",
                                           experts_.groups)});
    }
  }

  void say_remarks() {
    if (windows_ > 0) {
      import_.draft.note(fmt::format(
          "sliding_window_size: {} of {} layers attend to a window; they are costed over "
          "the whole sequence",
          windows_,
          layers_->value.items.size()));
    }
    if (norms_) {
      import_.draft.note("qk_norm: norms of queries and keys are not counted");
    }
    if (dense_behind_) {
      import_.draft.note(
          "dense layers stand between those with experts; the scenario puts them first");
    }
    if (keys_.find("model_spec.model.vision_encoder.dim") != nullptr) {
      import_.draft.note("vision_encoder: not counted, the language model alone is");
    }
  }

  // What the layers hold besides follows from what was read, or costs nothing.
  void mark_read() {
    for (SourceItem& item : keys_.items()) {
      item.used |= item.path.starts_with(kModel);
    }
  }

  Import& import_;
  SourceKeys& keys_;
  const SourceItem* layers_ = nullptr;
  bool broken_ = false;
  SavedAttention attention_;
  SavedExperts experts_;
  std::int64_t dense_width_ = 0;
  std::int64_t dense_layers_ = 0;
  std::size_t windows_ = 0;
  bool norms_ = false;
  bool dense_behind_ = false;
};

void read_torchtitan_optimizer(Import& import) {
  const SourceItem* groups = import.keys.take("optimizer.param_groups");
  if (groups == nullptr) {
    return;
  }
  for (const Value& group : groups->value.items) {
    const Value* name = at(&group, "optimizer_name");
    if (name != nullptr && name->text != "AdamW" && name->text != "Adam") {
      leave_out(
          import,
          "optimizer.param_groups",
          Effect::large,
          fmt::format("{}: the state of AdamW is counted in its place", yaml::display(name->text)));
      return;
    }
  }
}

}  // namespace

void read_saved_model(Import& import) {
  SavedModel(import).read();
}

void read_saved_recompute(Import& import) {
  SourceKeys& keys = import.keys;
  constexpr std::string_view kSelective = "activation_checkpoint.force_recompute_mm_shapes_by_fqns";
  constexpr std::string_view kFull = "activation_checkpoint.determinism_check";
  if (const SourceItem* budget = keys.take("activation_checkpoint.memory_budget")) {
    import.draft.leave_open(
        "recompute", *budget, "a scenario has no recomputation by a budget of memory");
  } else if (const SourceItem* selective = keys.take(kSelective)) {
    import.draft.set("recompute",
                     "selective_operations",
                     derived_from(*selective, "only the selective policy has this field"));
  } else if (const SourceItem* full = keys.take(kFull)) {
    import.draft.set(
        "recompute", "full", derived_from(*full, "no field of another policy is there"));
  } else {
    import.draft.set("recompute", "none", default_of(import, "activation_checkpoint is null"));
  }
}

void read_saved_remarks(Import& import) {
  read_torchtitan_optimizer(import);
  // False is what a reader of the scenario expects; true is reported as unknown.
  const std::string_view symmetric = "parallelism.enable_fsdp_symm_mem";
  const SourceItem* item = import.keys.find(symmetric);
  if (item != nullptr && item->value.text == "false") {
    static_cast<void>(import.keys.take(symmetric));
  }
  import.draft.note(
      "whether layers compute in FP8 or FP4 leaves no trace in what torchtitan saves: state "
      "precision.compute if they do");
}

}  // namespace orrery::import_config
