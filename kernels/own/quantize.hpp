#pragma once

// Launches casts from bf16 to 8 and 4 bits, with and without the transposed copy. Scales and codes:
// kernels/reference/quantize.hpp.
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

#include <cuda_bf16.h>

#include <cstdint>

#include "kernels/device/portable.hpp"
#include "kernels/device/runnable.hpp"
#include "kernels/products/scale_layout.hpp"

namespace orrery::kernels {

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
