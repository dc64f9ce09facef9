#pragma once

// Low-rank adapters as PEFT, LLaMA-Factory, ms-swift, Axolotl, NeMo and Megatron-Bridge state them.
// Internal to import_config/.

#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

// `item` says that adapters are trained; the keys and defaults are those of the program.
void read_adapters(Import& import, const SourceItem& item, TrainerProgram program);

// The section of NeMo and Megatron-Bridge, `peft` or `model.peft`; false where it is not of LoRA.
[[nodiscard]] bool read_peft_section(Import& import);

}  // namespace orrery::import_config
