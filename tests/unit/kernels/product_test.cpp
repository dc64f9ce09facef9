#include "kernels/products/product.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/products/lt_algorithm.hpp"

namespace orrery::kernels {
namespace {

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
    for (const Precision precision : {Precision::fp8_tensor,
                                      Precision::fp8_row,
                                      Precision::fp8_block,
                                      Precision::mxfp8,
                                      Precision::nvfp4}) {
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
  for (const Precision precision : {Precision::bf16,
                                    Precision::fp8_tensor,
                                    Precision::fp8_row,
                                    Precision::fp8_block,
                                    Precision::mxfp8,
                                    Precision::nvfp4}) {
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
std::vector<std::vector<float>> exact_results(const Product& product,
                                              const ProductSeeds& seeds,
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
