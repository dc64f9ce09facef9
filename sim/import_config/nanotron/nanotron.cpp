// nanotron: the YAML it is started with, or what it prints of it.
//
// Meaning and defaults: src/nanotron/config of the repository. Its models are a Llama and a Qwen 2,
// which has the layers of a Llama; the vocabulary is padded to a multiple for each tensor rank.

#include "sim/import_config/nanotron/nanotron.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

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

constexpr std::array<std::string_view, 12> kDimensions = {"hidden_size",
                                                          "intermediate_size",
                                                          "num_hidden_layers",
                                                          "num_attention_heads",
                                                          "num_key_value_heads",
                                                          "head_dim",
                                                          "hidden_act",
                                                          "tie_word_embeddings",
                                                          "attention_bias",
                                                          "max_position_embeddings",
                                                          "rms_norm_eps",
                                                          "vocab_size"};

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

bool has_experts(SourceKeys& keys) {
  for (const SourceItem& item : keys.items()) {
    if (item.path.starts_with("model.model_config.moe_config.")) {
      keys.error(item, "experts of nanotron are not read");
      return true;
    }
  }
  return false;
}

void read_parallelism(Import& import) {
  SourceKeys& keys = import.keys;
  Draft& draft = import.draft;
  keep_count(import, "parallelism.dp", import.pending.data, "layout.data");
  copy_count(import, "parallelism.tp", "layout.tensor");
  copy_count(import, "parallelism.pp", "layout.pipeline");
  copy_count(import, "parallelism.context_parallel_size", "layout.context");
  const auto experts = keys.count("parallelism.expert_parallel_size");
  if (experts && *experts > 1) {
    keys.error(*keys.find("parallelism.expert_parallel_size"), "experts of nanotron are not read");
  }
  const auto mode = keys.text("parallelism.tp_mode");
  if (mode && draft.count("layout.tensor").value_or(1) > 1) {
    draft.set("layout.sequence_parallel",
              mode->find("REDUCE_SCATTER") != std::string::npos,
              read_from(*keys.find("parallelism.tp_mode")));
  }
  const auto engine = keys.text("parallelism.pp_engine");
  if (engine && draft.count("layout.pipeline").value_or(1) > 1) {
    const bool all_first = engine->find("AllForward") != std::string::npos || *engine == "afab";
    draft.set("layout.schedule",
              all_first ? "gpipe" : "1f1b",
              read_from(*keys.find("parallelism.pp_engine")));
  }
  if (keys.flag("parallelism.recompute_layer").value_or(false)) {
    draft.set("recompute", "full", read_from(*keys.find("parallelism.recompute_layer")));
  }
  const auto stage = keys.count("optimizer.zero_stage");
  if (stage && *stage > 1) {
    keys.error(*keys.find("optimizer.zero_stage"), "nanotron has stages 0 and 1 of ZeRO");
  } else if (stage) {
    draft.set("layout.sharding",
              *stage == 1 ? "zero1" : "none",
              read_from(*keys.find("optimizer.zero_stage")));
  }
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

void read_nanotron_precision(Import& import) {
  SourceKeys& keys = import.keys;
  const auto dtype = keys.text("model.dtype");
  if (dtype) {
    const SourceItem& item = *keys.find("model.dtype");
    if (dtype->ends_with("bfloat16")) {
      import.draft.set("precision.compute", "bf16", read_from(item));
    } else {
      import.draft.leave_open(
          "precision.compute",
          item,
          fmt::format("nanotron in {} is not expressed", yaml::display(*dtype)));
    }
  }
  const auto wide = keys.flag("optimizer.accumulate_grad_in_fp32");
  if (wide) {
    import.draft.set("precision.gradient_dtype",
                     *wide ? "fp32" : "bf16",
                     read_from(*keys.find("optimizer.accumulate_grad_in_fp32")));
  }
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
  if (!is_known_model(keys) || has_experts(keys)) {
    return;
  }
  for (const std::string_view name : kDimensions) {
    static_cast<void>(keys.take(fmt::format("model.model_config.{}", name)));
  }
  keep_count(import,
             "model.make_vocab_size_divisible_by",
             import.pending.vocab_divisor,
             "model.vocab_size");
  leave_out(import,
            "model.model_config.sliding_window_size",
            Effect::large,
            "attention is costed over the whole sequence, not within a window");
  read_parallelism(import);
  read_ranks(import);
  read_nanotron_precision(import);
  copy_count(import, "tokens.sequence_length", "model.sequence_length");
  copy_count(import, "tokens.micro_batch_size", "batch.micro");
  copy_count(import, "tokens.train_steps", "training.steps");
  keep_count(
      import, "tokens.batch_accumulation_per_replica", import.pending.accumulation, "batch.global");
  const auto every = keys.count("checkpoints.checkpoint_interval");
  if (every && *every > 0) {
    import.draft.set("checkpoint.interval",
                     fmt::format("{} steps", *every),
                     read_from(*keys.find("checkpoints.checkpoint_interval")));
  }
  import.draft.set("software", "generic", assumed_as("no software profile was fitted to nanotron"));
}

}  // namespace orrery::import_config
