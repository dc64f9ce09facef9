// Programs of which a table in scenarios/imports says most: MaxText, llm-foundry, and Megatron
// behind ms-swift. Here stands what needs arithmetic, or several keys together.
//
// Meaning and defaults: src/maxtext/configs/base.yml and types.py at e591f30c; llmfoundry/models at
// 8c8dd48f; swift/megatron/arguments/megatron_args.py at 3602360a.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/text/text.hpp"
#include "sim/import_config/trees/key_fates.hpp"
#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

namespace {

// The product of the two counts of an axis, within a host and between them; of -1 nothing.
std::optional<std::int64_t> axis(Import& import, std::initializer_list<std::string_view> names) {
  constexpr std::int64_t kMost = 1'000'000;
  std::int64_t product = 1;
  for (const std::string_view name : names) {
    for (const std::string_view place : {"ici", "dcn"}) {
      const std::string key = fmt::format("{}_{}", place, name);
      const SourceItem* item = import.keys.take(key);
      if (item == nullptr) {
        continue;
      }
      if (item->value.text == "-1") {
        return std::nullopt;
      }
      const std::int64_t count = import.keys.count(key).value_or(1);
      product *= std::clamp<std::int64_t>(count, 1, kMost / product);
    }
  }
  return product;
}

void read_axes(Import& import) {
  struct Axis {
    std::string_view path;
    std::initializer_list<std::string_view> names;
  };

  const std::array<Axis, 4> kAxes = {
      {{"layout.tensor",
        {"tensor_parallelism", "tensor_transpose_parallelism", "tensor_sequence_parallelism"}},
       {"layout.context", {"context_parallelism", "sequence_parallelism"}},
       {"layout.pipeline", {"pipeline_parallelism"}},
       {"layout.expert", {"expert_parallelism"}}}};
  for (const Axis& one : kAxes) {
    const SourceItem* from = nullptr;
    for (const std::string_view name : one.names) {
      for (const std::string_view place : {"ici", "dcn"}) {
        const SourceItem* item = import.keys.find(fmt::format("{}_{}", place, name));
        from = item != nullptr && item->value.text != "1" ? item : from;
      }
    }
    const auto degree = axis(import, one.names);
    if (!degree) {
      import.draft.leave_open(one.path, *from, "-1 is what the other axes leave over");
    } else {
      import.draft.set(
          one.path, *degree,
          from == nullptr ? default_of(import, "one rank") : derived_from(*from, "ici x dcn"));
    }
  }
}

// FSDP within a host and copies between hosts, unless the axes between hosts say something else.
void read_maxtext_sharding(Import& import) {
  SourceKeys& keys = import.keys;
  const auto is = [&keys](std::string_view name, std::string_view value) {
    const SourceItem* item = keys.take(name);
    return item != nullptr && item->value.text == value;
  };
  const bool whole = !is("dcn_fsdp_parallelism", "1");
  const bool none = is("ici_fsdp_parallelism", "1") && !whole;
  const bool hosts = is("dcn_data_parallelism", "-1");
  if (const SourceItem* shared = keys.find("ici_fsdp_parallelism");
      shared != nullptr && shared->value.text != "-1") {
    static_cast<void>(keys.count("ici_fsdp_parallelism"));
  }
  const auto copies = hosts ? std::nullopt : keys.count("dcn_data_parallelism");
  if (!none && !is("ici_data_parallelism", "1")) {
    leave_out(import, "ici_data_parallelism", Effect::large,
              "copies within a host beside ranks that share the parameters", "layout.sharding");
  }
  if (none) {
    import.set("layout.sharding", "none", "ici_fsdp_parallelism");
    return;
  }
  import.pending.fsdp = true;
  if (hosts && !whole) {
    import.pending.per_host = default_of(import, "the ranks of a host share them");
  }
  if (copies && *copies > 1) {
    import.pending.replicate = PendingCount{*copies, read_from(*keys.find("dcn_data_parallelism"))};
  }
}

// Widths of latent attention, or which layers of the family see the whole sequence.
void read_maxtext_attention(Import& import) {
  SourceKeys& keys = import.keys;
  const SourceItem* kind = keys.find("attention_type");
  if (kind != nullptr && matches("*mla*", kind->value.text)) {  // a log prints its class, too
    static_cast<void>(keys.take("attention_type"));
    copy_known_counts(import, "", "model.mla");
    static_cast<void>(keys.take("head_dim"));  // of a head of the others
  }
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> kWindows = {
      {{"gemma2", 2}, {"gemma3", 6}, {"gpt_oss", 2}, {"olmo3", 4}}};
  const SourceItem* block = keys.find("decoder_block");
  for (const auto& [family, every] : kWindows) {
    if (block != nullptr && matches(fmt::format("*{}", family), block->value.text)) {
      import.set("model.attention_window.full_every", every, "decoder_block");
      static_cast<void>(keys.take("decoder_block"));
      static_cast<void>(keys.take("inhomogeneous_layer_cycle_interval"));
    }
  }
}

// Weights in bf16 have no copy in fp32; the first moment has a type of its own, the second that of
// the weights.
void read_maxtext_state(Import& import) {
  const auto bytes = [&import](std::string_view key, int otherwise) {
    const std::string type = import.keys.text(key).value_or("");
    if (!type.empty() && type != "bfloat16" && type != "float32") {
      import.leave_unknown("precision.optimizer.state_bytes", key);
    }
    return type == "bfloat16" ? 2 : type == "float32" ? 4 : otherwise;
  };
  const int weight = bytes("weight_dtype", 4);
  const int moment = bytes("mu_dtype", weight);
  if (weight != 4 || moment != 4) {
    import.derive("precision.optimizer.state_bytes",
                  fmt::format("{}B", (weight == 4 ? weight : 0) + moment + weight),
                  weight != 4 ? "weight_dtype" : "mu_dtype",
                  "the copy of the weights in fp32, if any, and two moments");
  }
}

}  // namespace

void read_maxtext(Import& import) {
  SourceKeys& keys = import.keys;
  const auto name = keys.text("model_name");
  if (name && *name != "default" && keys.find("base_emb_dim") == nullptr) {
    import.draft.leave_open(
        "model.num_layers", *keys.find("model_name"),
        fmt::format("give MaxText's configs/models/{}.yml as a further file", *name));
  }
  const auto activations = keys.texts("mlp_activations");
  if (!activations.empty()) {
    const bool gated = activations.size() > 1;
    const std::string& act = activations.front();
    import.set("model.activation",
               gated           ? "swiglu"
               : act == "relu" ? "relu"
                               : "gelu",
               "mlp_activations");
  }
  read_maxtext_attention(import);
  read_maxtext_state(import);
  static_cast<void>(keys.take("base_moe_mlp_dim"));  // read with experts only
  const std::int64_t experts = keys.count("num_experts").value_or(1);
  if (experts > 1) {
    import.set("model.moe.num_experts", experts, "num_experts");
    for (const std::string_view width : {"base_moe_mlp_dim", "base_mlp_dim"}) {
      const SourceItem* item = keys.take(width);
      if (item != nullptr && item->value.text != "-1" &&
          import.draft.find("model.moe.ffn_hidden_size") == nullptr) {
        copy_count(import, width, "model.moe.ffn_hidden_size");
      }
    }
  }
  read_axes(import);
  read_maxtext_sharding(import);
  if (keys.find("base_emb_dim") != nullptr) {
    import.usual("model.norm", "rms_norm", "norms of its decoder blocks");
    import.usual("model.position", "rotary", "its decoder blocks rotate");
  }
}

namespace {

// 63900ba are steps, 2ep epochs, 1000tok tokens.
void read_foundry_length(Import& import, std::string_view source, std::string_view target) {
  const auto text = import.keys.text(source);
  if (!text || !text->ends_with("ba")) {
    return;
  }
  const std::string steps = text->substr(0, text->size() - 2);
  import.set(target, target == "training.steps" ? steps : steps + " steps", source);
}

void read_foundry_model(Import& import) {
  SourceKeys& keys = import.keys;
  const std::string name = keys.text("model.name").value_or("mpt_causal_lm");
  if (name.starts_with("hf_")) {
    const SourceItem* model = keys.find("model.pretrained_model_name_or_path");
    if (model != nullptr) {
      import.draft.leave_open("model.num_layers", *model,
                              "give the config.json of this model as a further file");
    }
    return;
  }
  for (const auto& [key, value] : {std::pair{"model.no_bias", "false"},
                                   std::pair{"model.norm_type", "low_precision_layernorm"},
                                   std::pair{"model.tie_word_embeddings", "true"},
                                   std::pair{"model.ffn_config.ffn_type", "mptmlp"}}) {
    keys.add_default(key, value, "llm-foundry");
  }
  const auto hidden = copy_count(import, "model.d_model", "model.hidden_size");
  const auto ratio = keys.number("model.expansion_ratio");  // read without a width only
  constexpr double kUsual = 4.0;
  const bool stated = keys.find("model.ffn_config.ffn_hidden_size") != nullptr;
  if (hidden && !stated) {
    import.draft.set(
        "model.ffn_hidden_size",
        static_cast<std::int64_t>(ratio.value_or(kUsual) * static_cast<double>(*hidden)),
        ratio ? derived_from(*keys.find("model.expansion_ratio"),
                             fmt::format("{} x {}", *ratio, *hidden))
              : default_of(import, "4 x d_model"));
  }
  const std::string kind = keys.text("model.attn_config.attn_type").value_or("");
  if (kind == "multiquery_attention") {
    import.set("model.num_query_groups", std::int64_t{1}, "model.attn_config.attn_type");
  } else if (!kind.empty() && kind != "multihead_attention" && kind != "grouped_query_attention") {
    import.leave_unknown("model.num_query_groups", "model.attn_config.attn_type");
  }
  const auto on = [&import](std::string_view key) { return import.on(key); };
  const bool learned = keys.flag("model.learned_pos_emb").value_or(true);
  const bool rotary = on("model.attn_config.rope");
  const bool alibi = on("model.attn_config.alibi");
  const SourceItem* from = keys.find(rotary  ? "model.attn_config.rope"
                                     : alibi ? "model.attn_config.alibi"
                                             : "model.learned_pos_emb");
  import.draft.set("model.position",
                   rotary    ? "rotary"
                   : alibi   ? "alibi"
                   : learned ? "learned"
                             : "none",
                   from == nullptr ? default_of(import, "learned positions") : read_from(*from));
}

void read_foundry_sharding(Import& import) {
  SourceKeys& keys = import.keys;
  const auto& items = keys.items();
  const bool fsdp = std::any_of(items.begin(), items.end(), [](const SourceItem& item) {
    return item.path.starts_with("fsdp_config.");
  });
  if (!fsdp) {
    import.usual("layout.sharding", "none", "without fsdp_config: DDP");
    return;
  }
  import.usual("layout.sharding", "zero3", "FULL_SHARD");
  import.usual("overlap.fsdp.backward_prefetch", "after", "backward_prefetch is BACKWARD_POST");
  if (import.on("fsdp_config.cpu_offload")) {
    const Origin origin = read_from(*keys.find("fsdp_config.cpu_offload"));
    import.draft.set("offload.optimizer", "cpu", origin);
    import.draft.set("offload.parameters", "cpu", origin);
  }
}

}  // namespace

void read_llm_foundry(Import& import) {
  read_foundry_model(import);
  read_foundry_sharding(import);
  read_foundry_length(import, "max_duration", "training.steps");
  if (import.keys.find("save_folder") != nullptr) {
    read_foundry_length(import, "save_interval", "checkpoint.interval");
  }
  const SourceItem* micro = import.keys.take("device_train_microbatch_size");
  if (micro != nullptr && !micro->by_default) {
    copy_count(import, "device_train_microbatch_size", "batch.micro");
  } else if (import.draft.find("batch.micro") == nullptr) {
    SourceItem item;
    item.shown = "device_train_microbatch_size";
    import.draft.leave_open("batch.micro", item, "`auto`: the largest that fits, found by trial");
  }
}

// Megatron-LM has no key `model`; in Primus it names a further file.
bool is_swift_megatron(const SourceKeys& keys) {
  const SourceItem* model = keys.find("model");
  return model != nullptr && keys.find("num_layers") == nullptr &&
         model->value.kind == yaml::Value::Kind::scalar && !model->value.text.ends_with(".yaml");
}

void read_swift_megatron(Import& import) {
  import.program = "ms-swift";
  read_launcher(import);
  if (import.on("packing")) {
    import.keys.rename("packing_length", "seq_length");
  }
  import.keys.rename("max_length", "seq_length");
  import.draft.leave_open("model.num_layers", *import.keys.find("model"),
                          "give the config.json of this model as a further file");
  const std::string_view tuner = first_of(import, {"tuner_type", "train_type"});
  const std::string kind = lower_case(import.keys.text(tuner).value_or("full"));
  if (kind == "lora") {
    read_adapters(import, *import.keys.find(tuner), TrainerProgram::swift);
  } else if (kind != "full") {
    import.keys.error(*import.keys.find(tuner),
                      fmt::format("{} trains part of the weights in a way that a scenario cannot "
                                  "express",
                                  yaml::display(kind)),
                      "full, lora");
  }
  read_megatron(import, {""});
  import.pending.vocab_divisor.reset();   // the rows of the checkpoint, without padding
  import.pending.full_precision = false;  // the type of its weights, unless one is stated
}

// The reader and the tables of each format.
namespace {

// The sections of a YAML file that hold arguments, and the top level.
std::vector<std::string> sections_of(SourceKeys& keys) {
  std::vector<std::string> sections = {""};
  for (const SourceItem& item : keys.items()) {
    const std::size_t dot = item.path.find('.');
    const std::string section =
        dot == std::string::npos ? std::string() : item.path.substr(0, dot + 1);
    constexpr std::size_t kMost = 16;
    if (sections.size() < kMost && section != "ENV_VARS." &&
        std::find(sections.begin(), sections.end(), section) == sections.end()) {
      sections.push_back(section);
    }
  }
  return sections;
}

void read_arguments(Import& import) {
  import.keys.have_bare_flags();
  if (is_swift_megatron(import.keys)) {
    read_swift_megatron(import);
  } else {
    read_megatron(import, {""});
  }
}

void read_megatron_yaml(Import& import) {
  if (is_swift_megatron(import.keys)) {
    read_swift_megatron(import);
  } else {
    read_megatron(import, sections_of(import.keys));
  }
}

constexpr std::array<FormatReader, 20> kReaders = {{
    {ConfigFormat::hugging_face, "transformers", "hugging-face", read_hugging_face},
    {ConfigFormat::deepspeed, "DeepSpeed", "deepspeed", read_deepspeed},
    {ConfigFormat::megatron_args, "Megatron-LM", "megatron-lm launchers primus", read_arguments},
    {ConfigFormat::megatron_log, "Megatron-LM", "megatron-lm launchers primus", read_arguments},
    {ConfigFormat::megatron_yaml, "Megatron-LM", "megatron-lm launchers primus", read_megatron_yaml,
     true},
    {ConfigFormat::nemo, "NeMo", "nemo megatron-bridge megatron-lm", read_nemo, true},
    {ConfigFormat::megatron_bridge, "Megatron-Bridge", "megatron-bridge megatron-lm", read_bridge,
     true},
    {ConfigFormat::gpt_neox, "GPT-NeoX", "gpt-neox deepspeed megatron-lm", read_gpt_neox},
    {ConfigFormat::trainer_yaml, "transformers", "", read_trainer_yaml},
    {ConfigFormat::trainer_args, "transformers", "", read_trainer_yaml},
    {ConfigFormat::trainer_log, "transformers", "hf-trainer", read_trainer_log},
    {ConfigFormat::nanotron, "nanotron", "nanotron", read_nanotron},
    {ConfigFormat::torchtitan, "torchtitan", "torchtitan launchers", read_torchtitan},
    {ConfigFormat::torchtitan_command, "torchtitan", "torchtitan launchers", read_torchtitan},
    {ConfigFormat::torchtitan_saved, "torchtitan", "torchtitan launchers", read_torchtitan},
    {ConfigFormat::torchtitan_log, "torchtitan", "torchtitan launchers", read_torchtitan},
    {ConfigFormat::maxtext, "MaxText", "maxtext", read_maxtext},
    {ConfigFormat::llm_foundry, "llm-foundry", "llm-foundry", read_llm_foundry},
    {ConfigFormat::slurm_topology, "Slurm", "slurm-topology", read_slurm_topology},
    {ConfigFormat::nccl_topology, "NCCL", "nccl-topology", read_nccl_topology},
}};

}  // namespace

const FormatReader* reader_of(ConfigFormat format) {
  const auto* found = std::find_if(kReaders.begin(), kReaders.end(),
                                   [format](const auto& one) { return one.format == format; });
  return found == kReaders.end() ? nullptr : found;
}

std::string_view tables_of(const FormatReader& reader, const SourceKeys& keys) {
  if (!reader.tables.empty()) {
    const bool megatron = reader.read == read_arguments || reader.read == read_megatron_yaml;
    return megatron && is_swift_megatron(keys) ? "ms-swift-megatron megatron-lm launchers"
                                               : reader.tables;
  }
  constexpr std::array<std::string_view, 6> kTrainers = {
      "hf-trainer hf-scripts accelerate launchers", "accelerate hf-trainer launchers",
      "axolotl hf-trainer accelerate launchers",    "llama-factory hf-trainer accelerate launchers",
      "ms-swift hf-trainer accelerate launchers",   "hf-scripts hf-trainer accelerate launchers"};
  return kTrainers[static_cast<std::size_t>(trainer_program(keys))];
}

}  // namespace orrery::import_config
