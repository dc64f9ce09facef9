#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "sim/base/text/text.hpp"
#include "sim/import_config/torchtitan/torchtitan_flavors.hpp"
#include "sim/import_config/trees/key_fates.hpp"

namespace orrery::import_config {

namespace {

using yaml::Value;

constexpr std::string_view kModel = "model_spec.model.";

// What stands at the path, or nothing where it is absent or null.
const Value* at(const Value* value, std::string_view path) {
  while (value != nullptr && !path.empty()) {
    const std::string_view key = cut(path, '.');
    const auto found = std::find_if(value->entries.begin(), value->entries.end(),
                                    [key](const yaml::Entry& entry) { return entry.key == key; });
    value = found == value->entries.end() || found->value.kind == Value::Kind::null ? nullptr
                                                                                    : &found->value;
  }
  return value;
}

// One part of a layer, which is the same in all layers that have it.
struct SavedPart {
  std::string_view name;
  std::string_view differs;
  // Below the part, and the key of the scenario; without one it counts with others.
  std::vector<std::pair<std::string_view, std::string_view>> dimensions;
  std::vector<std::int64_t> values = {};  // 0: absent
  std::int64_t layers = 0;                // that have it

  [[nodiscard]] std::int64_t value(std::string_view path) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (dimensions[i].first == path) {
        return values[i];
      }
    }
    return 0;
  }
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
      put_model();
    }
    // What the layers hold besides follows from what was read, or costs nothing.
    for (SourceItem& item : keys_.items()) {
      item.used |= item.path.starts_with(kModel);
    }
  }

 private:
  void fail(const Value& where, std::size_t layer, std::string_view message) {
    import_.diagnostics.error(where.where, fmt::format("{}[{}]", kSavedLayers, layer), message);
    broken_ = true;
  }

  std::int64_t count(const Value& value, std::size_t layer) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40U;
    std::int64_t number = -1;
    const char* end = value.text.data() + value.text.size();
    const auto [stop, error] = std::from_chars(value.text.data(), end, number);
    if (value.kind != Value::Kind::scalar || error != std::errc{} || stop != end || number < 0 ||
        number > kMost) {
      fail(value, layer, fmt::format("{} is no whole number from 0 on", value_text(value)));
    }
    return number;
  }

  void read_part(SavedPart& part, const Value& from, std::size_t layer) {
    std::vector<std::int64_t> values;
    for (const auto& [path, target] : part.dimensions) {
      const Value* value = at(&from, path);
      values.push_back(value == nullptr || broken_ ? 0 : count(*value, layer));
    }
    if (!broken_ && part.layers > 0 && values != part.values) {
      fail(from, layer, part.differs);
    }
    part.values = std::move(values);
    ++part.layers;
  }

  void read_layer(std::size_t i) {
    const Value& layer = layers_->value.items[i];
    const Value* attention = at(&layer, "attention");
    const Value* moe = at(&layer, "moe");
    const Value* dense = at(&layer, "feed_forward");
    if (at(attention, "n_heads") == nullptr) {
      fail(layer, i, "is no attention to all keys: a scenario cannot express it");
      return;
    }
    read_part(attention_, *attention, i);
    windows_ += at(attention, "sliding_window_size") != nullptr ? 1U : 0U;
    norms_ |= at(attention, "qk_norm") != nullptr;
    for (const std::string_view path : {"qkv_linear.wqkv.bias", "qkv_linear.wq.bias"}) {
      const Value* bias = at(attention, path);
      bias_ |= bias != nullptr && bias->text == "true";
    }
    if (broken_) {
      return;
    }
    if (moe != nullptr) {
      read_part(experts_, *moe, i);
      if (!broken_ && std::count(experts_.values.begin(), experts_.values.begin() + 3, 0) > 0) {
        fail(*moe, i, "says neither experts, nor how many a token takes, nor their width");
      }
    } else if (dense != nullptr) {
      dense_behind_ |= experts_.layers > 0;
      read_part(dense_, *dense, i);
      if (!broken_ && dense_.values.front() == 0) {
        fail(*dense, i, "says no width of its feed_forward (w1.out_features)");
      }
    } else {
      fail(layer, i, "has neither feed_forward nor moe");
    }
  }

  // `key` as the file writes it, below the first layer.
  void put(std::string_view target, std::int64_t value, std::string_view key) {
    const ImportedSetting* known = import_.draft.find(target);
    const bool said = known != nullptr && known->origin.key == layers_->shown;
    if (value > 0 && !target.empty() && !said) {
      import_.draft.set(target, value, derived_from(*layers_, fmt::format("layers[0].{}", key)));
    }
  }

  void put_part(const SavedPart& part) {
    const bool latent = part.value("kv_lora_rank") > 0;
    for (std::size_t i = 0; i < part.values.size(); ++i) {
      const auto& [path, target] = part.dimensions[i];
      const bool of_heads = target == "model.num_query_groups" || target == "model.head_dim";
      if (latent ? !of_heads : !target.starts_with("model.mla.")) {
        put(target, part.values[i], fmt::format("{}.{}", part.name, path));
      }
    }
    if (!latent && part.value("n_heads") > 0) {
      put("model.num_query_groups", part.value("n_heads"), "attention.n_kv_heads");
    }
  }

  void put_model() {
    import_.draft.set("model.num_layers", static_cast<std::int64_t>(layers_->value.items.size()),
                      derived_from(*layers_, "the length of the list"));
    put_part(attention_);
    if (bias_) {
      import_.draft.set("model.qkv_bias", true,
                        derived_from(*layers_, "layers[0].attention.qkv_linear, bias"));
    }
    put_part(dense_);
    if (experts_.layers > 0) {
      put_experts();
    }
    if (const SourceItem* more = keys_.take("model_spec.model.mtp_layers");
        more != nullptr && !more->value.items.empty()) {
      import_.draft.set("model.mtp", static_cast<std::int64_t>(more->value.items.size()),
                        read_from(*more));
    }
    say_remarks();
  }

  void put_experts() {
    put_part(experts_);
    put("model.moe.dense_layers", dense_.layers, "feed_forward in place of moe");
    const std::int64_t width = experts_.value("routed_experts.inner_experts.hidden_dim");
    const std::int64_t shared = experts_.value("shared_experts.w1.out_features");
    if (shared % width == 0) {
      put("model.moe.shared", shared / width,
          fmt::format("moe.shared_experts: {} / {}", shared, width));
    } else {
      import_.draft.note(
          "moe.shared_experts: a scenario counts shared experts of the width of the routed ones");
    }
    if (const std::int64_t chosen = experts_.value("router.num_limited_groups"); chosen > 0) {
      put_node_limit(import_.draft, layers_, chosen, experts_.value("router.num_expert_groups"));
    }
  }

  void say_remarks() {
    if (windows_ > 0) {
      import_.draft.note(fmt::format(
          "sliding_window_size: {} of {} layers attend to a window; they are costed over "
          "the whole sequence",
          windows_, layers_->value.items.size()));
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

  Import& import_;
  SourceKeys& keys_;
  const SourceItem* layers_ = nullptr;
  SavedPart attention_ = {"attention",
                          "has an attention of other widths than the layers before it",
                          {{"n_heads", "model.num_attention_heads"},
                           {"n_kv_heads", "model.num_query_groups"},
                           {"qkv_linear.head_dim", "model.head_dim"},
                           {"head_dim", "model.head_dim"},
                           {"q_lora_rank", "model.mla.q_lora_rank"},
                           {"kv_lora_rank", "model.mla.kv_lora_rank"},
                           {"qk_nope_head_dim", "model.mla.qk_nope_head_dim"},
                           {"qk_rope_head_dim", "model.mla.qk_rope_head_dim"},
                           {"v_head_dim", "model.mla.v_head_dim"}}};
  SavedPart experts_ = {"moe",
                        "has other experts than the layers before it",
                        {{"num_experts", "model.moe.num_experts"},
                         {"router.top_k", "model.moe.top_k"},
                         {"routed_experts.inner_experts.hidden_dim", "model.moe.ffn_hidden_size"},
                         {"shared_experts.w1.out_features", ""},
                         {"router.num_expert_groups", ""},
                         {"router.num_limited_groups", ""}}};
  SavedPart dense_ = {"feed_forward",
                      "has a feed_forward of another width than the layers before it",
                      {{"w1.out_features", "model.ffn_hidden_size"}}};
  std::size_t windows_ = 0;
  bool broken_ = false;
  bool bias_ = false;
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
          import, "optimizer.param_groups", Effect::large,
          fmt::format("{}: the state of AdamW is counted in its place", yaml::display(name->text)));
      return;
    }
  }
}

}  // namespace

void read_saved_model(Import& import) { SavedModel(import).read(); }

void read_saved_recompute(Import& import) {
  SourceKeys& keys = import.keys;
  constexpr std::string_view kSelective = "activation_checkpoint.force_recompute_mm_shapes_by_fqns";
  constexpr std::string_view kFull = "activation_checkpoint.determinism_check";
  if (const SourceItem* budget = keys.take("activation_checkpoint.memory_budget")) {
    import.draft.set("recompute.memory_budget", budget->value.text, read_from(*budget));
  } else if (const SourceItem* selective = keys.take(kSelective)) {
    import.draft.set("recompute", "selective_operations",
                     derived_from(*selective, "only the selective policy has this field"));
  } else if (const SourceItem* full = keys.take(kFull)) {
    import.draft.set("recompute", "full",
                     derived_from(*full, "no field of another policy is there"));
  } else {
    import.usual("recompute", "none", "activation_checkpoint is null");
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

namespace {

// Lower case, dashes as underscores: configs are named llama3_8b, flavors 8B.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '-' ? '_' : lower_case(c);
  }
  return result;
}

}  // namespace

std::vector<TorchtitanFlavor> torchtitan_flavors() {
  std::vector<TorchtitanFlavor> flavors;
  std::string_view rest = shipped_text("torchtitan.models");
  while (!rest.empty()) {
    std::string_view remark = cut(rest, '\n');
    std::string_view facts = cut(remark, '|');
    const std::string_view model = cut(facts, ' ');
    if (model.empty() || model == "#") {
      continue;
    }
    const std::string_view flavor = cut(facts, ' ');
    flavors.push_back({model, flavor, facts, orrery::trimmed(remark)});
  }
  return flavors;
}

std::optional<TorchtitanFlavor> find_flavor(std::string_view model, std::string_view flavor) {
  std::string wanted = plain(flavor);
  for (const std::string_view suffix : {"_flex", "_varlen", "_irope"}) {
    if (wanted.ends_with(suffix)) {
      wanted.erase(wanted.size() - suffix.size());
    }
  }
  for (const TorchtitanFlavor& known : torchtitan_flavors()) {
    if (known.model == model && plain(known.flavor) == wanted) {
      return known;
    }
  }
  return std::nullopt;
}

std::string known_flavors() {
  std::string text;
  for (const TorchtitanFlavor& known : torchtitan_flavors()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", known.model, known.flavor);
  }
  return text;
}

}  // namespace orrery::import_config
