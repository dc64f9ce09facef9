#pragma once

// The number formats that `precision` names: in which type products are computed, all else is kept,
// and how the scales of 8- and 4-bit values are found (docs/precision.md).

#include <array>
#include <string_view>

#include "sim/step/simulate/step_spec.hpp"

namespace orrery::scenario {

// Where linear layers multiply in 8 or 4 bits, the rest is bf16.
struct PrecisionRecipe {
  std::string_view name;
  std::string_view summary;  // for lists
  model::Dtype compute;
  model::Dtype activation = model::Dtype::bf16;
  model::Fp8Scaling scaling = model::Fp8Scaling::delayed;
};

inline constexpr auto kPrecisionRecipes = std::to_array<PrecisionRecipe>({
    {"bf16", "range of fp32, no loss scaling; Ampere and later", model::Dtype::bf16},
    {"fp16", "with loss scaling; Volta and later", model::Dtype::fp16, model::Dtype::fp16},
    {"fp32", "all in 4 bytes, without tensor cores", model::Dtype::fp32, model::Dtype::fp32},
    {"tf32", "all in 4 bytes, products on tensor cores", model::Dtype::tf32, model::Dtype::tf32},
    {"fp8-delayed", "a scale for the tensor, from earlier steps", model::Dtype::fp8},
    {"fp8-tensorwise", "a scale for the tensor, from itself", model::Dtype::fp8, model::Dtype::bf16,
     model::Fp8Scaling::tensorwise},
    {"fp8-current", "another name of fp8-tensorwise", model::Dtype::fp8, model::Dtype::bf16,
     model::Fp8Scaling::tensorwise},
    {"fp8-rowwise", "a scale for each row", model::Dtype::fp8, model::Dtype::bf16,
     model::Fp8Scaling::rowwise},
    {"fp8-block", "a scale for 128 values, of weights for 128 x 128", model::Dtype::fp8,
     model::Dtype::bf16, model::Fp8Scaling::block},
    {"mxfp8", "a scale for 32 values, a power of 2; Blackwell", model::Dtype::fp8,
     model::Dtype::bf16, model::Fp8Scaling::mx},
    {"nvfp4", "a scale for 16 values, another for the tensor; Blackwell", model::Dtype::fp4,
     model::Dtype::bf16, model::Fp8Scaling::nvfp4},
});

}  // namespace orrery::scenario
