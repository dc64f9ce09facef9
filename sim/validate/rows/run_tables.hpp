#pragma once

// What do the words of measured runs mean? The published tables through which free text enters a
// prediction: training stacks, model families, keywords of the *_as_stated fields.
//
// Nothing else of a row's free text is read. docs/accuracy.md prints these tables.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/layout/layout_spec.hpp"
#include "sim/model/model_spec.hpp"

namespace orrery::validate {

// Stands in for a GPU that no profile names (hardware/gpu_names.hpp).
inline constexpr std::string_view kUnknownGpu = "h100-sxm-80gb";

// Training stack -> software profile. A stack that has a profile of its own name needs no entry.
struct StackName {
  std::string_view stack;     // the whole name, or its beginning
  std::string_view software;  // profile
};

[[nodiscard]] std::span<const StackName> stack_names();

// The profile for a stack without one of its own name: `generic` when the table does not know it.
inline constexpr std::string_view kGenericSoftware = "generic";
[[nodiscard]] std::string_view software_of(std::string_view stack);

// What the stack shards where a row does not say: stacks around FSDP parameters, gradients and
// optimizer; Megatron and all others the optimizer.
[[nodiscard]] layout::Sharding usual_sharding(std::string_view stack);

// What the dimensions of a row leave open, by the first words of the model's name.
struct ModelFamily {
  std::string_view name;
  model::Activation activation;  // a stated `gated` has the last word
  model::Norm norm;
  model::PositionEmbedding position;
  bool linear_bias = false;
  bool qkv_bias = false;
  bool embedding_norm = false;
  bool tied_embeddings = false;
};

[[nodiscard]] std::span<const ModelFamily> model_families();

// The family by name, else the one of GPT or of Llama after `gated`.
[[nodiscard]] const ModelFamily& model_family(std::string_view name, bool gated);

enum class KeywordEffect {
  no_overlap,
  data_overlap,
  no_data_overlap,
  tensor_overlap,
  no_tensor_overlap,
  fp8_parameters,
  capacity_one,
  four_nics,
  compile,
  release_2025
};

struct Keyword {
  std::string_view field;  // key of the row whose text is searched
  std::string_view words;
  KeywordEffect effect;
  std::string_view meaning;
};

// In the order in which they apply: a later one that contradicts an earlier one has no effect.
[[nodiscard]] std::span<const Keyword> keywords();

}  // namespace orrery::validate
