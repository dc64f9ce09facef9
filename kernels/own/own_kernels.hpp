#pragma once

// Launches of our own kernels, which are bound by memory. Formulas:
// kernels/reference/operations.hpp, of casts kernels/reference/number_format.hpp.
//
// symbol     | meaning                                                     | unit | origin
// -----------|-------------------------------------------------------------|------|---------
// T          | __nv_bfloat16 or __half; arithmetic is fp32                 | -    | operands
// elements   | a multiple of 8                                             | 1    | operands
// columns    | a multiple of 8, if not said otherwise                      | 1    | operands
// x, y       | [rows, columns]; rotary: [tokens, heads, dim]; dim is a     | -    | operands
//            | multiple of 16                                              |      |
// angles     | [positions, 2, dim / 2] cosines, then sines                 | -    | operands
//            | token t has position t mod positions                        |      |
// gate_up    | [rows, 2, columns]: gate, then up                           | -    | operands
//
// Elementwise kernels take one pack of eight per thread and operand.

#include <cuda_bf16.h>

#include <cstdint>

#include "kernels/device/random.hpp"
#include "kernels/device/runnable.hpp"
#include "kernels/products/scale_layout.hpp"

namespace orrery::kernels {

template <typename T>
struct ResidualAdd {
  const T* a = nullptr;
  const T* b = nullptr;
  T* y = nullptr;
  std::int64_t elements = 0;
};

template <typename T>
struct Rotary {
  const T* x = nullptr;
  const float* angles = nullptr;
  T* y = nullptr;
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t dim = 0;
  std::int64_t positions = 0;
  bool back = false;  // turned the other way: the gradient
};

template <typename T>
struct SwigluForward {
  const T* gate_up = nullptr;
  T* y = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

template <typename T>
struct SwigluBackward {
  const T* gate_up = nullptr;
  const T* gradient = nullptr;    // of y
  T* gate_up_gradient = nullptr;  // laid out as gate_up
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

template <typename T>
void launch_residual_add(const ResidualAdd<T>& add, Stream stream);
template <typename T>
void launch_rotary(const Rotary<T>& rotary, Stream stream);
template <typename T>
void launch_swiglu_forward(const SwigluForward<T>& swiglu, Stream stream);
template <typename T>
void launch_swiglu_backward(const SwigluBackward<T>& swiglu, Stream stream);

// Splits the joint projection into queries, keys and values: one fused pass rotates queries and
// keys and separates the three, another joins their gradients. It moves the bytes of a rotary of
// heads + 2 groups heads.
//
// symbol  | meaning                                                       | unit | origin
// --------|---------------------------------------------------------------|------|---------
// joined  | [tokens, heads + 2 groups, dim]: queries, keys, values        | -    | operands
// q       | [tokens, heads, dim]; k, v: [tokens, groups, dim]             | -    | operands

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

// Launches RMSNorm and LayerNorm.
//
// symbol   | meaning                                             | unit | origin
// ---------|-----------------------------------------------------|------|---------
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

// Launches the movement of token rows: embedding lookup, permutation to the experts and back.
//
// symbol  | meaning                                                        | unit | origin
// --------|----------------------------------------------------------------|------|---------
// places  | [rows, copies]: row of each copy in the order of the experts   | -    | router
// weights | [rows, copies] fp32                                            | -    | router
// ids     | [rows], row of the table                                       | -    | operands
//
// Scatter: a row is read once and written to each of its places. Combine: a row is the sum of its
// copies, weighted or not, always added in the order of the copies. The embedding's gradient adds
// with atomic operations, whose order, and so the last bits, differ from run to run.

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

// Launches cross-entropy over the vocabulary.
//
// symbol   | meaning                                                      | unit | origin
// ---------|--------------------------------------------------------------|------|---------
// logits   | [rows, columns]                                              | -    | operands
// targets  | [rows] in [0, columns)                                       | -    | operands
// loss     | [rows] fp32                                                  | -    | forward
// log_sum  | [rows] fp32, kept for the backward                           | -    | forward
// scale    | gradient of each token's loss, e.g. 1 / rows                 | -    | operands
//
// One pass over a row: each thread keeps the largest logit seen and the sum of exponentials below
// it, rescaled when a larger one comes; the threads of a block then join theirs. Any number of
// columns; packs of eight where columns is a multiple of 8.

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

// Launches the norm of a gradient and the AdamW update.
//
// symbol     | meaning                                              | unit | origin
// -----------|------------------------------------------------------|------|---------
// G          | type of the gradient: float or __nv_bfloat16         | -    | operands
// elements   | any number; arrays are padded to a multiple of 8     | 1    | operands
// partial    | [blocks] sums of squares                             | -    | scratch
// correction | 1 / (1 - beta^step), computed on the host            | 1    | settings
//
// The norm is summed in a fixed order: over each thread's elements, over a block, over the blocks.

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

// Launches casts from bf16 to 8 and 4 bits, with and without the transposed copy.
//
// recipe | scales of codes              | group | transposed copy has scales
// -------|------------------------------|-------|-------------------------------------
// tensor | one given number             | all   | the same number
// row    | fp32, one per row            | all   | fp32, one per column
// block  | fp32                         | 128   | fp32 per 128 rows of a column
// mx     | E8M0                         | 32    | E8M0 per 32 rows of a column
// nvfp4  | E4M3, and an fp32 of tensor  | 16    | E4M3 per 16 rows of a column
//
// symbol      | meaning                                                      | unit | origin
// ------------|--------------------------------------------------------------|------|----------
// x           | [rows, columns] bf16                                         | -    | operands
// codes       | [rows, columns], a byte each; nvfp4 two in a byte, even low  | -    | result
// transposed  | [columns, rows] likewise                                     | -    | result
// magnitude   | largest |x|: of the tensor; row with transpose: [columns]    | -    | result
// multiplier  | tensor: 1 / scale, from an earlier step                      | -    | operands
//
// Scales have the layout of cuBLASLt's products (scale_layout.hpp), each copy as an operand whose
// rows are reduced; padding of the layout is left as it is. Rows and columns are multiples of 128
// (without the transpose: columns only); row: columns up to 32768.

enum class CastRecipe { tensor, row, block, mx, nvfp4 };

inline constexpr std::int64_t kCastTile = 128;
inline constexpr std::int64_t kMostCastColumns = 32768;  // of the recipe row

struct Cast {
  CastRecipe recipe = CastRecipe::tensor;
  bool wide_range = false;  // tensor: E5M2 in place of E4M3
  const __nv_bfloat16* x = nullptr;
  std::uint8_t* codes = nullptr;
  void* scales = nullptr;              // null for tensor
  std::uint8_t* transposed = nullptr;  // null: no transposed copy
  void* transposed_scales = nullptr;   // null for tensor
  std::uint32_t* magnitude = nullptr;  // bits of fp32; unused by block, mx and row without copy
  const float* multiplier = nullptr;   // tensor only
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// Values that share a scale along a row (or column, transposed); 0: not a fixed number.
[[nodiscard]] ORRERY_HD constexpr std::int64_t cast_group(CastRecipe recipe) {
  switch (recipe) {
    case CastRecipe::block:
      return 128;
    case CastRecipe::mx:
      return 32;
    case CastRecipe::nvfp4:
      return 16;
    case CastRecipe::tensor:
    case CastRecipe::row:
      break;
  }
  return 0;
}

// Where a product looks for the scales of such codes.
[[nodiscard]] ORRERY_HD constexpr ScaleMode scale_mode(CastRecipe recipe) {
  switch (recipe) {
    case CastRecipe::tensor:
      return ScaleMode::tensor;
    case CastRecipe::row:
      return ScaleMode::row;
    case CastRecipe::block:
      return ScaleMode::vec128;
    case CastRecipe::mx:
      return ScaleMode::vec32;
    case CastRecipe::nvfp4:
      return ScaleMode::vec16;
  }
  return ScaleMode::none;
}

// tensor raises *magnitude, which starts at 0 at the caller's; the others set it themselves.
void launch_cast(const Cast& cast, Stream stream);

}  // namespace orrery::kernels
