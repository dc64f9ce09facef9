#pragma once

// Launches the movement of token rows: embedding lookup, permutation to the experts and back.
// Formulas: kernels/reference/routing.hpp.
//
// symbol  | meaning                                                        | unit | origin
// --------|----------------------------------------------------------------|------|---------
// T       | __nv_bfloat16 or __half; sums are fp32                         | -    | operands
// columns | a multiple of 8                                                | 1    | operands
// places  | [rows, copies]: row of each copy in the order of the experts   | -    | router
// weights | [rows, copies] fp32                                            | -    | router
// ids     | [rows], row of the table                                       | -    | operands
//
// Scatter: a row is read once and written to each of its places. Combine: a row is the sum of its
// copies, weighted or not, always added in the order of the copies. The embedding's gradient adds
// with atomic operations, whose order, and so the last bits, differ from run to run.

#include <cstdint>

#include "kernels/device/runnable.hpp"

namespace orrery::kernels {

inline constexpr std::int64_t kMostCopies = 64;

template <typename T>
struct EmbeddingForward {
  const T* table = nullptr;
  const std::int64_t* ids = nullptr;
  T* y = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

template <typename T>
struct EmbeddingBackward {
  const T* gradient = nullptr;  // of y
  const std::int64_t* ids = nullptr;
  float* table_gradient = nullptr;  // added to
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// permute forward.
template <typename T>
struct Scatter {
  const T* x = nullptr;
  const std::int32_t* places = nullptr;
  T* y = nullptr;
  std::int64_t rows = 0;  // of x
  std::int64_t columns = 0;
  std::int64_t copies = 0;
};

// unpermute forward; without weights permute backward.
template <typename T>
struct Combine {
  const T* y = nullptr;
  const std::int32_t* places = nullptr;
  const float* weights = nullptr;
  T* x = nullptr;
  std::int64_t rows = 0;  // of x
  std::int64_t columns = 0;
  std::int64_t copies = 0;
};

// unpermute backward.
template <typename T>
struct CombineBackward {
  const T* gradient = nullptr;  // of x
  const T* y = nullptr;
  const std::int32_t* places = nullptr;
  const float* weights = nullptr;
  T* y_gradient = nullptr;
  float* weight_gradient = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t copies = 0;
};

template <typename T>
void launch_embedding_forward(const EmbeddingForward<T>& embedding, Stream stream);
template <typename T>
void launch_embedding_backward(const EmbeddingBackward<T>& embedding, Stream stream);
template <typename T>
void launch_scatter(const Scatter<T>& scatter, Stream stream);
template <typename T>
void launch_combine(const Combine<T>& combine, Stream stream);
template <typename T>
void launch_combine_backward(const CombineBackward<T>& combine, Stream stream);

}  // namespace orrery::kernels
