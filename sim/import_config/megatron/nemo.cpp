// NeMo: a file with `trainer` and `model`. Names and defaults are Megatron's but for the few below.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sim/base/text/text.hpp"
#include "sim/import_config/megatron/megatron_keys.hpp"
#include "sim/import_config/trees/key_fates.hpp"
#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

namespace {

// The trainer's bf16 stands beside 8-bit formats of the model, which say more.
void read_trainer_precision(Import& import) {
  SourceKeys& keys = import.keys;
  const std::string_view name =
      first_of(import, {"trainer.precision", "trainer.plugins.precision"});
  const auto precision = keys.text(name);
  if (precision && import.draft.find("precision.compute") == nullptr) {
    const SourceItem& item = *keys.find(name);
    if (precision->starts_with("bf16")) {
      import.draft.set("precision.compute", "bf16", read_from(item));
    } else if (precision->starts_with("16")) {
      import.draft.set("precision.compute", "fp16", read_from(item));
    } else if (precision->starts_with("32")) {
      import.draft.set("precision.compute", "fp32", read_from(item));
    } else {
      import.draft.leave_open(
          "precision.compute", item,
          fmt::format("a scenario has no training in {}", yaml::display(*precision)));
    }
  }
}

void read_nemo_sharding(Import& import) {
  SourceKeys& keys = import.keys;
  if (import.on("model.fsdp")) {
    const auto strategy = keys.text("model.fsdp_sharding_strategy").value_or("full");
    const SourceItem& item = *keys.find("model.fsdp");
    import.draft.set("layout.sharding",
                     strategy == "hybrid" ? "hsdp"
                     : strategy == "grad" ? "zero2"
                                          : "zero3",
                     read_from(item));
    return;
  }
  const SourceItem* optimizer = keys.find("model.optim.name");
  if (optimizer != nullptr && optimizer->value.text.find("distributed") != std::string::npos) {
    import.draft.set("layout.sharding", "zero1", read_from(*optimizer));
  }
}

// NeMo 2 builds its model by a class, whose switches stand in NeMo's code; what the trainer does
// beside it stands with its optimizer, its callbacks and its plugins.
constexpr std::array<std::string_view, 4> kLlamaClasses = {"llama", "mistral", "mixtral",
                                                           "codellama"};

struct Switch {
  std::string_view key;
  std::string_view of_llama;
};

constexpr std::array<Switch, 5> kSwitches = {{{"model.activation", "swiglu"},
                                              {"model.norm", "rms_norm"},
                                              {"model.position", "rotary"},
                                              {"model.tie_embeddings", "false"},
                                              {"model.linear_bias", "false"}}};

void take_callbacks(Import& import) {
  const SourceItem* item = import.keys.find("trainer.callbacks");
  if (item == nullptr) {
    return;
  }
  yaml::Value inner;
  inner.kind = yaml::Value::Kind::mapping;
  inner.where = item->where;
  for (const yaml::Value& callback : item->value.items) {
    for (const yaml::Entry& entry : callback.entries) {
      if (entry.key.find("overlap") != std::string::npos) {
        inner.entries.push_back(entry);
      }
    }
  }
  if (!inner.entries.empty()) {
    yaml::Value outer;
    outer.kind = yaml::Value::Kind::mapping;
    outer.where = inner.where;
    outer.entries.push_back({"callbacks", inner.where, std::move(inner)});
    import.keys.add(outer);
  }
}

void set_switches_of_class(Import& import) {
  const SourceItem* built = import.keys.find("model.config._target_");
  const std::string name = lower_case(built->value.text.substr(built->value.text.rfind('.') + 1));
  const bool llama = std::any_of(kLlamaClasses.begin(), kLlamaClasses.end(),
                                 [&name](auto start) { return name.starts_with(start); });
  for (const Switch& one : kSwitches) {
    const ImportedSetting* setting = import.draft.find(one.key);
    if (setting != nullptr && setting->origin.kind != OriginKind::by_default) {
      continue;
    }
    import.draft.erase(one.key);
    if (llama) {
      import.draft.set(one.key, std::string(one.of_llama),
                       derived_from(*built, "as its class has it"));
    } else {
      import.draft.leave_open(one.key, *built, "the class of the model sets it in NeMo's code");
    }
  }
}

// BERT, T5, adapters and towers have sections or keys of their own.
bool is_plain_gpt(Import& import) {
  SourceKeys& keys = import.keys;
  for (const SourceItem& item : keys.items()) {
    const auto below = [&item](std::string_view section) { return item.path.starts_with(section); };
    const bool other = below("model.bert_binary_head") || below("model.encoder.") ||
                       below("model.decoder.") || below("model.mm_cfg.") ||
                       below("model.masked_softmax_bert") || below("model.unet_config.") ||
                       below("model.retro.") || below("model.dpo.") || below("model.rlhf.") ||
                       below("model.ppo.");
    if (other) {
      keys.error(
          item,
          "belongs to another model or task than a decoder that is trained on its next token, "
          "which a scenario cannot express");
      return false;
    }
  }
  return true;
}

}  // namespace

void read_nemo(Import& import) {
  if (!is_plain_gpt(import) || !read_peft_section(import)) {
    return;
  }
  for (const std::string_view name : {"model._target_", "model.config._target_", "_target_"}) {
    if (import.keys.find(name) != nullptr) {
      leave_out(import, name, Effect::small,
                "what this class sets by default is in NeMo's code, not in the file");
    }
  }
  read_nemo_sharding(import);
  const auto every =
      import.keys.count("exp_manager.checkpoint_callback_params.every_n_train_steps");
  if (every && *every > 0) {
    import.set("checkpoint.interval", fmt::format("{} steps", *every),
               "exp_manager.checkpoint_callback_params.every_n_train_steps");
  }
  const bool second = import.keys.find("model.config._target_") != nullptr;
  if (second) {
    take_callbacks(import);
    import.keys.rename("trainer.plugins.fp8_params", "trainer.plugins.fp8_param_gather");
  }
  MegatronKeys keys{import,
                    {"model.", "model.config.", "trainer.strategy.", "strategy.", "data.",
                     "optim.config.", "callbacks.", "trainer.plugins.", "trainer.strategy.ddp."}};
  read_megatron_model(keys);
  if (second) {
    set_switches_of_class(import);
  }
  read_megatron_layout(keys);
  read_megatron_step(keys);
  read_trainer_precision(import);
  read_megatron_run(keys);
}

}  // namespace orrery::import_config
