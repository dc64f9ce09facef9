#pragma once

// Which published models does the program know by name, and where were their dimensions published?

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/model/model_spec.hpp"

namespace orrery::model {

struct ModelPreset {
  std::string_view name;     // key in scenarios, e.g. "llama3-405b"
  std::string_view summary;  // one line
  std::string_view source;   // where the dimensions were published
  ModelSpec spec;
};

[[nodiscard]] std::span<const ModelPreset> model_presets();
[[nodiscard]] std::optional<ModelSpec> find_model_preset(std::string_view name);

// Fills the defaulted fields (query groups, head_dim, ffn, positions). With multi-head latent
// attention head_dim is the width of a query head, qk_nope + qk_rope.
[[nodiscard]] ModelSpec resolve(ModelSpec spec);

}  // namespace orrery::model
