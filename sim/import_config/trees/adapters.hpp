#pragma once

// Low-rank adapters as PEFT, LLaMA-Factory, ms-swift, Axolotl, NeMo and Megatron-Bridge state them.
// Internal to import_config/.

#include "sim/import_config/draft.hpp"

namespace orrery::import_config {

// Where a program states them, and what it takes where it is silent.
struct AdapterKeys {
  std::string_view rank;
  std::string_view dropout;
  std::string_view targets;
  std::string_view four_bits;        // a flag, or the number of bits; empty: none
  std::string_view rank_by_default;  // empty: has to be stated
  std::string_view dropout_by_default;
  std::string_view targets_by_default;  // words of a scenario, with blanks between them
};

// `item` says that adapters are trained.
void read_adapters(Import& import, const SourceItem& item, const AdapterKeys& keys);

// The section of NeMo and Megatron-Bridge, `peft` or `model.peft`; false where it is not of LoRA.
[[nodiscard]] bool read_peft_section(Import& import);

}  // namespace orrery::import_config
