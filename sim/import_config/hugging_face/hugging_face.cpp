// config.json of a model: the dimensions, and what the class behind `model_type` does besides.

#include <fmt/core.h>

#include <algorithm>

#include "sim/import_config/hugging_face/model_classes.hpp"
#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

namespace {

class HuggingFace {
 public:
  explicit HuggingFace(Import& import) : import_(import), keys_(import.keys) {
    for (const std::string_view key : {"text_config.hidden_size", "text_config.model_type"}) {
      prefix_ = keys_.find(key) != nullptr ? "text_config." : prefix_;
    }
  }

  void read() {
    if (!find_class()) {
      return;
    }
    read_attention();
    read_mlp();
    read_mixture(import_, prefix_, *family_);
    read_hybrid_layers(import_, prefix_, *family_);
    read_embeddings();
    copy_known_counts(import_, prefix_, "model");
    take_defaults();
    read_dtype();
    tell_limits();
  }

 private:
  [[nodiscard]] std::string at(std::string_view name) const { return prefix_ + std::string(name); }

  // The value of the class, founded on the key `model_type`.
  [[nodiscard]] Origin of_class(std::string why) const {
    if (type_ == nullptr) {
      return assumed_as(std::move(why));
    }
    return derived_from(*type_, std::move(why));
  }

  bool find_class() {
    const auto name = keys_.text(at("model_type"));
    type_ = keys_.find(at("model_type"));
    if (!prefix_.empty()) {
      static_cast<void>(keys_.text("model_type"));
    }
    static_cast<void>(keys_.take("architectures"));
    family_ = check_class(import_, prefix_, name.value_or(""));
    if (family_ == nullptr) {
      return false;
    }
    if (!name || find_model_class(*name) != family_) {
      type_ = nullptr;
    }
    const bool apart = family_->parallel && !keys_.flag(at("use_parallel_residual")).value_or(true);
    if (!family_->remark.empty() && !apart) {
      import_.draft.note(fmt::format("{}: {}", family_->type, family_->remark));
    }
    read_class_keys(import_, prefix_, *family_);
    return true;
  }

  void copy_first(std::initializer_list<std::string_view> names, std::string_view target) {
    for (const std::string_view name : names) {
      copy_count(import_, at(name), target);
    }
  }

  void read_attention() {
    copy_first({"n_layer", "n_layers", "num_layers"}, "model.num_layers");
    copy_first({"n_embd", "n_embed", "d_model"}, "model.hidden_size");
    copy_first({"n_head", "n_heads"}, "model.num_attention_heads");
    const bool one_group = family_->type == "gpt_bigcode";  // unless the file says otherwise
    if (keys_.flag(at("multi_query")).value_or(one_group) && family_->type != "falcon") {
      const SourceItem* said = keys_.find(at("multi_query"));
      import_.draft.set("model.num_query_groups", std::int64_t{1},
                        said != nullptr ? read_from(*said) : of_class("multi_query is true"));
    }
    if (const SourceItem* rank = keys_.find(at("kv_lora_rank"))) {
      static_cast<void>(rank);
      copy_known_counts(import_, prefix_, "model.mla");
      for (const std::string_view idle : {"head_dim", "qk_head_dim", "num_key_value_heads"}) {
        static_cast<void>(keys_.take(at(idle)));
      }
    }
    const bool all_biases =
        import_.on(at("use_bias")) || import_.on(at("bias")) || family_->linear_bias;
    if (all_biases) {
      import_.draft.set("model.linear_bias", true, of_class("biases in every linear layer"));
    }
    std::string bias_key = at("attention_bias");
    for (const std::string_view name : {"add_qkv_bias", "use_qkv_bias", "qkv_bias"}) {
      bias_key = keys_.find(at(name)) != nullptr ? at(name) : bias_key;
    }
    const auto stated = keys_.flag(bias_key);
    if (stated.value_or(family_->qkv_bias) && !all_biases) {
      import_.draft.set("model.qkv_bias", true,
                        stated ? read_from(*keys_.find(bias_key))
                               : of_class("biases of queries, keys and values"));
      if (stated && bias_key == at("attention_bias")) {
        import_.draft.note("attention_bias: the bias of the output projection is not counted");
      }
    }
    if (import_.draft.find("model.norm") == nullptr) {
      import_.draft.set("model.norm", std::string(family_->norm),
                        of_class("the class normalises so"));
    }
    read_positions();
  }

  void read_positions() {
    const bool alibi = import_.on(at("alibi"));
    if (import_.draft.find("model.position") != nullptr) {
      return;  // the class has read it
    }
    import_.draft.set("model.position",
                      alibi ? std::string("alibi") : std::string(family_->position),
                      of_class("positions of the class"));
    for (const std::string_view name : {"n_positions", "n_ctx", "max_position_embeddings"}) {
      const auto rows = keys_.count(at(name));
      if (rows && family_->position == "learned") {
        // OPT keeps two rows before the first position.
        const bool opt = family_->type == "opt";
        import_.draft.set("model.max_positions", *rows + (opt ? 2 : 0),
                          opt ? derived_from(*keys_.find(at(name)), "and two rows before them")
                              : read_from(*keys_.find(at(name))));
      }
      if (rows) {
        longest_ = *rows;
      }
    }
  }

  void read_mlp() {
    std::string activation;
    for (const std::string_view name : {"hidden_act", "hidden_activation", "activation_function",
                                        "mlp_hidden_act", "activation"}) {
      const auto text = keys_.text(at(name));
      activation = activation.empty() && text ? *text : activation;
    }
    const bool relu = activation == "relu";
    std::string value(family_->activation);
    if (!import_.model_class.empty() && type_ == nullptr && activation == "relu2") {
      value = "squared_relu";  // the classes with it have no gate
    }
    if (!family_->gated && relu) {
      value = "relu";
    } else if (!family_->gated && activation.starts_with("gelu")) {
      value = "gelu";
    } else if (!family_->gated && activation == "relu2") {
      value = "squared_relu";
    }
    const bool other_gate = family_->gated && value != "squared_relu" && !activation.empty() &&
                            activation != "silu" && activation != "swish" && activation != "swiglu";
    if (other_gate) {
      import_.draft.note(fmt::format(
          "the gate of the MLP is {}: costed as SwiGLU, which moves and multiplies the same",
          yaml::display(activation)));
    }
    import_.draft.set("model.activation", value, of_class("MLP of the class"));
    if (keys_.flag(at("mlp_bias")).value_or(false)) {
      leave_out(import_, at("mlp_bias"), Effect::small, "biases of the MLP alone", "");
    }
    copy_first({"n_inner", "ffn_dim", "ffn_hidden_size"}, "model.ffn_hidden_size");
  }

  void read_embeddings() {
    const auto tied = keys_.flag(at("tie_word_embeddings"));
    const auto outer = prefix_.empty() ? tied : keys_.flag("tie_word_embeddings");
    const auto value = tied ? tied : outer;
    const std::string path = tied ? at("tie_word_embeddings") : std::string("tie_word_embeddings");
    import_.draft.set("model.tie_embeddings", value.value_or(family_->tied),
                      value ? read_from(*keys_.find(path)) : of_class("default of the class"));
    if (family_->embedding_norm) {
      import_.draft.set("model.embedding_norm", true, of_class("a norm after the embedding"));
    }
    const auto narrow = keys_.count(at("word_embed_proj_dim"));
    const auto hidden = keys_.count(at("hidden_size"));
    if (narrow && hidden && *narrow != *hidden) {
      leave_out(import_, at("word_embed_proj_dim"), Effect::large,
                "a scenario has embeddings of the width of the model");
    }
    if (hidden) {
      import_.set("model.hidden_size", *hidden, at("hidden_size"));
    }
    const bool padded = keys_.find(at("padded_vocab_size")) != nullptr;
    keep_count(import_, at(padded ? "padded_vocab_size" : "vocab_size"), import_.pending.vocab,
               "model.vocab_size");
    static_cast<void>(keys_.take(at("vocab_size")));
  }

  void read_dtype() {
    for (const std::string& name :
         {at("torch_dtype"), at("dtype"), std::string("torch_dtype"), std::string("dtype")}) {
      const auto dtype = keys_.text(name);
      if (!dtype) {
        continue;
      }
      const bool half = *dtype == "float16";
      if (half || *dtype == "bfloat16") {
        const SourceItem& item = *keys_.find(name);
        import_.draft.set("precision.compute", half ? "fp16" : "bf16",
                          Origin{OriginKind::assumed, item.where, item.shown,
                                 "trained in the type in which the weights are kept"});
      } else {
        leave_out(import_, name, Effect::none, "");
      }
    }
    for (const SourceItem& item : keys_.items()) {
      if (item.path.starts_with("quantization_config.") && !item.used) {
        import_.draft.note(
            "quantization_config: how the weights are kept; in what they are trained is for "
            "`precision` to say");
        break;
      }
    }
  }

  // Where windows are in a regular order: the period of the layers that see the whole sequence, 0
  // when none does.
  static std::optional<std::int64_t> full_every(const std::vector<std::string>& kinds) {
    const auto first = std::find(kinds.begin(), kinds.end(), "full_attention");
    const auto every = first == kinds.end() ? 0 : first - kinds.begin() + 1;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const bool full = every > 0 && (static_cast<std::int64_t>(i) + 1) % every == 0;
      if (kinds[i] != (full ? "full_attention" : "sliding_attention")) {
        return std::nullopt;
      }
    }
    return kinds.empty() ? std::nullopt : std::optional<std::int64_t>(every);
  }

  // Windows and chunks of keys that attention sees.
  void read_windows() {
    const auto window = keys_.count(at("sliding_window"));
    const bool off = keys_.find(at("use_sliding_window")) != nullptr &&
                     !keys_.flag(at("use_sliding_window")).value_or(true);
    const auto kinds = keys_.texts(at("layer_types"));
    const bool windowed = window && !off && *window > 0;
    const SourceItem* pattern = nullptr;
    for (const std::string_view name : {"sliding_window_pattern", "_sliding_window_pattern"}) {
      const SourceItem* item = keys_.take(at(name));
      pattern = item != nullptr ? item : pattern;
    }
    std::optional<std::int64_t> every = windowed ? full_every(kinds) : std::nullopt;
    if (windowed && kinds.empty() && (pattern != nullptr || family_->full_every > 0)) {
      every = pattern != nullptr ? keys_.count(pattern->path) : family_->full_every;
    } else if (windowed && kinds.empty() && keys_.find(at("use_sliding_window")) == nullptr) {
      every = 0;  // every layer of such a class looks through the window
    }
    if (every == 1) {
      static_cast<void>(keys_.take(at("sliding_window")));  // no layer uses it
    } else if (every) {
      import_.set("model.attention_window.size", *window, at("sliding_window"));
      import_.draft.set(
          "model.attention_window.full_every", *every,
          !kinds.empty() ? read_from(*keys_.find(at("layer_types")))
          : pattern != nullptr
              ? read_from(*pattern)
              : of_class(*every == 0 ? std::string("every layer has the window")
                                     : fmt::format("each {}th layer is full", *every)));
    } else if (windowed && (longest_ == 0 || *window < longest_)) {
      leave_out(import_, at("sliding_window"), Effect::large,
                fmt::format("attention is costed over the whole sequence, so too high where "
                            "sequences are longer than {} tokens",
                            *window),
                "model.attention_window");
    }
    if (!every && import_.draft.find("model.layer_types") == nullptr &&
        std::find(kinds.begin(), kinds.end(), "sliding_attention") != kinds.end()) {
      const auto narrow = std::count(kinds.begin(), kinds.end(), "sliding_attention");
      leave_out(import_, at("layer_types"), Effect::large,
                fmt::format("{} of {} layers attend within a window; all are costed over the "
                            "whole sequence",
                            narrow, kinds.size()),
                "model.attention_window");
    }
  }

  // What attention or output do that a scenario does not say.
  void tell_limits() {
    read_windows();
    const auto chunk = keys_.count(at("attention_chunk_size"));
    if (chunk && *chunk > 0 && import_.draft.find("model.attention_window.size") == nullptr) {
      const SourceItem& item = *keys_.find(at("attention_chunk_size"));
      import_.draft.set("model.attention_window.size", *chunk, read_from(item));
      import_.draft.set("model.attention_window.full_every",
                        keys_.count(at("no_rope_layer_interval")).value_or(4),
                        of_class("each 4th layer sees the whole sequence"));
      import_.draft.note(
          fmt::format("{}: tokens see those of their chunk before them; costed as a window of as "
                      "many, which is the same for sequences up to it and more beyond",
                      item.shown));
    }
    for (const std::string_view name : {"attn_logit_softcapping", "final_logit_softcapping"}) {
      if (keys_.take(at(name)) != nullptr) {
        leave_out(import_, at(name), Effect::small, "soft-capping is not costed");
      }
    }
  }

  // Dimensions that the file leaves to its class.
  void take_defaults() {
    const ClassDefaults& defaults = family_->defaults;
    const std::pair<std::string_view, std::int64_t> known[] = {
        {"model.num_layers", defaults.layers},         {"model.hidden_size", defaults.hidden},
        {"model.num_attention_heads", defaults.heads}, {"model.num_query_groups", defaults.groups},
        {"model.head_dim", defaults.head_dim},         {"model.ffn_hidden_size", defaults.ffn}};
    // A Llama that states its heads has as many groups, and none of the other dimensions says less.
    const bool heads = import_.draft.find("model.num_attention_heads") != nullptr;
    for (const auto& [path, value] : known) {
      const bool follows = heads && path == "model.num_query_groups" && family_->type == "llama";
      if (value > 0 && import_.draft.find(path) == nullptr && !follows) {
        import_.usual(path, value, fmt::format("that of the class {}", family_->type));
      }
    }
    if (!import_.pending.vocab && defaults.vocabulary > 0) {
      import_.pending.vocab =
          PendingCount{defaults.vocabulary,
                       default_of(import_, fmt::format("that of the class {}", family_->type))};
    }
    if (family_->gated && import_.draft.find("model.ffn_hidden_size") == nullptr &&
        import_.draft.find("model.moe.ffn_hidden_size") == nullptr) {
      import_.draft.leave_open("model.ffn_hidden_size", SourceItem{},
                               "the file leaves it to its class");
    }
  }

  Import& import_;
  SourceKeys& keys_;
  std::string prefix_;
  const SourceItem* type_ = nullptr;
  const ModelClass* family_ = nullptr;
  std::int64_t longest_ = 0;
};

}  // namespace

void read_hugging_face(Import& import) { HuggingFace(import).read(); }

}  // namespace orrery::import_config
