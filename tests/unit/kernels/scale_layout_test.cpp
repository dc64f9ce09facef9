#include "kernels/products/scale_layout.hpp"

#include <gtest/gtest.h>

#include <set>

namespace orrery::kernels {
namespace {

// One tile of 128 rows x 4 blocks: 32 lines of 16 bytes, each holding rows r, r+32, r+64, r+96.
TEST(TiledScales, OneTileInterleavesFourRowsInSixteenBytes) {
  EXPECT_EQ(tiled_scale_index(0, 0, 4), 0);
  EXPECT_EQ(tiled_scale_index(0, 3, 4), 3);
  EXPECT_EQ(tiled_scale_index(32, 0, 4), 4);
  EXPECT_EQ(tiled_scale_index(96, 3, 4), 15);
  EXPECT_EQ(tiled_scale_index(1, 0, 4), 16);
  EXPECT_EQ(tiled_scale_index(31, 0, 4), 496);
  EXPECT_EQ(tiled_scale_index(127, 3, 4), 511);
}

TEST(TiledScales, TilesFollowAlongTheRowFirst) {
  constexpr std::int64_t kBlocks = 12;  // three tiles to a row of tiles
  EXPECT_EQ(tiled_scale_index(0, 4, kBlocks), 512);
  EXPECT_EQ(tiled_scale_index(0, 8, kBlocks), 1024);
  EXPECT_EQ(tiled_scale_index(128, 0, kBlocks), 3 * 512);
  EXPECT_EQ(tiled_scale_index(129, 5, kBlocks), 3 * 512 + 512 + 16 + 1);
}

TEST(TiledScales, PartTilesArePadded) {
  // 5 blocks take two tiles, 130 rows two rows of tiles.
  EXPECT_EQ(scale_count({ScaleMode::vec32, 130, 5 * 32}), 4 * 512);
  EXPECT_EQ(tiled_scale_index(128, 0, 5), 2 * 512);
}

TEST(TiledScales, HoldAsManyAsTheirRoundedShape) {
  // round_up(outer, 128) x round_up(ceil(k / vector), 4), as PyTorch checks.
  EXPECT_EQ(scale_count({ScaleMode::vec32, 8192, 4096}), 8192 * 128);
  EXPECT_EQ(scale_count({ScaleMode::vec16, 8192, 4096}), 8192 * 256);
  EXPECT_EQ(scale_count({ScaleMode::vec16, 100, 100}), 128 * 8);
}

TEST(ScaleIndex, EveryBlockHasItsOwnScaleInsideTheTensor) {
  struct Case {
    ScaleMode mode;
    std::int64_t rows_in_block;
    std::int64_t columns_in_block;
  };

  for (const Case& c : {Case{ScaleMode::row, 1, 100'000},
                        Case{ScaleMode::vec128, 1, 128},
                        Case{ScaleMode::blk128, 128, 128},
                        Case{ScaleMode::vec32, 1, 32},
                        Case{ScaleMode::vec16, 1, 16}}) {
    const ScaledShape shape{c.mode, 300, 700};
    std::set<std::int64_t> used;
    std::int64_t blocks = 0;
    for (std::int64_t row = 0; row < shape.outer; row += c.rows_in_block) {
      for (std::int64_t l = 0; l < shape.reduced; l += c.columns_in_block) {
        const std::int64_t index = scale_index(shape, row, l);
        EXPECT_GE(index, 0);
        EXPECT_LT(index, scale_count(shape));
        used.insert(index);
        ++blocks;
        const std::int64_t last_row = std::min(row + c.rows_in_block, shape.outer) - 1;
        const std::int64_t last = std::min(l + c.columns_in_block, shape.reduced) - 1;
        EXPECT_EQ(scale_index(shape, last_row, last), index) << "one scale for the whole block";
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(used.size()), blocks) << "two blocks share a scale";
  }
}

TEST(ScaleIndex, VectorsOf128LieRowByRowAndBlocksAlongTheReducedDimension) {
  EXPECT_EQ(scale_index({ScaleMode::vec128, 300, 700}, 1, 0), 1);
  EXPECT_EQ(scale_index({ScaleMode::vec128, 300, 700}, 0, 128), 300);
  EXPECT_EQ(scale_count({ScaleMode::vec128, 300, 700}), 300 * 6);
  // Six blocks along k are padded to eight.
  EXPECT_EQ(block_scale_stride(700), 8);
  EXPECT_EQ(scale_index({ScaleMode::blk128, 300, 700}, 0, 128), 1);
  EXPECT_EQ(scale_index({ScaleMode::blk128, 300, 700}, 128, 0), 8);
  EXPECT_EQ(scale_count({ScaleMode::blk128, 300, 700}), 3 * 8);
}

}  // namespace
}  // namespace orrery::kernels
