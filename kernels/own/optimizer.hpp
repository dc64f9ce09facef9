#pragma once

// Launches the norm of a gradient and the AdamW update. Formulas:
// kernels/reference/optimizer.hpp.
//
// symbol     | meaning                                              | unit | origin
// -----------|------------------------------------------------------|------|---------
// G          | type of the gradient: float or __nv_bfloat16         | -    | operands
// elements   | any number; arrays are padded to a multiple of 8     | 1    | operands
// partial    | [blocks] sums of squares                             | -    | scratch
// correction | 1 / (1 - beta^step), computed on the host            | 1    | settings
//
// The norm is summed in a fixed order: over each thread's elements, over a block, over the blocks.

#include <cuda_bf16.h>

#include <cstdint>

#include "kernels/device/runnable.hpp"

namespace orrery::kernels {

template <typename G>
struct GradientNorm {
  const G* gradient = nullptr;
  float* partial = nullptr;
  float* norm = nullptr;
  std::int64_t elements = 0;
};

template <typename G>
struct AdamwUpdate {
  const G* gradient = nullptr;
  float* weight = nullptr;
  float* first = nullptr;
  float* second = nullptr;
  __nv_bfloat16* narrow = nullptr;  // the weight that is multiplied
  std::int64_t elements = 0;
  float rate = 3e-4F;
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float epsilon = 1e-8F;
  float decay = 0.1F;
  float clip = 1.0F;
  float first_correction = 1.0F;
  float second_correction = 1.0F;
};

// Blocks of the norm: what `partial` is sized by.
template <typename G>
[[nodiscard]] int gradient_norm_blocks(const GradientNorm<G>& norm);

template <typename G>
void launch_gradient_norm(const GradientNorm<G>& norm, int blocks, Stream stream);
template <typename G>
void launch_adamw(const AdamwUpdate<G>& update, Stream stream);

}  // namespace orrery::kernels
