#pragma once

// The keys of Megatron-LM, under whichever names and sections a file has them. Internal to
// import_config/.
//
// Meaning and defaults: megatron/training/arguments.py, megatron/core/model_parallel_config.py and
// megatron/core/transformer/transformer_config.py at d98e8a64 (2026-08); of NeMo the configurations
// under examples/nlp/language_modeling/conf and the predefined ones of NeMo-Megatron-Launcher.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

struct MegatronKeys {
  Import& import;
  std::vector<std::string> prefixes;  // of the sections that may hold a key, the nearest first

  // Where the key stands; under the first section when it stands nowhere.
  [[nodiscard]] std::string path(std::string_view name) const;
  // The same for the first of several names that stands somewhere.
  [[nodiscard]] std::string path(std::initializer_list<std::string_view> names) const;

  [[nodiscard]] const SourceItem* find(std::string_view name) const {
    return import.keys.find(path(name));
  }

  [[nodiscard]] bool on(std::string_view name) const {
    return import.keys.flag(path(name)).value_or(false);
  }
};

}  // namespace orrery::import_config
