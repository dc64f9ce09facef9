#pragma once

// Memory layouts that cuBLASLt prescribes for the scales of 8-bit and 4-bit operands, and how many
// scales an operand needs.
//
//   operand: `outer` rows of `reduced` elements, reduced dimension contiguous
//
// mode   | scale of (row, l)             | index                    | count
// -------|-------------------------------|--------------------------|--------------------
// none   | 1                             | -                        | 0
// tensor | one                           | 0                        | 1
// row    | one per row                   | row                      | outer
// vec128 | 128 elements of one row       | row + outer (l / 128)    | outer L
// blk128 | 128 x 128                     | l / 128 + L4 (row / 128) | L4 ceil(outer/128)
// vec32  | 32 elements of one row, E8M0  | tiled(row, l / 32)       | tiled
// vec16  | 16 elements of one row, UE4M3 | tiled(row, l / 16)       | tiled
//
//   L = ceil(reduced / 128), L4 = L rounded up to a multiple of 4
//   tiled(row, b) = 512 (row / 128 * T + b / 4) + 16 (row % 32) + 4 (row % 128 / 32) + b % 4
//   T             = ceil(blocks of a row / 4); tiles of 128 rows x 4 blocks, padded to whole tiles
//
// Source: cuBLAS library documentation, sections "1D Block Scaling Factors Layout" and "Narrow
// precision data types usage"; the size of vec32 and vec16 as PyTorch checks it in _scaled_mm.

#include <cstdint>

#include "kernels/device/random.hpp"

namespace orrery::kernels {

enum class ScaleMode { none, tensor, row, vec128, blk128, vec32, vec16 };

struct ScaledShape {
  ScaleMode mode = ScaleMode::none;
  std::int64_t outer = 0;
  std::int64_t reduced = 0;
};

namespace detail {

ORRERY_HD constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

inline constexpr std::int64_t kScaleBlock = 128;
inline constexpr std::int64_t kTileRows = 128;
inline constexpr std::int64_t kTileBlocks = 4;
inline constexpr std::int64_t kTileScales = kTileRows * kTileBlocks;

}  // namespace detail

// Elements of a row that share a scale where the mode is tiled.
[[nodiscard]] ORRERY_HD constexpr std::int64_t tiled_vector(ScaleMode mode) {
  constexpr std::int64_t kMx = 32;
  constexpr std::int64_t kNv = 16;
  return mode == ScaleMode::vec32 ? kMx : kNv;
}

// `blocks`: of a whole row.
[[nodiscard]] ORRERY_HD constexpr std::int64_t tiled_scale_index(std::int64_t row,
                                                                 std::int64_t block,
                                                                 std::int64_t blocks) {
  constexpr std::int64_t kRowsInColumn = 32;
  constexpr std::int64_t kRowStride = 16;
  const std::int64_t tiles = detail::ceil_div(blocks, detail::kTileBlocks);
  const std::int64_t tile = row / detail::kTileRows * tiles + block / detail::kTileBlocks;
  return tile * detail::kTileScales + row % kRowsInColumn * kRowStride +
         row % detail::kTileRows / kRowsInColumn * detail::kTileBlocks +
         block % detail::kTileBlocks;
}

// Row stride of the scales of blk128: L4.
[[nodiscard]] ORRERY_HD constexpr std::int64_t block_scale_stride(std::int64_t reduced) {
  constexpr std::int64_t kMultiple = 4;
  return detail::ceil_div(detail::ceil_div(reduced, detail::kScaleBlock), kMultiple) * kMultiple;
}

[[nodiscard]] ORRERY_HD constexpr std::int64_t scale_count(const ScaledShape& shape) {
  switch (shape.mode) {
    case ScaleMode::none:
      return 0;
    case ScaleMode::tensor:
      return 1;
    case ScaleMode::row:
      return shape.outer;
    case ScaleMode::vec128:
      return shape.outer * detail::ceil_div(shape.reduced, detail::kScaleBlock);
    case ScaleMode::blk128:
      return block_scale_stride(shape.reduced) * detail::ceil_div(shape.outer, detail::kScaleBlock);
    case ScaleMode::vec32:
    case ScaleMode::vec16: {
      const std::int64_t blocks = detail::ceil_div(shape.reduced, tiled_vector(shape.mode));
      return detail::ceil_div(shape.outer, detail::kTileRows) *
             detail::ceil_div(blocks, detail::kTileBlocks) * detail::kTileScales;
    }
  }
  return 0;
}

// The scale of element (row, l); the operand has one (mode is not none).
[[nodiscard]] ORRERY_HD constexpr std::int64_t scale_index(const ScaledShape& shape,
                                                           std::int64_t row, std::int64_t l) {
  switch (shape.mode) {
    case ScaleMode::none:
    case ScaleMode::tensor:
      return 0;
    case ScaleMode::row:
      return row;
    case ScaleMode::vec128:
      return row + shape.outer * (l / detail::kScaleBlock);
    case ScaleMode::blk128:
      return l / detail::kScaleBlock +
             block_scale_stride(shape.reduced) * (row / detail::kScaleBlock);
    case ScaleMode::vec32:
    case ScaleMode::vec16: {
      const std::int64_t vector = tiled_vector(shape.mode);
      return tiled_scale_index(row, l / vector, detail::ceil_div(shape.reduced, vector));
    }
  }
  return 0;
}

}  // namespace orrery::kernels
