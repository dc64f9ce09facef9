// Megatron-Bridge: its ConfigContainer, as it prints it and saves it with a checkpoint. Names and
// meanings are Megatron's, in sections; the few below are its own.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sim/import_config/megatron/megatron_keys.hpp"
#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

namespace {

yaml::Value nested(std::string_view section, std::string_view key, const SourceItem& from) {
  yaml::Value inner;
  inner.kind = yaml::Value::Kind::mapping;
  inner.where = from.where;
  inner.entries.push_back({std::string(key), from.where, from.value});
  yaml::Value outer;
  outer.kind = yaml::Value::Kind::mapping;
  outer.where = from.where;
  outer.entries.push_back({std::string(section), from.where, std::move(inner)});
  return outer;
}

// The data decide how long a sequence is; the model's own key may be the longest that it can read.
void take_length(Import& import) {
  for (const std::string_view name : {"dataset.sequence_length", "dataset.seq_length"}) {
    const SourceItem* length = import.keys.take(name);
    if (length == nullptr) {
      continue;
    }
    const SourceItem* longest = import.keys.find("model.seq_length");
    if (longest != nullptr && longest->value.kind == yaml::Value::Kind::scalar &&
        longest->value.text != length->value.text) {
      import.draft.note(fmt::format("{}: the model could read {} tokens, but the data have {}",
                                    longest->shown, longest->value.text, length->value.text));
    }
    import.keys.add(nested("model", "seq_length", *length));
    return;
  }
}

// What no scenario holds; true when there is none of it.
bool is_plain_decoder(Import& import) {
  SourceKeys& keys = import.keys;
  for (const SourceItem& item : keys.items()) {
    const bool tower = item.path.starts_with("model.vision_config.") ||
                       item.path.starts_with("model.vision_transformer_config.") ||
                       item.path.starts_with("model.teacher.");
    const bool variant = item.path == "model.experimental_attention_variant" &&
                         item.value.kind == yaml::Value::Kind::scalar;
    if (tower || variant) {
      keys.error(
          item, variant ? "is sparse or linear attention, which a scenario cannot express"
                        : "belongs to a model beside the decoder, which a scenario cannot express");
      return false;
    }
  }
  return true;
}

// The function as Python names it; the gate is a flag of its own.
bool take_activation(Import& import) {
  constexpr std::array<std::string_view, 3> kKnown = {"gelu", "relu", "squared_relu"};
  const auto target = import.keys.text("model.activation_func._target_");
  if (!target || import.on("model.gated_linear_unit")) {
    return true;
  }
  SourceItem function = *import.keys.find("model.activation_func._target_");
  const std::string name = target->substr(target->rfind('.') + 1);
  const auto* known = std::find_if(kKnown.rbegin(), kKnown.rend(), [&name](std::string_view word) {
                        return name.find(word) != std::string::npos;
                      }).base();
  if (known == kKnown.begin()) {
    import.keys.error(function, "is an activation that a scenario does not have", "with a gate");
    return false;
  }
  function.value.text = std::string(*(known - 1));
  import.keys.add(nested("model", "activation", function));
  return true;
}

// Stages as lists of what they hold become the letters of Megatron-LM's own text: Ett|tt|ttL.
bool take_stages(Import& import) {
  constexpr std::array<std::pair<std::string_view, char>, 4> kParts = {
      {{"embedding", 'E'}, {"decoder", 't'}, {"mtp", 'm'}, {"loss", 'L'}}};
  const SourceItem* found = import.keys.find("model.pipeline_model_parallel_layout");
  if (found == nullptr || found->value.kind != yaml::Value::Kind::sequence) {
    return true;
  }
  SourceItem stages = *found;
  stages.value = yaml::Value();
  stages.value.kind = yaml::Value::Kind::scalar;
  for (const yaml::Value& stage : found->value.items) {
    stages.value.text += stages.value.text.empty() ? "" : "|";
    for (const yaml::Value& part : stage.items) {
      const auto* known = std::find_if(kParts.begin(), kParts.end(), [&part](const auto& entry) {
        return entry.first == part.text;
      });
      if (known == kParts.end()) {
        import.keys.error(*found,
                          fmt::format("{} is no part of a stage", yaml::display(part.text)));
        return false;
      }
      stages.value.text += known->second;
    }
  }
  import.keys.add(nested("model", "pipeline_model_parallel_layout", stages));
  return true;
}

struct RecipeName {
  std::string_view part;
  std::string_view compute;
  bool gathers_narrow = false;  // fp8_param_gather of its recipe
};

// The first that a name holds; an 8-bit recipe of another kind is none.
constexpr std::array<RecipeName, 8> kRecipeNames = {{{"nvfp4", "nvfp4"},
                                                     {"mxfp8", "mxfp8", true},
                                                     {"fp8_delayed", "fp8-delayed", true},
                                                     {"fp8_current", "fp8-tensorwise", true},
                                                     {"fp8_subchannel", "fp8-block"},
                                                     {"fp8", ""},
                                                     {"bf16_mixed", "bf16"},
                                                     {"16_mixed", "fp16"}}};

// Before the set-up `mixed_precision` is the name of a recipe: bf16_with_mxfp8_mixed.
bool take_recipe(Import& import) {
  const auto name = import.keys.text("mixed_precision");
  if (!name) {
    return true;
  }
  const auto* known = std::find_if(
      kRecipeNames.begin(), kRecipeNames.end(),
      [&name](const RecipeName& recipe) { return name->find(recipe.part) != std::string::npos; });
  const SourceItem& item = *import.keys.find("mixed_precision");
  if (known == kRecipeNames.end() || known->compute.empty()) {
    import.keys.error(item, fmt::format("{} is no recipe that is known", yaml::display(*name)));
    return false;
  }
  SourceItem unset = item;  // the set-up sets these of the model by the recipe
  unset.value = yaml::Value();
  for (const std::string_view type : {"bf16", "fp16", "fp8", "fp4"}) {
    import.keys.add(nested("model", type, unset));
  }
  import.draft.set("precision.compute", std::string(known->compute), read_from(item));
  if (known->gathers_narrow) {
    import.draft.set("precision.parameters", "fp8",
                     derived_from(item, "it gathers them in 8 bits"));
  }
  return true;
}

}  // namespace

void read_bridge(Import& import) {
  if (!is_plain_decoder(import) || !take_activation(import) || !take_stages(import) ||
      !read_peft_section(import)) {
    return;
  }
  take_length(import);
  MegatronKeys keys{import,
                    {"model.", "train.", "ddp.", "mixed_precision.", "optimizer.", "comm_overlap.",
                     "checkpoint.", "dist."}};
  read_megatron_model(keys);
  // Its model provider pads only when it is told to.
  if (!keys.on("should_pad_vocab")) {
    import.pending.vocab_divisor.reset();
  }
  read_megatron_layout(keys);
  const auto wide = keys.flag("grad_reduce_in_fp32");
  if (wide) {  // before the buckets, which count in its bytes
    keys.set("precision.gradient_dtype", *wide ? "fp32" : "bf16", "grad_reduce_in_fp32");
  }
  if (take_recipe(import)) {
    read_megatron_step(keys);
  }
  read_megatron_run(keys);
}

}  // namespace orrery::import_config
