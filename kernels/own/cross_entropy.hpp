#pragma once

// Launches cross-entropy over the vocabulary. Formulas: kernels/reference/cross_entropy.hpp.
//
// symbol   | meaning                                                      | unit | origin
// ---------|--------------------------------------------------------------|------|---------
// logits   | [rows, columns], T is __nv_bfloat16 or __half                | -    | operands
// targets  | [rows] in [0, columns)                                       | -    | operands
// loss     | [rows] fp32                                                  | -    | forward
// log_sum  | [rows] fp32, kept for the backward                           | -    | forward
// scale    | gradient of each token's loss, e.g. 1 / rows                 | -    | operands
//
// One pass over a row: each thread keeps the largest logit seen and the sum of exponentials below
// it, rescaled when a larger one comes; the threads of a block then join theirs. Any number of
// columns; packs of eight where columns is a multiple of 8.

#include <cstdint>

#include "kernels/device/runnable.hpp"

namespace orrery::kernels {

template <typename T>
struct CrossEntropyForward {
  const T* logits = nullptr;
  const std::int64_t* targets = nullptr;
  float* loss = nullptr;
  float* log_sum = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

template <typename T>
struct CrossEntropyBackward {
  const T* logits = nullptr;
  const std::int64_t* targets = nullptr;
  const float* log_sum = nullptr;
  T* gradient = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  float scale = 1.0F;
};

template <typename T>
void launch_cross_entropy_forward(const CrossEntropyForward<T>& loss, Stream stream);
template <typename T>
void launch_cross_entropy_backward(const CrossEntropyBackward<T>& loss, Stream stream);

}  // namespace orrery::kernels
