#pragma once

// Launches RMSNorm and LayerNorm. Formulas: kernels/reference/norm.hpp.
//
// symbol   | meaning                                             | unit | origin
// ---------|-----------------------------------------------------|------|---------
// x, y     | [rows, columns], T is __nv_bfloat16 or __half       | -    | operands
// weight   | [columns]; bias too, null for RMSNorm               | -    | operands
// scale    | [rows] 1 / rms or 1 / deviation, kept for backward  | -    | forward
// mean     | [rows], null for RMSNorm                            | -    | forward
// partial  | [blocks, 1 or 2, columns]: sums of a block's rows   | -    | scratch
//
// One block per row, which stays in registers; blocks take rows in turn. Rows of at most
// kNarrowColumns (the heads of queries and keys) are taken by a part of a warp each. The gradients
// of weight and bias are added up in a fixed order: by each thread over its rows, over the block in
// shared memory, then over the blocks by a second kernel. columns: multiples of 8 up to
// kMostNormColumns.
//
// Hiding the latency of memory takes bytes in flight on a multiprocessor >= its share of the
// bandwidth x latency, 3.35 TB/s / 132 x 0.7 us = 18 kB on an H100. So two blocks of 512 threads at
// least: 64 registers a thread (tests/unit/kernels/registers_test.cpp).

#include <cstdint>

#include "kernels/device/runnable.hpp"

namespace orrery::kernels {

inline constexpr std::int64_t kMostNormColumns = 16384;
inline constexpr std::int64_t kNarrowColumns = 256;

template <typename T>
struct NormForward {
  const T* x = nullptr;
  const T* weight = nullptr;
  const T* bias = nullptr;
  T* y = nullptr;
  float* mean = nullptr;
  float* scale = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  float epsilon = 1e-5F;
};

template <typename T>
struct NormBackward {
  const T* x = nullptr;
  const T* weight = nullptr;
  const T* gradient = nullptr;  // of y
  const float* mean = nullptr;
  const float* scale = nullptr;
  T* input_gradient = nullptr;
  float* partial = nullptr;
  float* weight_gradient = nullptr;  // [columns]
  float* bias_gradient = nullptr;    // [columns], null for RMSNorm
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// Blocks that the backward runs with: what `partial` is sized by.
template <typename T>
[[nodiscard]] int norm_backward_blocks(const NormBackward<T>& norm);

// LayerNorm where there is a mean.
template <typename T>
void launch_norm_forward(const NormForward<T>& norm, Stream stream);
template <typename T>
void launch_norm_backward(const NormBackward<T>& norm, int blocks, Stream stream);

}  // namespace orrery::kernels
