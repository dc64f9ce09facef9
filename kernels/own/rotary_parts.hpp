#pragma once

// Splits the joint projection into queries, keys and values: one fused pass rotates queries and
// keys and separates the three, another joins their gradients. It moves the bytes of a rotary of
// heads + 2 groups heads.
//
// symbol  | meaning                                                       | unit | origin
// --------|---------------------------------------------------------------|------|---------
// joined  | [tokens, heads + 2 groups, dim]: queries, keys, values        | -    | operands
// q       | [tokens, heads, dim]; k, v: [tokens, groups, dim]             | -    | operands
// angles  | [positions, 2, dim / 2] cosines, then sines; token t is       | -    | operands
//         | at position t mod positions                                   |      |
//
// dim is a multiple of 16. Formula: kernels/reference/elementwise.hpp.

#include <cuda_bf16.h>

#include <cstdint>

#include "kernels/device/runnable.hpp"

namespace orrery::kernels {

struct RotaryParts {
  __nv_bfloat16* joined = nullptr;
  const float* angles = nullptr;
  __nv_bfloat16* q = nullptr;
  __nv_bfloat16* k = nullptr;
  __nv_bfloat16* v = nullptr;
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t groups = 0;
  std::int64_t dim = 0;
  std::int64_t positions = 0;
};

// joined -> q, k, v
void launch_rotary_parts(const RotaryParts& parts, Stream stream);
// q, k, v -> joined, turned back: the gradient
void launch_rotary_join(const RotaryParts& parts, Stream stream);

}  // namespace orrery::kernels
