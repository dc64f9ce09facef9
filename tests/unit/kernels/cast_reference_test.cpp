#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference/quantize.hpp"
#include "tests/unit/kernels/finite_difference.hpp"

namespace orrery::kernels::reference {
namespace {

TEST(CastReference, TheLargestOfAGroupBecomesTheLargestOfTheFormat) {
  for (const NumberFormat format : {NumberFormat::e4m3, NumberFormat::e5m2}) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      RandomStream random(seed, 0, Purpose::property_test);
      const std::vector<double> values = random_values(128, random);
      const double most = largest_magnitude(values);
      const double scale = group_scale(format, most);
      EXPECT_EQ(std::abs(decode(format, quantized(format, most, scale))), largest(format))
          << "seed " << seed;
      for (const double value : values) {
        const double back = decode(format, quantized(format, value, scale)) * scale;
        const double bound =
            std::abs(value) * unit_roundoff(format) + 0.5 * smallest_subnormal(format) * scale;
        EXPECT_LE(std::abs(back - value), bound * (1.0 + 1e-12)) << "seed " << seed;
      }
    }
  }
  EXPECT_EQ(group_scale(NumberFormat::e4m3, 0.0), 1.0);
}

TEST(CastReference, ScalesOfMxAreTheSmallestPowersOfTwoThatDoNotSaturate) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    RandomStream random(seed, 0, Purpose::property_test);
    const double most = std::abs(random.normal()) * std::ldexp(1.0, 4) + 1e-9;
    const double scale = mx_scale(NumberFormat::e4m3, most);
    EXPECT_EQ(std::exp2(std::round(std::log2(scale))), scale);
    EXPECT_LE(most, 448.0 * scale) << "seed " << seed;
    EXPECT_GT(most, 448.0 * scale / 2.0) << "seed " << seed;
  }
  EXPECT_EQ(mx_scale(NumberFormat::e4m3, 448.0), 1.0);
  EXPECT_EQ(mx_scale(NumberFormat::e4m3, 450.0), 2.0);
  EXPECT_EQ(mx_scale(NumberFormat::e4m3, 0.0), std::ldexp(1.0, -127));
}

TEST(CastReference, TheLargestBlockOfNvfp4UsesTheWholeRange) {
  RandomStream random(5, 0, Purpose::property_test);
  const std::vector<double> tensor = random_values(4096, random);
  const double most = largest_magnitude(tensor);
  const double tensor_scale = nvfp4_tensor_scale(most);
  EXPECT_EQ(nvfp4_block_scale(most, tensor_scale), 448.0);
  EXPECT_EQ(decode(NumberFormat::e2m1, quantized(NumberFormat::e2m1, -most, 448.0 * tensor_scale)),
            -6.0);
  for (std::size_t first = 0; first < tensor.size(); first += 16) {
    const auto block = std::span(tensor).subspan(first, 16);
    const double scale = nvfp4_block_scale(largest_magnitude(block), tensor_scale) * tensor_scale;
    for (const double value : block) {
      // a step of e2m1 is at most 2; the rounded scale may cut up to 2^-4 off the top
      const double back = decode(NumberFormat::e2m1, quantized(NumberFormat::e2m1, value, scale));
      EXPECT_LE(std::abs(back * scale - value), 1.0 * scale * (1.0 + 1e-12));
    }
  }
  EXPECT_EQ(nvfp4_tensor_scale(0.0), 1.0);
  EXPECT_EQ(nvfp4_block_scale(0.0, 1.0), std::ldexp(1.0, -9));
}

TEST(CastReference, CountsStepsBetweenCodes) {
  EXPECT_EQ(codes_apart(NumberFormat::e4m3, 0x38, 0x38), 0);
  EXPECT_EQ(codes_apart(NumberFormat::e4m3, 0x38, 0x3A), 2);
  EXPECT_EQ(codes_apart(NumberFormat::e4m3, 0x00, 0x80), 0);
  EXPECT_EQ(codes_apart(NumberFormat::e4m3, 0x01, 0x82), 3);
  EXPECT_EQ(codes_apart(NumberFormat::e2m1, 0x7, 0xF), 14);
}

}  // namespace
}  // namespace orrery::kernels::reference
