#pragma once

// Configurations that torchtitan itself has written. Since February 2026 they are functions in
// Python, which are not run here; `--debug.save_config_file FILE` writes what they return as JSON.
// Internal to import_config/.
//
// The keys are those of the command line. Since July 2026 (commit 7e3f2ebc) the model is among
// them, layer by layer, under model_spec.model; before, its name and flavor alone. Classes are not
// written: a policy of recomputation is known by the fields that it has, and a converter to FP8 or
// FP4 leaves no trace.
//
// Source: torchtitan/trainer.py (to_dict, maybe_log), distributed/activation_checkpoint.py and
// models/common/ at b5bcd76c (BSD-3-Clause; names of fields only).

#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

inline constexpr std::string_view kSavedLayers = "model_spec.model.layers";

// The dimensions, from the layers.
void read_saved_model(Import& import);

// The policy of recomputation, where the file has no key for its name.
void read_saved_recompute(Import& import);

// The optimizer, and what such a file does not say.
void read_saved_remarks(Import& import);

}  // namespace orrery::import_config
