// config.json of a model with experts, under the names of many classes.

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "sim/import_config/hugging_face/model_classes.hpp"

namespace orrery::import_config {

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
    copy_first({"num_experts_per_tok",
                "top_k_experts",
                "experts_per_token",
                "num_experts_per_token",
                "moe_k",
                "moe_topk",
                "moe_top_k",
                "moe_router_topk",
                "num_selected_experts",
                "top_k"},
               "model.moe.top_k");
    copy_first({"moe_intermediate_size",
                "expert_ffn_hidden_size",
                "moe_ffn_hidden_size",
                "expert_intermediate_size",
                "ffn_dim_expert"},
               "model.moe.ffn_hidden_size");
    if (family_.type == "llama4_text") {
      copy_count(import_, at("intermediate_size"), "model.moe.ffn_hidden_size");
      copy_count(import_, at("intermediate_size_mlp"), "model.ffn_hidden_size");
      import_.usual("model.moe.shared", std::int64_t{1}, "one shared expert in every MoE layer");
    } else if (import_.draft.find("model.moe.ffn_hidden_size") == nullptr) {
      copy_count(import_, at("intermediate_size"), "model.moe.ffn_hidden_size");
    }
    read_shared();
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
    for (const std::string_view name : {"decoder_sparse_step", "interleave_moe_layer_step"}) {
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
                     all,
                     leading);
  }

  [[nodiscard]] std::string expert_count() const {
    for (const std::string_view name : {"n_routed_experts",
                                        "num_local_experts",
                                        "num_experts",
                                        "moe_num_experts",
                                        "n_experts",
                                        "num_moe_experts",
                                        "moe_num_primary_experts"}) {
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
      copy_first({"n_shared_experts",
                  "num_shared_experts",
                  "num_shared_expert",
                  "moe_num_shared_experts",
                  "shared_experts"},
                 "model.moe.shared");
    }
    std::string width_key = at("shared_expert_intermediate_size");
    for (const std::string_view name : {"shared_intermediate_size",
                                        "moe_shared_expert_intermediate_size",
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
