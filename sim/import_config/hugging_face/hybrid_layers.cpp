// config.json of a model whose layers are not all attention: which they are, and the widths of
// their states.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/import_config/hugging_face/model_classes.hpp"
#include "sim/step/model/model_spec.hpp"

namespace orrery::import_config {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kAttentionWords = {
    {{"full_attention", "attention"},
     {"attention", "attention"},
     {"sliding_attention", "sliding_attention"},
     {"chunked_attention", "sliding_attention"}}};

// Names of the same width in the classes that have it.
struct Width {
  std::string_view target;
  std::array<std::string_view, 4> names;
};

constexpr std::array<Width, 6> kWidths = {
    {{"value_heads", {"mamba_num_heads", "mamba_n_heads", "linear_num_value_heads", ""}},
     {"key_heads", {"n_groups", "mamba_n_groups", "linear_num_key_heads", ""}},
     {"key_dim", {"ssm_state_size", "mamba_d_state", "linear_key_head_dim", ""}},
     {"value_dim", {"mamba_head_dim", "mamba_d_head", "linear_value_head_dim", ""}},
     {"conv", {"conv_kernel", "mamba_d_conv", "linear_conv_kernel_dim", ""}},
     {"chunk", {"chunk_size", "mamba_chunk_size", "", ""}}}};

class HybridLayers {
 public:
  HybridLayers(Import& import, std::string_view prefix, const ModelClass& family)
      : import_(import), keys_(import.keys), prefix_(prefix), family_(family) {}

  void read() {
    const bool listed =
        read_ratios() || read_pattern() || read_words() || read_interval() || read_lists();
    if (!listed && family_.mixer == "attention_mamba2") {
      set_types({"attention_mamba2"}, default_of(import_, "Mamba-2 beside attention"));
    } else if (!listed && !family_.mixer.empty()) {
      import_.draft.leave_open("model.layer_types", SourceItem{},
                               "the file does not say which layers are attention");
    }
    static_cast<void>(keys_.take(at("full_attention_interval")));  // where the layers are listed
    read_widths();
    if (const SourceItem* top = keys_.find(at("index_topk"))) {
      static_cast<void>(top);
      copy_count(import_, at("index_topk"), "model.sparse_attention.top_k");
      copy_count(import_, at("index_n_heads"), "model.sparse_attention.index_heads");
      copy_count(import_, at("index_head_dim"), "model.sparse_attention.index_head_dim");
    }
    const bool stated = keys_.find(at("attn_output_gate")) != nullptr;
    if (keys_.flag(at("attn_output_gate")).value_or(family_.output_gate)) {
      import_.draft.set("model.output_gate", true,
                        stated ? read_from(*keys_.find(at("attn_output_gate")))
                               : default_of(import_, "attention with a gate"));
    }
    read_full_attention();
    copy_count(import_, at("moe_latent_size"), "model.moe.latent_size");
    copy_count(import_, at("mtp_num_hidden_layers"), "model.mtp");
  }

 private:
  [[nodiscard]] std::string at(std::string_view name) const {
    return std::string(prefix_) + std::string(name);
  }

  // `listed_all`: a word for every layer, so that their number need not be stated.
  void set_types(const std::vector<std::string>& words, Origin origin, bool listed_all = false) {
    const auto period = [&words] {
      for (std::size_t n = 1; n < words.size(); ++n) {
        bool repeats = true;
        for (std::size_t i = n; repeats && i < words.size(); ++i) {
          repeats = words[i] == words[i % n];
        }
        if (repeats) {
          return n;
        }
      }
      return words.size();
    }();
    const std::vector<std::string> once(words.begin(),
                                        words.begin() + static_cast<std::ptrdiff_t>(period));
    import_.draft.set("model.layer_types", fmt::format("[{}]", fmt::join(once, ", ")), origin);
    if (listed_all && keys_.find(at("num_hidden_layers")) == nullptr) {
      import_.draft.set("model.num_layers", static_cast<std::int64_t>(words.size()),
                        std::move(origin));
    }
  }

  // Nemotron-H: a letter a layer. What follows a slash are the layers of prediction modules.
  bool read_pattern() {
    if (family_.mixer.empty() || keys_.find(at("hybrid_override_pattern")) == nullptr) {
      return false;
    }
    auto pattern = keys_.text(at("hybrid_override_pattern"));
    if (!pattern) {
      return false;
    }
    const SourceItem& item = *keys_.find(at("hybrid_override_pattern"));
    std::erase(*pattern, '|');
    *pattern = pattern->substr(0, pattern->find('/'));
    std::vector<std::string> words;
    for (const char letter : *pattern) {
      const auto* const found = std::find_if(
          model::kLayerTypeNames.begin(), model::kLayerTypeNames.end(),
          [letter](const auto& one) { return one.letter != 0 && one.letter == letter; });
      if (found == model::kLayerTypeNames.end()) {
        keys_.error(item,
                    fmt::format("holds `{}`, a layer that a scenario cannot express", letter));
        return true;
      }
      words.emplace_back(found->name);
    }
    set_types(words, read_from(item), true);
    return true;
  }

  // DeepSeek-V4: tokens of an entry for each layer, those of prediction modules behind them.
  bool read_ratios() {
    const SourceItem* item = keys_.find(at("compress_ratios"));
    if (item == nullptr) {
      return false;
    }
    std::vector<std::string> ratios = keys_.texts(at("compress_ratios"));
    const auto layers = keys_.count(at("num_hidden_layers"));
    if (layers && static_cast<std::size_t>(*layers) <= ratios.size()) {
      ratios.resize(static_cast<std::size_t>(*layers));
    }
    std::string letters;
    for (const std::string& ratio : ratios) {
      if (ratio != "0" && ratio != "4" && ratio != "128") {
        keys_.error(*item,
                    fmt::format("holds {}: entries of a scenario are 4 or 128 tokens", ratio));
        return true;
      }
      letters += ratio == "0" ? 'W' : ratio == "4" ? 'C' : 'H';
    }
    import_.draft.set("model.layer_types", letters, read_from(*item));
    copy_count(import_, at("q_lora_rank"), "model.compressed_attention.q_lora_rank");
    copy_count(import_, at("hc_mult"), "model.residual_streams");
    for (const auto& [name, target] :
         {std::pair("o_groups", "output_groups"), std::pair("o_lora_rank", "output_rank")}) {
      const std::string key = fmt::format("model.compressed_attention.{}", target);
      copy_count(import_, at(name), key);
      if (import_.draft.find(key) == nullptr) {
        import_.draft.leave_open(key, SourceItem{},
                                 fmt::format("the file does not state {}", name));
      }
    }
    static_cast<void>(keys_.take(at("qk_rope_head_dim")));  // a part of each head
    static_cast<void>(keys_.take(at("layer_types")));       // the same in words
    return true;
  }

  // A word a layer; those of attention are read with its window.
  bool read_words() {
    for (const std::string_view name : {"layers_block_type", "layer_types"}) {
      const SourceItem* item = keys_.find(at(name));
      const auto found = item != nullptr ? keys_.texts(at(name)) : std::vector<std::string>();
      std::vector<std::string> words;
      bool hybrid = false;
      for (const std::string& word : found) {
        const auto* const attention =
            std::find_if(kAttentionWords.begin(), kAttentionWords.end(),
                         [&word](const auto& known) { return known.first == word; });
        hybrid = hybrid || attention == kAttentionWords.end();
        if (attention != kAttentionWords.end()) {
          words.emplace_back(attention->second);
        } else if (word == "mamba" || word == "mamba2") {
          words.emplace_back("mamba2");
        } else if (word == "moe" || word == "mlp") {
          words.push_back(word);
        } else if (word == "linear_attention" && !family_.mixer.empty()) {
          words.emplace_back(family_.mixer);
        } else {
          keys_.error(*item,
                      fmt::format("holds {}: a scenario cannot express layers without attention "
                                  "to all keys but those of model.layer_types",
                                  yaml::display(word)));
          return true;
        }
      }
      if (hybrid) {
        set_types(words, read_from(*item), true);
        return true;
      }
    }
    return false;
  }

  // The last of so many layers is attention.
  bool read_interval() {
    const auto stated = keys_.count(at("full_attention_interval"));
    const auto every = stated.value_or(family_.full_every);
    if (family_.mixer.empty() || family_.mixer == "attention_mamba2" || every < 1) {
      return false;
    }
    std::vector<std::string> words(static_cast<std::size_t>(every - 1), std::string(family_.mixer));
    words.emplace_back("attention");
    set_types(words, stated
                         ? read_from(*keys_.find(at("full_attention_interval")))
                         : default_of(import_, fmt::format("each {}th layer is attention", every)));
    return true;
  }

  // Kimi Linear: the numbers of the layers of each kind, from 1.
  bool read_lists() {
    const auto full = keys_.texts(at("linear_attn_config.full_attn_layers"));
    if (full.empty()) {
      return false;
    }
    const auto layers = keys_.count(at("num_hidden_layers"));
    if (!layers) {
      return false;
    }
    std::vector<std::string> words;
    for (std::int64_t layer = 1; layer <= *layers; ++layer) {
      const bool attends = std::find(full.begin(), full.end(), std::to_string(layer)) != full.end();
      words.emplace_back(attends ? "attention" : "kda");
    }
    import_.draft.set("model.num_layers", *layers, read_from(*keys_.find(at("num_hidden_layers"))));
    static_cast<void>(keys_.take(at("linear_attn_config.kda_layers")));
    set_types(words, read_from(*keys_.find(at("linear_attn_config.full_attn_layers"))));
    copy_count(import_, at("linear_attn_config.num_heads"), "model.linear_attention.value_heads");
    copy_count(import_, at("linear_attn_config.head_dim"), "model.linear_attention.key_dim");
    copy_count(import_, at("linear_attn_config.short_conv_kernel_size"),
               "model.linear_attention.conv");
    return true;
  }

  // Gemma 4: heads of the layers that see all tokens, and an MLP beside the experts.
  void read_full_attention() {
    if (family_.type != "gemma4_text") {
      return;
    }
    copy_count(import_, at("global_head_dim"), "model.full_attention.head_dim");
    copy_count(import_, at("num_global_key_value_heads"), "model.full_attention.num_query_groups");
    copy_flag(import_, at("attention_k_eq_v"), "model.full_attention.shared_key_value");
    const auto width = keys_.count(at("intermediate_size"));
    const auto expert = import_.draft.count("model.moe.ffn_hidden_size");
    if (keys_.flag(at("enable_moe_block")).value_or(false) && width && expert &&
        *width % *expert == 0) {
      import_.draft.set("model.moe.shared", *width / *expert,
                        derived_from(*keys_.find(at("intermediate_size")),
                                     fmt::format("{} / {}", *width, *expert)));
    }
  }

  void read_widths() {
    if (import_.draft.find("model.layer_types") == nullptr) {
      return;
    }
    for (const Width& width : kWidths) {
      for (const std::string_view name : width.names) {
        if (!name.empty()) {
          copy_count(import_, at(name), fmt::format("model.linear_attention.{}", width.target));
        }
      }
    }
  }

  Import& import_;
  SourceKeys& keys_;
  std::string_view prefix_;
  const ModelClass& family_;
};

}  // namespace

void read_hybrid_layers(Import& import, std::string_view prefix, const ModelClass& family) {
  HybridLayers(import, prefix, family).read();
}

}  // namespace orrery::import_config
