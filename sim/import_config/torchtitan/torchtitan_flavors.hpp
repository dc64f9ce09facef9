#pragma once

// The dimensions behind the flavors of torchtitan, whose files name a model and a flavor only.
// Internal to import_config/.
//
// Source: torchtitan, torchtitan/models/*/__init__.py and model/args.py before commit 9810191b, for
// the models in llama3, llama4, deepseek_v3 and qwen3 (BSD-3-Clause; the figures only).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

struct TorchtitanFlavor {
  std::string_view model;   // llama3
  std::string_view flavor;  // 8B
  std::string_view facts;   // num_layers=32 hidden_size=4096 ...: keys below `model`
  std::string_view remark = {};
};

// The suffixes _flex, _varlen and _irope of a flavor change the attention kernel, not the widths.
[[nodiscard]] std::optional<TorchtitanFlavor> find_flavor(std::string_view model,
                                                          std::string_view flavor);

[[nodiscard]] std::vector<TorchtitanFlavor> torchtitan_flavors();

// Its name for a schedule of a scenario; nothing where it has none.
[[nodiscard]] std::optional<std::string_view> torchtitan_schedule(std::string_view schedule);

// "llama3 8B, llama3 70B, ...", for messages.
[[nodiscard]] std::string known_flavors();

// Configurations that torchtitan itself has written. Since February 2026 they are functions in
// Python, which are not run here; `--debug.save_config_file FILE` writes what they return as JSON.
//
// The keys are those of the command line. Since July 2026 (commit 7e3f2ebc) the model is among
// them, layer by layer, under model_spec.model; before, its name and flavor alone. Classes are not
// written: a policy of recomputation is known by the fields that it has, and a converter to FP8 or
// FP4 leaves no trace.
//
// Source: torchtitan/trainer.py (to_dict, maybe_log), distributed/activation_checkpoint.py and
// models/common/ at b5bcd76c (BSD-3-Clause; names of fields only).

inline constexpr std::string_view kSavedLayers = "model_spec.model.layers";

// The dimensions, from the layers.
void read_saved_model(Import& import);

// The policy of recomputation, where the file has no key for its name.
void read_saved_recompute(Import& import);

// The optimizer, and what such a file does not say.
void read_saved_remarks(Import& import);

}  // namespace orrery::import_config
