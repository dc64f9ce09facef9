// Programs around transformers' Trainer: YAML of Accelerate, LLaMA-Factory and Axolotl. They state
// how a model is trained; the model is in its config.json, DeepSpeed's settings in a file of their
// own.

#include <fmt/core.h>

#include <algorithm>

#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

namespace {

void read_first(Import& import,
                std::initializer_list<std::string_view> names,
                std::string_view target) {
  for (const std::string_view name : names) {
    if (import.draft.find(target) == nullptr) {
      copy_count(import, name, target);
    }
  }
}

// FULL_SHARD or 1, SHARD_GRAD_OP or 2, NO_SHARD or 3, HYBRID_SHARD or 4.
void read_fsdp(Import& import) {
  SourceKeys& keys = import.keys;
  const auto type = keys.text("distributed_type");
  const bool fsdp = (type && *type == "FSDP") || keys.find("fsdp") != nullptr;
  static_cast<void>(keys.take("fsdp"));
  std::string strategy;
  const SourceItem* from = nullptr;
  for (const std::string_view name : {"fsdp_config.fsdp_sharding_strategy",
                                      "fsdp_config.sharding_strategy",
                                      "fsdp_config.fsdp_reshard_after_forward",
                                      "fsdp_config.reshard_after_forward"}) {
    if (const auto text = keys.text(name)) {
      strategy = strategy.empty() ? *text : strategy;
      from = from == nullptr ? keys.find(name) : from;
    }
  }
  const auto is = [&strategy](std::string_view word, std::string_view digit) {
    return strategy == word || strategy == digit;
  };
  if (fsdp || from != nullptr) {
    const bool sharded_gradients = is("SHARD_GRAD_OP", "2") || is("false", "False");
    const char* sharding = is("NO_SHARD", "3")       ? "none"
                           : sharded_gradients       ? "zero2"
                           : is("HYBRID_SHARD", "4") ? "hsdp"
                                                     : "zero3";
    import.draft.set(
        "layout.sharding",
        sharding,
        from != nullptr ? read_from(*from) : default_of(import, "FSDP shards the parameters"));
  } else if (type && (*type == "MULTI_GPU" || *type == "NO")) {
    import.draft.set("layout.sharding", "none", read_from(*keys.find("distributed_type")));
  }
  for (const std::string_view name :
       {"fsdp_config.fsdp_offload_params", "fsdp_config.offload_params"}) {
    if (keys.flag(name).value_or(false)) {
      import.draft.set("offload.optimizer", "cpu", read_from(*keys.find(name)));
      import.draft.set("offload.parameters", "cpu", read_from(*keys.find(name)));
    }
  }
}

void read_deepspeed_parts(Import& import) {
  SourceKeys& keys = import.keys;
  for (const std::string_view name : {"deepspeed", "deepspeed_config.deepspeed_config_file"}) {
    if (const SourceItem* file = keys.take(name); file != nullptr && file->value.text != "false") {
      import.draft.leave_open("layout.sharding", *file, "give that file as a further one");
    }
  }
  if (const auto stage = keys.count("deepspeed_config.zero_stage")) {
    import.draft.set("layout.sharding",
                     *stage == 0 ? std::string("none") : fmt::format("zero{}", *stage),
                     read_from(*keys.find("deepspeed_config.zero_stage")));
  }
  keys.rename("deepspeed_config.gradient_accumulation_steps", "gradient_accumulation_steps");
}

// Adapters leave the weights of the model frozen.
bool trains_all_weights(Import& import) {
  SourceKeys& keys = import.keys;
  for (const std::string_view name : {"finetuning_type", "adapter", "use_peft"}) {
    const auto kind = keys.text(name);
    if (kind && *kind != "full" && *kind != "false" && !kind->empty()) {
      keys.error(*keys.find(name),
                 fmt::format("{} trains adapters beside frozen weights, which a scenario cannot "
                             "express",
                             yaml::display(*kind)),
                 "full");
      return false;
    }
  }
  return true;
}

}  // namespace

void read_trainer_yaml(Import& import) {
  SourceKeys& keys = import.keys;
  if (!trains_all_weights(import)) {
    return;
  }
  copy_count(import, "num_machines", "cluster.nodes");
  keep_count(import, "num_processes", import.pending.ranks, "cluster.nodes");
  read_first(import, {"cutoff_len", "sequence_len", "max_seq_length"}, "model.sequence_length");
  read_first(import, {"per_device_train_batch_size", "micro_batch_size"}, "batch.micro");
  read_deepspeed_parts(import);
  keep_count(import, "gradient_accumulation_steps", import.pending.accumulation, "batch.global");
  read_fsdp(import);
  const auto mixed = keys.text("mixed_precision");
  for (const std::string_view name : {"bf16", "fp16"}) {
    const bool on = keys.text(name).value_or("false") == "true";
    if (on || (mixed && *mixed == name)) {
      import.draft.set("precision.compute",
                       std::string(name),
                       read_from(*keys.find(on ? name : std::string_view("mixed_precision"))));
    }
  }
  for (const std::string_view name : {"gradient_checkpointing",
                                      "fsdp_config.fsdp_activation_checkpointing",
                                      "fsdp_config.activation_checkpointing"}) {
    if (keys.flag(name).value_or(false)) {
      import.draft.set("recompute", "full", read_from(*keys.find(name)));
    }
  }
  const SourceItem* steps = keys.find("max_steps");
  if (steps != nullptr && steps->value.text != "-1") {
    copy_count(import, "max_steps", "training.steps");
  }
  for (const std::string_view name : {"sample_packing", "packing"}) {
    if (keys.flag(name).value_or(false)) {
      leave_out(import, name, Effect::may_matter, "state the lengths of documents: documents");
    }
  }
  import.draft.set("software", "generic", assumed_as("PyTorch without a stack of its own"));
}

// FULL_SHARD and its kin in the printed arguments; DeepSpeed's own lines say its sharding.
void read_printed_sharding(Import& import) {
  SourceKeys& keys = import.keys;
  const auto fsdp = keys.texts("fsdp");
  const auto deepspeed = keys.text("deepspeed");
  std::string options;
  for (const std::string& option : fsdp) {
    options += option;
  }
  const auto has = [&options](std::string_view part) {
    return options.find(part) != std::string::npos;
  };
  if (fsdp.empty() && !deepspeed) {
    import.draft.leave_open(
        "layout.sharding",
        SourceItem{},
        "the log does not say who holds which parameters: FSDP, DDP, DeepSpeed");
  } else if (!fsdp.empty() && options != "none") {
    import.draft.set("layout.sharding",
                     has("hybrid_shard")    ? "hsdp"
                     : has("shard_grad_op") ? "zero2"
                     : has("no_shard")      ? "none"
                                            : "zero3",
                     read_from(*keys.find("fsdp")));
  } else if (!deepspeed) {
    import.draft.set("layout.sharding",
                     "none",
                     derived_from(*keys.find("fsdp"), "neither FSDP nor DeepSpeed: DDP"));
  }
}

void read_trainer_log(Import& import) {
  SourceKeys& keys = import.keys;
  Pending& pending = import.pending;
  if (keys.count("tp_size").value_or(0) > 1) {
    keys.error(*keys.find("tp_size"), "tensor parallelism of the Trainer is not read");
    return;
  }
  const auto micro = copy_count(import, "per_device_train_batch_size", "batch.micro");
  const auto total = copy_count(import, "train_batch_size", "batch.global");
  keep_count(import, "gradient_accumulation_steps", pending.accumulation, "batch.global");
  copy_count(import, "max_steps", "training.steps");
  keep_count(import, "trainable_parameters", pending.trainable, "model");
  if (micro && total && pending.accumulation) {
    const std::int64_t one = *micro * pending.accumulation->value;
    if (one > 0 && *total % one == 0) {
      pending.ranks = PendingCount{
          *total / one,
          derived_from(*keys.find("train_batch_size"),
                       fmt::format("{} / ({} x {})", *total, *micro, pending.accumulation->value))};
    }
  }
  for (const std::string_view type : {"bf16", "fp16"}) {
    if (keys.flag(type).value_or(false)) {
      import.draft.set("precision.compute", std::string(type), read_from(*keys.find(type)));
    }
  }
  if (keys.flag("gradient_checkpointing").value_or(false)) {
    import.draft.set("recompute", "full", read_from(*keys.find("gradient_checkpointing")));
  }
  read_printed_sharding(import);
  const auto steps = keys.count("max_steps");
  const auto tokens = keys.count("input_tokens_seen");
  if (tokens && steps && total && *steps > 0 && *total > 0 && *tokens % (*steps * *total) == 0) {
    import.draft.set("model.sequence_length",
                     *tokens / (*steps * *total),
                     derived_from(*keys.find("input_tokens_seen"),
                                  fmt::format("{} / ({} x {})", *tokens, *steps, *total)));
  } else {
    import.draft.note(
        "the Trainer does not print how long its sequences are: model.sequence_length is that of a "
        "sequence with its padding, or of a packed one");
  }
  import.draft.set(
      "software", "generic", assumed_as("no software profile was fitted to transformers' Trainer"));
}

}  // namespace orrery::import_config
