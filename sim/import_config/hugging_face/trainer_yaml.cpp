// Programs around transformers' Trainer: YAML of Accelerate, LLaMA-Factory and Axolotl. They state
// how a model is trained; the model is in its config.json, DeepSpeed's settings in a file of their
// own.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sim/base/text/text.hpp"
#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

namespace {

void read_first(Import& import, std::initializer_list<std::string_view> names,
                std::string_view target) {
  for (const std::string_view name : names) {
    if (import.draft.find(target) == nullptr) {
      copy_count(import, name, target);
    }
  }
}

// `accelerate launch` takes the keys of its file's sections as arguments.
void rename_arguments(SourceKeys& keys) {
  if (keys.find("use_fsdp") == nullptr && keys.find("use_deepspeed") == nullptr &&
      keys.find("config_file") == nullptr && keys.find("zero_stage") == nullptr) {
    return;
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSections = {
      {{"fsdp_", "fsdp_config."},
       {"zero_stage", "deepspeed_config."},
       {"offload_optimizer_device", "deepspeed_config."},
       {"offload_param_device", "deepspeed_config."},
       {"deepspeed_config_file", "deepspeed_config."}}};
  std::vector<std::string> names;
  for (const SourceItem& item : keys.items()) {
    names.push_back(item.path);
  }
  for (const std::string& name : names) {
    for (const auto& [prefix, section] : kSections) {
      if (name.starts_with(prefix) && name.find('.') == std::string::npos &&
          name != "fsdp_config" && name != "fsdp_version") {
        keys.rename(name, fmt::format("{}{}", section, name));
      }
    }
  }
}

void read_deepspeed_parts(Import& import) {
  SourceKeys& keys = import.keys;
  for (const std::string_view name : {"deepspeed", "deepspeed_config.deepspeed_config_file"}) {
    const SourceItem* file = keys.take(name);
    if (file == nullptr || file->value.text == "false") {
      continue;
    }
    std::string_view text = file->value.text;
    constexpr std::string_view kStage = "zero";
    const bool offloads = text.ends_with("_offload");
    text = text.substr(0, text.find("_offload"));
    if (text.starts_with(kStage) && text.size() == kStage.size() + 1) {  // a preset of ms-swift
      import.draft.set("layout.sharding", std::string(text == "zero0" ? "none" : text),
                       read_from(*file));
      if (offloads) {
        import.draft.set("offload.optimizer", "cpu", read_from(*file));
      }
      if (offloads && text == "zero3") {
        import.draft.set("offload.parameters", "cpu", read_from(*file));
      }
    } else {
      import.draft.leave_open("layout.sharding", *file, "give that file as a further one");
    }
  }
  if (const auto stage = keys.count("deepspeed_config.zero_stage")) {
    import.set("layout.sharding", *stage == 0 ? std::string("none") : fmt::format("zero{}", *stage),
               "deepspeed_config.zero_stage");
  }
  if (import.on("use_deepspeed") && import.draft.open("layout.sharding") == nullptr) {
    import.usual("layout.sharding", "zero2", "zero_stage is 2");
  }
  keys.rename("deepspeed_config.gradient_accumulation_steps", "gradient_accumulation_steps");
}

constexpr std::array<std::string_view, 3> kTasks = {"stage", "rl", "rlhf_type"};

// Losses over pairs of answers, two sequences each; those of `kCompared` with a reference model.
constexpr std::array<std::string_view, 2> kCompared = {"dpo", "ipo"};
constexpr std::array<std::string_view, 3> kPaired = {"orpo", "simpo", "cpo"};

// The key that says that a step trains on pairs.
const SourceItem* pairs_key(SourceKeys& keys) {
  for (const std::string_view name : kTasks) {
    const std::string task = lower_case(keys.text(name).value_or(""));
    if (std::count(kCompared.begin(), kCompared.end(), task) > 0 ||
        std::count(kPaired.begin(), kPaired.end(), task) > 0) {
      return keys.find(name);
    }
  }
  return nullptr;
}

// A reference model runs unless its log probabilities are computed before, or the loss needs none.
bool read_task(Import& import) {
  SourceKeys& keys = import.keys;
  if (const SourceItem* pairs = pairs_key(keys)) {
    const std::string loss = lower_case(keys.text("pref_loss").value_or(pairs->value.text));
    const bool without = std::count(kPaired.begin(), kPaired.end(), loss) > 0;
    if (import.on("precompute_ref_log_probs")) {
      import.draft.note(
          "the reference's log probabilities are computed once, before training: that pass is not "
          "counted");
    } else if (!without) {
      import.set("model.reference", true, pairs->path);
    }
    return true;
  }
  for (const std::string_view name : kTasks) {
    const auto task = keys.text(name);
    if (task && !task->empty() && *task != "sft" && *task != "pt" && lower_case(*task) != "none" &&
        lower_case(*task) != "false") {
      keys.error(
          *keys.find(name),
          fmt::format("{} trains or asks a second model that scores answers, or generates text "
                      "between steps, which an import does not express",
                      yaml::display(*task)),
          "sft, pt, dpo, ipo, orpo, simpo, cpo");
      return false;
    }
  }
  return true;
}

// Adapters leave the weights of the model frozen.
bool read_trained_weights(Import& import, TrainerProgram program) {
  SourceKeys& keys = import.keys;
  for (const std::string_view name : {"finetuning_type", "adapter", "use_peft", "use_peft_lora",
                                      "use_lora", "tuner_type", "train_type", "sft_type"}) {
    const auto kind = keys.text(name);
    const std::string word = lower_case(kind.value_or("none"));
    if (word == "full" || word == "false" || word == "none" || word.empty()) {
      continue;
    }
    if (word != "lora" && word != "qlora" && word != "true") {
      keys.error(
          *keys.find(name),
          fmt::format("{} trains part of the weights in a way that a scenario cannot express",
                      yaml::display(*kind)),
          "full, lora");
      return false;
    }
    read_adapters(import, *keys.find(name), program);
    if (word == "qlora") {
      import.set("model.lora.base", "nf4", name);
    }
    return read_task(import);
  }
  if (program == TrainerProgram::axolotl) {
    for (const std::string_view name : {"lora_r", "lora_dropout", "lora_target_modules"}) {
      leave_out(import, name, Effect::none, "read with an adapter only");
    }
  }
  const bool factory = program == TrainerProgram::llama_factory;
  const bool swift = program == TrainerProgram::swift;
  const std::string_view kind =
      factory ? "finetuning_type" : first_of(import, {"tuner_type", "train_type", "sft_type"});
  if ((factory || swift) && keys.find(kind) == nullptr && !keys.items().empty()) {
    SourceItem silent = keys.items().front();  // not stated: adapters are the default of both
    silent.path = std::string(kind);
    read_adapters(import, silent, program);
  }
  return read_task(import);
}

// Of a training program: `mixed_precision: no` and neither bf16 nor fp16 are fp32.
void read_trainer_precision(Import& import, TrainerProgram program) {
  SourceKeys& keys = import.keys;
  const auto mixed = keys.text("mixed_precision");
  bool stated = false;
  for (const std::string_view name : {"bf16", "fp16"}) {
    const SourceItem* item = keys.find(name);
    std::string said = lower_case(keys.text(name).value_or("false"));
    if (item != nullptr && item->value.text == "auto" && program == TrainerProgram::axolotl) {
      said = "auto";
    }
    const bool on = said == "true" || said == "full" || said == "1";
    if (on || (mixed && *mixed == name)) {
      import.set("precision.compute", std::string(name),
                 on ? name : std::string_view("mixed_precision"));
      stated = true;
    } else if (said == "auto" && name == "bf16") {
      import.draft.set("precision.compute", "bf16",
                       Origin{OriginKind::assumed, item->where, item->shown,
                              "`auto` is bf16 on every GPU that has it"});
      stated = true;
    }
  }
  if (import.on("pure_bf16")) {  // without it LLaMA-Factory trains a copy in fp32
    const SourceItem& pure = *keys.find("pure_bf16");
    import.set("precision.compute", "bf16", "pure_bf16");
    import.set("precision.gradient_dtype", "bf16", "pure_bf16");
    if (lower_case(keys.text("optim").value_or("adamw_torch")).starts_with("adamw_torch")) {
      import.draft.set("precision.optimizer.state_bytes", "4B",
                       derived_from(pure, "two moments in the type of the parameters"));
    }
    stated = true;
  }
  const std::string word = lower_case(mixed.value_or("no"));
  if (word != "no" && word != "false" && word != "bf16" && word != "fp16") {
    import.draft.leave_open("precision.compute", *keys.find("mixed_precision"),
                            word == "fp8" ? std::string("fp8 of which recipe: fp8-delayed "
                                                        "(Transformer Engine), fp8-tensorwise "
                                                        "(torchao), ...")
                                          : yaml::display(word) + " is no precision that is known");
    stated = true;
  }
  if (!stated && program == TrainerProgram::trl && !keys.flag("bf16")) {
    import.usual("precision.compute", "bf16", "bf16 is true");
    stated = true;
  }
  if (!stated && (program != TrainerProgram::accelerate || mixed)) {
    import.pending.full_precision = true;
    import.pending.no_short_type |=
        mixed || keys.flag("bf16").has_value() || keys.flag("fp16").has_value();
    import.pending.tf32 |= import.on("tf32");
  }
}

void read_trainer_recompute(Import& import, TrainerProgram program) {
  SourceKeys& keys = import.keys;
  bool stated = false;
  for (const std::string_view name :
       {"gradient_checkpointing", "activation_checkpointing",
        "fsdp_config.fsdp_activation_checkpointing", "fsdp_config.activation_checkpointing"}) {
    const auto word = keys.text(name);
    stated |= word.has_value();
    if (!word || lower_case(*word) == "false" || *word == "0") {
      continue;
    }
    import.set("recompute", "full", name);
    if (word->starts_with("offload")) {
      import.set("offload.activations", "1", name);
    }
  }
  const bool off = import.on("disable_gradient_checkpointing");
  const bool usual = program == TrainerProgram::swift || program == TrainerProgram::trl;
  const bool by_itself = program == TrainerProgram::llama_factory ? !off : usual && !stated;
  if (by_itself && import.draft.find("recompute") == nullptr) {
    import.usual(
        "recompute", "full",
        usual ? "gradient_checkpointing is true" : "disable_gradient_checkpointing is false");
  }
}

// What these programs take where their file is silent.
void read_trainer_batch(Import& import, TrainerProgram program) {
  if (import.on("packing")) {  // of ms-swift: up to so many tokens in a row
    copy_count(import, "packing_length", "model.sequence_length");
  }
  if (import.draft.find("model.sequence_length") == nullptr) {
    read_first(
        import,
        {"cutoff_len", "sequence_len", "max_seq_length", "max_seq_len", "block_size", "max_length"},
        "model.sequence_length");
  }
  const SourceItem* pairs = pairs_key(import.keys);
  for (const std::string_view name : {"per_device_train_batch_size", "micro_batch_size"}) {
    const auto micro = pairs != nullptr ? import.keys.count(name) : std::nullopt;
    if (micro && import.draft.find("batch.micro") == nullptr) {
      import.derive("batch.micro", 2 * *micro, name, "pairs of two sequences");
    }
  }
  if (pairs == nullptr) {
    read_first(import, {"per_device_train_batch_size", "micro_batch_size"}, "batch.micro");
  }
  keep_count(import, "gradient_accumulation_steps", import.pending.accumulation, "batch.global");
  if (program == TrainerProgram::accelerate) {
    return;
  }
  const bool axolotl = program == TrainerProgram::axolotl;
  const bool one = axolotl || program == TrainerProgram::swift;
  if (import.draft.find("batch.micro") == nullptr) {
    const std::int64_t sequences = pairs != nullptr ? 2 : 1;
    import.usual("batch.micro", sequences * (one ? 1 : 8),
                 one ? "one sequence" : "8 sequences of each device");
  }
  if (!import.pending.accumulation && program != TrainerProgram::swift &&
      !import.keys.is_unread("gradient_accumulation_steps")) {
    import.pending.accumulation =
        PendingCount{1, default_of(import, "gradient_accumulation_steps is 1")};
  }
  const std::int64_t length = program == TrainerProgram::llama_factory ? 2048
                              : program == TrainerProgram::trl         ? 1024
                              : axolotl                                ? 512
                                                                       : 0;
  if (length > 0) {
    import.usual("model.sequence_length", length, "the longest sequence");
  }
}

}  // namespace

TrainerProgram trainer_program(const SourceKeys& keys) {
  const auto any = [&keys](std::initializer_list<std::string_view> names) {
    return std::any_of(names.begin(), names.end(),
                       [&keys](std::string_view name) { return keys.find(name) != nullptr; });
  };
  if (any({"command.trl"})) {
    return TrainerProgram::trl;
  }
  if (any({"base_model"})) {
    return TrainerProgram::axolotl;
  }
  if (any({"command.swift", "tuner_type", "train_type", "sft_type", "rlhf_type"})) {
    return TrainerProgram::swift;
  }
  if (any({"finetuning_type", "stage", "cutoff_len", "template", "dataset_dir"})) {
    return TrainerProgram::llama_factory;
  }
  const bool launched = any({"config_file", "num_machines", "num_processes"}) &&
                        !any({"per_device_train_batch_size", "model_name_or_path"});
  const bool training = any({"per_device_train_batch_size", "model_name_or_path", "output_dir"});
  return launched || (any({"distributed_type", "compute_environment"}) && !training)
             ? TrainerProgram::accelerate
             : TrainerProgram::transformers;
}

void read_trainer_yaml(Import& import) {
  SourceKeys& keys = import.keys;
  rename_arguments(keys);
  const TrainerProgram program = trainer_program(keys);
  static_cast<void>(keys.take("command.trl"));
  constexpr std::array<std::string_view, 6> kNames = {"transformers",  "Accelerate", "Axolotl",
                                                      "LLaMA-Factory", "ms-swift",   "TRL"};
  import.program = std::string(kNames[static_cast<std::size_t>(program)]);
  if (!read_trained_weights(import, program)) {
    return;
  }
  read_launcher(import);
  copy_count(import, "num_machines", "cluster.nodes");
  keep_count(import, "num_processes", import.pending.ranks, "cluster.nodes");
  if (const SourceItem* file = keys.find("config_file")) {
    import.draft.leave_open("layout.sharding", *file, "give that file as a further one");
  }
  read_deepspeed_parts(import);
  read_trainer_batch(import, program);
  read_fsdp(import);
  if (program != TrainerProgram::accelerate && keys.find("distributed_type") == nullptr &&
      import.draft.open("layout.sharding") == nullptr) {
    import.usual("layout.sharding", "none", "without FSDP and DeepSpeed: DDP");
  }
  read_trainer_precision(import, program);
  read_trainer_recompute(import, program);
  const SourceItem* steps = keys.take("max_steps");
  if (steps != nullptr && steps->value.text != "-1") {
    copy_count(import, "max_steps", "training.steps");
  }
  bool packed = false;
  for (const std::string_view name : {"sample_packing", "packing", "neat_packing"}) {
    const bool on = import.on(name);
    packed = packed || on;
    if (on) {
      leave_out(import, name, Effect::small, "which documents share a sequence: state documents");
    }
  }
  const SourceItem* stage = keys.find("stage");
  const bool fills = program == TrainerProgram::transformers ||
                     program == TrainerProgram::accelerate ||
                     (stage != nullptr && stage->value.text == "pt");
  if (!packed && !fills) {
    import.draft.note(
        "without packing a batch is as long as its longest document: the scenario takes all of "
        "them "
        "at the full length, which is the most that a step costs; model.sequence_length states the "
        "usual one");
  }
}

namespace {

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
        "layout.sharding", SourceItem{},
        "the log does not say who holds which parameters: FSDP, DDP, DeepSpeed");
  } else if (!fsdp.empty() && options != "none") {
    import.set("layout.sharding",
               has("hybrid_shard")    ? "hsdp"
               : has("shard_grad_op") ? "zero2"
               : has("no_shard")      ? "none"
                                      : "zero3",
               "fsdp");
  } else if (!deepspeed) {
    import.derive("layout.sharding", "none", "fsdp", "neither FSDP nor DeepSpeed: DDP");
  }
}

}  // namespace

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
    const auto on = keys.flag(type);
    pending.full_precision |= on.has_value() && !*on;  // unless the other is on
    pending.no_short_type |= on.has_value();
    if (on.value_or(false)) {
      import.set("precision.compute", std::string(type), type);
    }
  }
  const auto checkpointing = keys.flag("gradient_checkpointing");
  if (checkpointing) {
    import.set("recompute", *checkpointing ? "full" : "none", "gradient_checkpointing");
  } else {
    import.draft.leave_open("recompute", SourceItem{}, "the log does not print its arguments");
  }
  if (!keys.flag("bf16") && !keys.flag("fp16")) {
    import.draft.leave_open("precision.compute", SourceItem{},
                            "the log does not print its arguments");
  }
  if (pending.ranks && pending.ranks->value == 1) {
    import.draft.set("layout.sharding", "none", pending.ranks->origin);
  } else {
    read_printed_sharding(import);
  }
  const auto steps = keys.count("max_steps");
  const auto tokens = keys.count("input_tokens_seen");
  if (tokens && steps && total && *steps > 0 && *total > 0 && *tokens % (*steps * *total) == 0) {
    import.derive("model.sequence_length", *tokens / (*steps * *total), "input_tokens_seen",
                  fmt::format("{} / ({} x {})", *tokens, *steps, *total));
  } else {
    import.draft.note(
        "the Trainer does not print how long its sequences are: model.sequence_length is that of a "
        "sequence with its padding, or of a packed one");
  }
}

}  // namespace orrery::import_config
