#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "sim/import_config/hugging_face/model_classes.hpp"
#include "sim/import_config/trees/key_fates.hpp"
#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

const ModelClass* check_class(Import& import, std::string_view prefix, const std::string& type) {
  SourceKeys& keys = import.keys;
  const std::string path = std::string(prefix) + "model_type";
  const SourceItem* item = keys.find(path);
  const bool forced = !import.model_class.empty();
  const auto kinds = keys.texts(std::string(prefix) + "layer_types");
  const bool all_attend =
      !kinds.empty() && std::all_of(kinds.begin(), kinds.end(), [](const std::string& kind) {
        return kind == "attention" || kind == "full_attention";
      });
  if (keys.flag(std::string(prefix) + "is_encoder_decoder").value_or(false)) {
    keys.error(*keys.find(std::string(prefix) + "is_encoder_decoder"),
               "a scenario cannot express an encoder beside the decoder");
    return nullptr;
  }
  const KeyTables tables(*reader_of(ConfigFormat::hugging_face), keys);
  for (const SourceItem& found : keys.items()) {
    const auto fate = tables.find(found.path);
    if (fate && fate->fate == Fate::refused && !is_neutral(found.value, fate->neutral)) {
      keys.error(found, fate->why);
      return nullptr;
    }
  }
  if (is_foreign_class(type) && !forced && !all_attend) {
    keys.error(*item, fmt::format("{} is not a decoder whose every layer attends to all keys: a "
                                  "scenario cannot express it",
                                  yaml::display(type)));
    return nullptr;
  }
  if (forced) {
    const ModelClass* wanted = find_model_class(import.model_class);
    if (wanted == nullptr) {
      import.diagnostics.error(
          {"--as"}, "",
          fmt::format("{} is no class that is known", yaml::display(import.model_class)),
          model_class_names());
    } else if (find_model_class(type) != wanted) {
      import.draft.note(fmt::format("{}: taken as {}, as --as says",
                                    type.empty() ? "no model_type" : yaml::display(type),
                                    wanted->type));
    }
    return wanted;
  }
  const ModelClass* known = find_model_class(type);
  if (known == nullptr && item != nullptr) {
    keys.error(*item,
               fmt::format("{} is a class that this import does not know", yaml::display(type)),
               "--as llama takes it as one like Llama: RMSNorm, gated MLP, rotary positions, no "
               "biases");
  } else if (known == nullptr) {
    const SourceLocation where =
        keys.items().empty() ? SourceLocation{} : SourceLocation{keys.items().front().where.file};
    import.diagnostics.error(where, path, "is not stated, and the class says what a layer is",
                             "--as TYPE states it, such as --as llama");
  }
  return known;
}

void read_class_keys(Import& import, std::string_view prefix, const ModelClass& known) {
  SourceKeys& keys = import.keys;
  Draft& draft = import.draft;
  const auto at = [prefix](std::string_view name) {
    return std::string(prefix) + std::string(name);
  };
  if (known.type == "falcon") {
    const bool grouped =
        import.on(at("new_decoder_architecture")) || keys.find(at("n_head_kv")) != nullptr;
    const std::string own =
        keys.find(at("n_head_kv")) != nullptr ? at("n_head_kv") : at("num_kv_heads");
    if (grouped) {
      copy_count(import, own, "model.num_query_groups");
    } else if (import.on(at("multi_query"))) {
      draft.set("model.num_query_groups", std::int64_t{1},
                read_from(*keys.find(at("multi_query"))));
    }
    static_cast<void>(keys.take(own));
    static_cast<void>(keys.flag(at("multi_query")));
    static_cast<void>(keys.flag(at("parallel_attn")));
  } else if (known.type == "chatglm") {
    copy_count(import, at("kv_channels"), "model.head_dim");
    if (import.on(at("multi_query_attention"))) {
      copy_count(import, at("multi_query_group_num"), "model.num_query_groups");
    }
    static_cast<void>(keys.take(at("multi_query_group_num")));
    static_cast<void>(keys.take(at("seq_length")));  // the longest in use, not that of training
    if (!keys.flag(at("rmsnorm")).value_or(true)) {
      draft.set("model.norm", "layer_norm", read_from(*keys.find(at("rmsnorm"))));
    }
    if (import.on(at("add_bias_linear"))) {
      draft.set("model.linear_bias", true, read_from(*keys.find(at("add_bias_linear"))));
    }
    static_cast<void>(keys.flag(at("post_layer_norm")));
  } else if (known.type == "mpt") {
    copy_count(import, at("attn_config.kv_n_heads"), "model.num_query_groups");
    const auto alibi = keys.flag(at("attn_config.alibi"));
    if (!alibi.value_or(false)) {
      draft.set("model.position", "learned",
                alibi ? read_from(*keys.find(at("attn_config.alibi")))
                      : default_of(import, "learned positions"));
      copy_count(import, at("max_seq_len"), "model.max_positions");
    }
    if (!import.on(at("no_bias"))) {
      draft.set("model.linear_bias", true, default_of(import, "biases in every linear layer"));
    }
    const auto ratio = keys.count(at("expansion_ratio"));
    const auto width = keys.count(at("d_model"));
    if (ratio && width) {
      draft.set(
          "model.ffn_hidden_size", *ratio * *width,
          derived_from(*keys.find(at("expansion_ratio")), fmt::format("{} x {}", *ratio, *width)));
    }
  } else if (known.type == "minimax_m2") {
    if (import.on(at("use_mtp"))) {
      copy_count(import, at("num_mtp_modules"), "model.mtp");
      static_cast<void>(keys.take(at("mtp_transformer_layers")));
    }
    const auto kinds = keys.texts(at("attn_type_list"));
    if (std::any_of(kinds.begin(), kinds.end(), [](const auto& kind) { return kind != "1"; })) {
      keys.error(*keys.find(at("attn_type_list")), "holds layers without full attention");
    }
  }
}

// config.json of a model with experts, under the names of many classes.
namespace {

class Mixture {
 public:
  Mixture(Import& import, std::string_view prefix, const ModelClass& family)
      : import_(import), keys_(import.keys), prefix_(prefix), family_(family) {}

  void read() {
    const std::string name = expert_count();
    const auto experts = name.empty() ? std::nullopt : keys_.count(name);
    if (!experts || *experts < 2) {
      return;
    }
    import_.set("model.moe.num_experts", *experts, name);
    copy_first(
        {"num_experts_per_tok", "top_k_experts", "experts_per_token", "num_experts_per_token",
         "moe_k", "moe_topk", "moe_top_k", "moe_router_topk", "num_selected_experts", "top_k"},
        "model.moe.top_k");
    copy_first({"moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size",
                "expert_intermediate_size", "ffn_dim_expert"},
               "model.moe.ffn_hidden_size");
    if (family_.type == "llama4_text") {
      copy_count(import_, at("intermediate_size"), "model.moe.ffn_hidden_size");
      copy_count(import_, at("intermediate_size_mlp"), "model.ffn_hidden_size");
      import_.usual("model.moe.shared", std::int64_t{1}, "one shared expert in every MoE layer");
    } else if (import_.draft.find("model.moe.ffn_hidden_size") == nullptr) {
      copy_count(import_, at("intermediate_size"), "model.moe.ffn_hidden_size");
    }
    read_shared();
    if (import_.on(at("use_residual"))) {  // Arctic's: as wide as the stream, before the experts
      copy_count(import_, at("hidden_size"), "model.moe.dense_branch");
    }
    const auto capacity = keys_.number(at("moe_train_capacity_factor"));
    if (import_.on(at("moe_token_dropping")) && capacity) {
      import_.set("model.moe.capacity", fmt::format("{}", *capacity),
                  at("moe_train_capacity_factor"));
    }
    const auto layers = keys_.count(at("num_hidden_layers"));
    if (layers) {
      import_.set("model.num_layers", *layers, at("num_hidden_layers"));
    }
    read_dense_layers(layers.value_or(0));
    const auto groups = keys_.count(at("n_group"));
    const auto chosen = keys_.count(at("topk_group"));
    put_node_limit(import_.draft, keys_.find(at("topk_group")), chosen, groups);
  }

 private:
  [[nodiscard]] std::string at(std::string_view name) const {
    return std::string(prefix_) + std::string(name);
  }

  void copy_first(std::initializer_list<std::string_view> names, std::string_view target) {
    for (const std::string_view name : names) {
      copy_count(import_, at(name), target);
    }
  }

  // ERNIE: experts from one layer to another, in each n-th.
  template <typename Mark>
  void read_range_of_experts(std::int64_t layers, const Mark& mark) {
    const auto start = keys_.count(at("moe_layer_start_index"));
    const SourceItem* last = keys_.take(at("moe_layer_end_index"));
    const auto end = last != nullptr && last->value.text != "-1"
                         ? keys_.count(at("moe_layer_end_index")).value_or(layers - 1)
                         : layers - 1;
    const std::int64_t every =
        std::max<std::int64_t>(keys_.count(at("moe_layer_interval")).value_or(1), 1);
    if (start || last != nullptr || every > 1) {
      mark(start ? "moe_layer_start_index" : "moe_layer_interval", [&](std::int64_t layer) {
        return layer < start.value_or(0) || layer > end || (layer + 1) % every != 0;
      });
    }
  }

  // Layers with a dense MLP: those that any key of the classes names.
  void read_dense_layers(std::int64_t layers) {
    constexpr std::int64_t kMostLayers = 100'000;
    std::vector<bool> dense(
        static_cast<std::size_t>(std::clamp<std::int64_t>(layers, 0, kMostLayers)));
    const SourceItem* from = nullptr;
    std::int64_t most = 0;
    const auto mark = [&](std::string_view name, const auto& is_dense) {
      std::int64_t count = 0;
      for (std::size_t i = 0; i < dense.size(); ++i) {
        if (is_dense(static_cast<std::int64_t>(i))) {
          dense[i] = true;
          ++count;
        }
      }
      if (count > most) {
        most = count;
        from = keys_.find(at(name));
      }
    };
    for (const std::string_view name :
         {"first_k_dense_replace", "num_dense_layers", "n_dense_layers", "n_dense_first"}) {
      const std::int64_t first = keys_.count(at(name)).value_or(0);
      mark(name, [first](std::int64_t layer) { return layer < first; });
    }
    read_range_of_experts(layers, mark);
    for (const std::string_view name :
         {"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_frequency"}) {
      const std::int64_t step = keys_.count(at(name)).value_or(1);
      mark(name, [step](std::int64_t layer) { return step > 1 && (layer + 1) % step != 0; });
    }
    const auto only = keys_.texts(at("mlp_only_layers"));
    mark("mlp_only_layers", [&only](std::int64_t layer) {
      return std::find(only.begin(), only.end(), std::to_string(layer)) != only.end();
    });
    const SourceItem* pattern = keys_.take(at("moe_layer_freq"));
    if (pattern != nullptr && pattern->value.kind == yaml::Value::Kind::sequence) {
      const auto kinds = keys_.texts(at("moe_layer_freq"));
      mark("moe_layer_freq", [&kinds](std::int64_t layer) {
        return static_cast<std::size_t>(layer) < kinds.size() &&
               kinds[static_cast<std::size_t>(layer)] == "0";
      });
    } else if (const auto every = keys_.count(at("moe_layer_freq")); every && *every > 1) {
      mark("moe_layer_freq", [&every](std::int64_t layer) { return layer % *every != 0; });
    }
    if (from == nullptr) {
      return;
    }
    const std::int64_t all = std::count(dense.begin(), dense.end(), true);
    const bool leading = std::is_sorted(dense.begin(), dense.end(), std::greater<>());
    put_dense_layers(import_.draft,
                     leading && all == most
                         ? read_from(*from)
                         : derived_from(*from, "as many layers have a dense MLP"),
                     all, leading);
  }

  [[nodiscard]] std::string expert_count() const {
    for (const std::string_view name :
         {"n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts", "n_experts",
          "num_moe_experts", "moe_num_primary_experts"}) {
      if (keys_.find(at(name)) != nullptr) {
        return at(name);
      }
    }
    return {};
  }

  void read_shared() {
    if (keys_.find(at("moe_shared_expert_intermediate_size")) != nullptr) {
      static_cast<void>(keys_.take(at("n_shared_experts")));  // of that width in all
    } else {
      copy_first({"n_shared_experts", "num_shared_experts", "num_shared_expert",
                  "moe_num_shared_experts", "shared_experts"},
                 "model.moe.shared");
    }
    std::string width_key = at("shared_expert_intermediate_size");
    for (const std::string_view name :
         {"shared_intermediate_size", "moe_shared_expert_intermediate_size",
          "shared_expert_ffn_hidden_size"}) {
      width_key = keys_.find(at(name)) != nullptr ? at(name) : width_key;
    }
    if (keys_.count(width_key).value_or(0) > 0 &&
        import_.draft.find("model.moe.ffn_hidden_size") != nullptr) {
      put_shared_experts(import_, width_key);
    }
  }

  Import& import_;
  SourceKeys& keys_;
  std::string_view prefix_;
  const ModelClass& family_;
};

}  // namespace

void read_mixture(Import& import, std::string_view prefix, const ModelClass& family) {
  Mixture(import, prefix, family).read();
}

}  // namespace orrery::import_config
