// nanotron: the YAML it is started with, or what it prints of it.
//
// Meaning and defaults: src/nanotron/config of the repository. Its models are a Llama and a Qwen 2,
// which has the layers of a Llama; the vocabulary is padded to a multiple for each tensor rank.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sim/import_config/logs/training_log.hpp"
#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

namespace {

const yaml::Value* entry_of(const yaml::Value& tree, std::string_view name) {
  for (const yaml::Entry& entry : tree.entries) {
    if (entry.key == name) {
      return &entry.value;
    }
  }
  return nullptr;
}

constexpr std::array<std::string_view, 12> kDimensions = {
    "hidden_size",         "intermediate_size",
    "num_hidden_layers",   "num_attention_heads",
    "num_key_value_heads", "head_dim",
    "hidden_act",          "tie_word_embeddings",
    "attention_bias",      "max_position_embeddings",
    "rms_norm_eps",        "vocab_size"};

bool is_known_model(SourceKeys& keys) {
  for (const std::string_view name : {"is_llama_config", "is_qwen2_config"}) {
    if (keys.flag(fmt::format("model.model_config.{}", name)).value_or(false)) {
      return true;
    }
  }
  for (const SourceItem& item : keys.items()) {
    if (item.path.starts_with("model.model_config.")) {
      keys.error(item, "belongs to a model that is neither is_llama_config nor is_qwen2_config");
      return false;
    }
  }
  return true;
}

void read_parallelism(Import& import) {
  keep_count(import, "parallelism.dp", import.pending.data, "layout.data");
  copy_count(import, "parallelism.tp", "layout.tensor");
  copy_count(import, "parallelism.pp", "layout.pipeline");
  copy_count(import, "parallelism.context_parallel_size", "layout.context");
}

// The job has no other ranks than those of its four axes.
void read_ranks(Import& import) {
  constexpr std::int64_t kMost = 1'000'000;
  std::int64_t ranks = 1;
  for (const std::string_view axis : {"dp", "tp", "pp", "context_parallel_size"}) {
    const auto degree = import.keys.count(fmt::format("parallelism.{}", axis));
    if (axis == "dp" && !degree) {
      return;
    }
    if (degree.value_or(1) < 1 || degree.value_or(1) > kMost / ranks) {
      return;
    }
    ranks *= degree.value_or(1);
  }
  import.pending.ranks =
      PendingCount{ranks, derived_from(*import.keys.find("parallelism.dp"), "dp x tp x pp")};
}

}  // namespace

std::vector<LogPart> nanotron_parts(yaml::Value tree) {
  yaml::Value model;
  model.kind = yaml::Value::Kind::mapping;
  model.where = tree.where;
  const yaml::Value* section = entry_of(tree, "model");
  const yaml::Value* dimensions = section == nullptr ? nullptr : entry_of(*section, "model_config");
  std::vector<LogPart> parts;
  if (dimensions != nullptr && !dimensions->entries.empty()) {
    model.where = dimensions->where;
    yaml::Value type;
    type.kind = yaml::Value::Kind::scalar;
    type.text = "llama";
    type.where = dimensions->where;
    model.entries.push_back({"model_type", dimensions->where, std::move(type)});
    for (const yaml::Entry& entry : dimensions->entries) {
      if (std::find(kDimensions.begin(), kDimensions.end(), entry.key) != kDimensions.end()) {
        model.entries.push_back(entry);
      }
    }
    parts.push_back({ConfigFormat::hugging_face, std::move(model)});
  }
  parts.push_back({ConfigFormat::nanotron, std::move(tree)});
  return parts;
}

void read_nanotron(Import& import) {
  SourceKeys& keys = import.keys;
  if (!is_known_model(keys)) {
    return;
  }
  for (const std::string_view name : kDimensions) {
    static_cast<void>(keys.take(fmt::format("model.model_config.{}", name)));
  }
  keep_count(import, "model.make_vocab_size_divisible_by", import.pending.vocab_divisor,
             "model.vocab_size");
  read_parallelism(import);
  read_ranks(import);
  const SourceItem* stages = keys.find("data_stages");
  const SourceItem* length = keys.find("tokens.sequence_length");
  for (const yaml::Value& stage :
       stages == nullptr ? std::vector<yaml::Value>() : stages->value.items) {
    const yaml::Value* own = entry_of(stage, "sequence_length");
    if (length != nullptr && own != nullptr && own->kind == yaml::Value::Kind::scalar &&
        own->text != length->value.text) {
      leave_out(
          import, "data_stages", Effect::large,
          fmt::format("a stage has sequences of {} tokens, not {}", own->text, length->value.text),
          "model.sequence_length");
    }
  }
}

}  // namespace orrery::import_config
