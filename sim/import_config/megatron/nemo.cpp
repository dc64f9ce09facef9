// NeMo: a file with `trainer` and `model`. Names and defaults are Megatron's but for the few below.

#include <fmt/core.h>

#include <algorithm>

#include "sim/import_config/megatron/megatron_keys.hpp"
#include "sim/import_config/trees/adapters.hpp"
#include "sim/import_config/trees/key_fates.hpp"

namespace orrery::import_config {

namespace {

// The trainer's bf16 stands beside 8-bit formats of the model, which say more.
void read_trainer_precision(Import& import) {
  SourceKeys& keys = import.keys;
  const auto precision = keys.text("trainer.precision");
  if (precision && import.draft.find("precision.compute") == nullptr) {
    const SourceItem& item = *keys.find("trainer.precision");
    if (precision->starts_with("bf16")) {
      import.draft.set("precision.compute", "bf16", read_from(item));
    } else if (precision->starts_with("16")) {
      import.draft.set("precision.compute", "fp16", read_from(item));
    } else {
      import.draft.leave_open(
          "precision.compute",
          item,
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
      leave_out(import,
                name,
                Effect::small,
                "what this class sets by default is in NeMo's code, not in the file");
    }
  }
  read_nemo_sharding(import);
  const auto every =
      import.keys.count("exp_manager.checkpoint_callback_params.every_n_train_steps");
  if (every && *every > 0) {
    import.set("checkpoint.interval",
               fmt::format("{} steps", *every),
               "exp_manager.checkpoint_callback_params.every_n_train_steps");
  }
  MegatronKeys keys{import, {"model.", "model.config.", "trainer.strategy.", "strategy.", "data."}};
  read_megatron_model(keys);
  read_megatron_layout(keys);
  read_megatron_step(keys);
  read_trainer_precision(import);
  read_megatron_run(keys);
}

}  // namespace orrery::import_config
