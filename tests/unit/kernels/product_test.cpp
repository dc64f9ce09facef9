#include "kernels/products/product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "kernels/device/runnable.hpp"
#include "kernels/products/product_call.hpp"
#include "kernels/products/scale_layout.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {

namespace {

bool alive() { return true; }

void fail(std::size_t candidate) {
  throw Error(ErrorKind::device, "the GPU failed to run candidate " + std::to_string(candidate));
}

// A failure at run time is Error, not Unsupported: it must not take the other candidates with it.
TEST(Candidates, OneThatFailsAtRunTimeLosesOnlyItself) {
  const CandidateTimes found = time_candidates(
      4, {.rounds = 3},
      [](std::size_t i) {
        if (i == 1) {
          fail(i);
        }
        if (i == 2) {
          throw Unsupported("refused by the call", "15");
        }
        return i == 0 ? 2e-3 : 1.9e-3;
      },
      alive);
  EXPECT_EQ(found.fastest, 3U);
  EXPECT_EQ(found.seconds[0], 2e-3);
  EXPECT_FALSE(found.seconds[1]);
  EXPECT_FALSE(found.seconds[2]);
}

TEST(Candidates, OneThatFailsInALaterRoundIsOutToo) {
  int calls = 0;
  const CandidateTimes found = time_candidates(
      2, {.rounds = 3},
      [&calls](std::size_t i) {
        if (i == 0 && ++calls == 3) {
          fail(i);
        }
        return i == 0 ? 1e-3 : 2e-3;
      },
      alive);
  EXPECT_EQ(found.fastest, 1U);
}

// A clock that falls from round to round: candidates of a round are compared with each other.
TEST(Candidates, AClockThatMovesDoesNotChooseTheFirst) {
  double slowness = 1.0;
  const CandidateTimes found = time_candidates(
      8, {.rounds = 5},
      [&slowness](std::size_t i) {
        slowness *= 1.002;
        return slowness * (i == 5 ? 0.97e-3 : 1e-3);
      },
      alive);
  EXPECT_EQ(found.fastest, 5U);
}

// Sixteen candidates for a product of 50 ms: nine rounds would take 7 s of each search.
TEST(Candidates, ASearchEndsWithItsTimeAndKnowsThoseThatItReached) {
  double spent = 0.0;
  std::vector<int> calls(16);
  const CandidateTimes found = time_candidates(
      calls.size(), {},
      [&](std::size_t i) {
        ++calls[i];
        const double time = i == 6 ? 0.045 : 0.05;
        spent += time;
        return time;
      },
      alive);
  EXPECT_LE(spent, 1.0 + 2 * 0.05);
  EXPECT_EQ(found.fastest, 6U);
  EXPECT_EQ(calls[0], 2) << "the first call loads the kernel and does not count";
  EXPECT_EQ(found.seconds[0], 0.05);
  EXPECT_FALSE(found.seconds[15]) << "nobody knows";
  const CandidateTimes quick = time_candidates(
      calls.size(), {}, [](std::size_t i) { return 1e-4 * static_cast<double>(16 - i); }, alive);
  EXPECT_EQ(quick.fastest, 15U);
}

TEST(Candidates, ALostDeviceEndsTheSearchAndNoneAtAllIsSaid) {
  const auto failing = [](std::size_t i) -> double {
    fail(i);
    return 0.0;
  };
  EXPECT_THROW((void)time_candidates(2, {.rounds = 1}, failing, [] { return false; }), Error);
  EXPECT_FALSE(time_candidates(2, {.rounds = 1}, failing, alive).fastest);
}

TEST(Candidates, TheFirstThatRunsIsChosen) {
  EXPECT_EQ(first_that_runs(
                3, [](std::size_t) {}, alive),
            0U);
  EXPECT_EQ(first_that_runs(
                3, [](std::size_t i) { i < 2 ? fail(i) : void(); }, alive),
            2U);
  EXPECT_THROW((void)first_that_runs(3, fail, alive), Error);
  const auto bad_input = [](std::size_t) { throw Error(ErrorKind::io, "a file"); };
  EXPECT_THROW((void)first_that_runs(3, bad_input, alive), Error);
}

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

  for (const Case& c : {Case{ScaleMode::row, 1, 100'000}, Case{ScaleMode::vec128, 1, 128},
                        Case{ScaleMode::blk128, 128, 128}, Case{ScaleMode::vec32, 1, 32},
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

TEST(Product, SixteenBitOperandsLieAsAFrameworkKeepsThem) {
  const Product fprop = product_of(Role::fprop, Precision::bf16, 2, 3, 4);
  EXPECT_TRUE(fprop.a.reduced_contiguous);
  EXPECT_TRUE(fprop.b.reduced_contiguous);
  const Product dgrad = product_of(Role::dgrad, Precision::bf16, 2, 3, 4);
  EXPECT_FALSE(dgrad.a.reduced_contiguous);
  EXPECT_TRUE(dgrad.b.reduced_contiguous);
  const Product wgrad = product_of(Role::wgrad, Precision::bf16, 2, 3, 4);
  EXPECT_FALSE(wgrad.a.reduced_contiguous);
  EXPECT_FALSE(wgrad.b.reduced_contiguous);
  EXPECT_EQ(element_index(fprop.a, 2, 1), 2 * 4 + 1);
  EXPECT_EQ(element_index(dgrad.a, 2, 1), 1 * 3 + 2);
  EXPECT_EQ(element_index(wgrad.b, 1, 3), 3 * 2 + 1);
}

TEST(Product, NarrowOperandsAlwaysHaveTheReducedDimensionContiguous) {
  for (const Role role : {Role::fprop, Role::dgrad, Role::wgrad, Role::wgrad_accumulate}) {
    for (const Precision precision : {Precision::fp8_tensor, Precision::fp8_row,
                                      Precision::fp8_block, Precision::mxfp8, Precision::nvfp4}) {
      const Product product = product_of(role, precision, 16, 32, 64);
      EXPECT_TRUE(product.a.reduced_contiguous && product.b.reduced_contiguous);
      EXPECT_EQ(product.result, role == Role::wgrad_accumulate ? Element::fp32 : Element::bf16);
    }
  }
}

TEST(Product, OnlyGradientsOfTheWholeTensorScaleAreE5M2) {
  EXPECT_EQ(product_of(Role::fprop, Precision::fp8_tensor, 1, 1, 1).b.element, Element::e4m3);
  EXPECT_EQ(product_of(Role::dgrad, Precision::fp8_tensor, 1, 1, 1).b.element, Element::e5m2);
  EXPECT_EQ(product_of(Role::wgrad, Precision::fp8_tensor, 1, 1, 1).b.element, Element::e5m2);
  EXPECT_EQ(product_of(Role::dgrad, Precision::fp8_tensor, 1, 1, 1).a.element, Element::e4m3);
  EXPECT_EQ(product_of(Role::dgrad, Precision::fp8_block, 1, 1, 1).b.element, Element::e4m3);
}

TEST(Product, WeightsAreScaledBySquareBlocksAndTokensByVectors) {
  const Product fprop = product_of(Role::fprop, Precision::fp8_block, 1, 1, 1);
  EXPECT_EQ(fprop.a.scales, ScaleMode::blk128);
  EXPECT_EQ(fprop.b.scales, ScaleMode::vec128);
  const Product wgrad = product_of(Role::wgrad, Precision::fp8_block, 1, 1, 1);
  EXPECT_EQ(wgrad.a.scales, ScaleMode::vec128) << "no weights in a weight gradient";
  EXPECT_EQ(wgrad.b.scales, ScaleMode::vec128);
}

TEST(Product, ScaledOperandsHaveADeviationNearOne) {
  for (const Precision precision : {Precision::bf16, Precision::fp8_tensor, Precision::fp8_row,
                                    Precision::fp8_block, Precision::mxfp8, Precision::nvfp4}) {
    for (const Role role : {Role::fprop, Role::dgrad}) {
      const Product product = product_of(role, precision, 64, 64, 512);
      double squares = 0.0;
      for (std::int64_t row = 0; row < 16; ++row) {
        for (std::int64_t l = 0; l < 512; ++l) {
          const double x = operand_value(product.b, 3, 4, row, l);
          squares += x * x;
        }
      }
      const double deviation = std::sqrt(squares / (16.0 * 512.0));
      EXPECT_GT(deviation, 0.4) << to_string(precision);
      EXPECT_LT(deviation, 2.1) << to_string(precision);
    }
  }
}

// D as a correct kernel would give it, rounded to the result's format.
std::vector<std::vector<float>> exact_results(const Product& product, const ProductSeeds& seeds,
                                              const ProductSample& sample) {
  std::vector<std::vector<float>> found;
  for (const std::int64_t i : sample.rows) {
    std::vector<float>& line = found.emplace_back();
    for (const std::int64_t j : sample.columns) {
      double sum = 0.0;
      for (std::int64_t l = 0; l < product.k; ++l) {
        sum += operand_value(product.b, seeds.b, seeds.b_scales, i, l) *
               operand_value(product.a, seeds.a, seeds.a_scales, j, l);
      }
      if (product.accumulates) {
        sum += static_cast<double>(
            stored_normal(Element::fp32, {seeds.c, 1.0F, 0}, i * product.n + j));
      }
      line.push_back(decode(product.result, encode(product.result, static_cast<float>(sum))));
    }
  }
  return found;
}

TEST(CompareProduct, PassesARoundedResultAndCatchesOneWrongElement) {
  for (const Precision precision :
       {Precision::fp32, Precision::bf16, Precision::fp8_tensor, Precision::mxfp8}) {
    for (const Role role : {Role::fprop, Role::dgrad, Role::wgrad_accumulate}) {
      const Product product = product_of(role, precision, 48, 80, 256);
      const ProductSeeds seeds = seeds_of(11);
      const ProductSample sample = sample_of(product, 5, 8);
      auto found = exact_results(product, seeds, sample);
      const Verification good = compare_product(product, seeds, sample, found);
      EXPECT_TRUE(good.passed) << to_string(precision) << " " << good.where;
      EXPECT_GT(good.scale, 1.0);
      found[2][3] += 4.0F;  // a quarter of the root mean square of a sum of 256
      EXPECT_FALSE(compare_product(product, seeds, sample, found).passed);
      found[2][3] = std::nanf("");
      EXPECT_FALSE(compare_product(product, seeds, sample, found).passed) << "not a number";
    }
  }
}

TEST(CompareProduct, CatchesTransposedOperandsAndForeignScales) {
  const Product product = product_of(Role::fprop, Precision::mxfp8, 48, 80, 256);
  const ProductSeeds seeds = seeds_of(11);
  const ProductSample sample = sample_of(product, 5, 8);
  Product transposed = product;
  transposed.a.reduced_contiguous = false;
  EXPECT_FALSE(
      compare_product(product, seeds, sample, exact_results(transposed, seeds, sample)).passed);
  ProductSeeds foreign = seeds;
  foreign.a_scales += 1;
  EXPECT_FALSE(
      compare_product(product, seeds, sample, exact_results(product, foreign, sample)).passed);
}

TEST(ProductSample, HoldsTheEdgesAndIsAscending) {
  const Product product = product_of(Role::fprop, Precision::bf16, 8192, 5, 64);
  const ProductSample sample = sample_of(product, 1, 20);
  EXPECT_EQ(sample.rows.front(), 0);
  EXPECT_EQ(sample.rows.back(), 8191);
  EXPECT_TRUE(std::is_sorted(sample.rows.begin(), sample.rows.end()));
  EXPECT_EQ(sample.columns, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(SetBytes, CountsOperandsScalesAndResult) {
  // 128 x 256 and 64 x 256 bytes, two tiles of 512 scales each (64 rows are padded to 128),
  // 64 x 128 results of two bytes.
  EXPECT_EQ(set_bytes(product_of(Role::fprop, Precision::mxfp8, 64, 128, 256)),
            128 * 256 + 64 * 256 + 2 * 512 + 2 * 512 + 64 * 128 * 2);
}

TEST(LtAlgorithm, NamesComeFromTheHeader) {
  EXPECT_EQ(tile_name(CUBLASLT_MATMUL_TILE_128x256), "128x256");
  EXPECT_EQ(stages_name(CUBLASLT_MATMUL_STAGES_64xAUTO), "64xAUTO");
  EXPECT_EQ(cluster_name(CUBLASLT_CLUSTER_SHAPE_2x1x1), "2x1x1");
  EXPECT_EQ(cluster_name(CUBLASLT_CLUSTER_SHAPE_AUTO), "auto");
  EXPECT_EQ(tile_name(99999), "99999");
}

}  // namespace

}  // namespace orrery::kernels
