#include <fmt/core.h>

#include <algorithm>
#include <array>

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
  if (is_foreign_class(type) && !forced && !all_attend) {
    keys.error(*item,
               fmt::format("{} is not a decoder whose every layer attends to all keys: a "
                           "scenario cannot express it",
                           yaml::display(type)));
    return nullptr;
  }
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
  if (forced) {
    const ModelClass* wanted = find_model_class(import.model_class);
    if (wanted == nullptr) {
      import.diagnostics.error(
          {"--as"},
          "",
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
    import.diagnostics.error(where,
                             path,
                             "is not stated, and the class says what a layer is",
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
      draft.set(
          "model.num_query_groups", std::int64_t{1}, read_from(*keys.find(at("multi_query"))));
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
      draft.set("model.position",
                "learned",
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
          "model.ffn_hidden_size",
          *ratio * *width,
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

}  // namespace orrery::import_config
