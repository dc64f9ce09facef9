#include "kernels/reference/number_format.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "tests/unit/kernels/finite_difference.hpp"

namespace orrery::kernels::reference {

namespace {

const std::vector<Element>& narrow_formats() {
  static const std::vector<Element> formats = {Element::bf16, Element::fp16, Element::e4m3,
                                               Element::e5m2, Element::e2m1};
  return formats;
}

TEST(NumberFormats, HaveTheirLandmarks) {
  EXPECT_EQ(largest(Element::e4m3), 448.0);
  EXPECT_EQ(largest(Element::e5m2), 57344.0);
  EXPECT_EQ(largest(Element::e2m1), 6.0);
  EXPECT_EQ(largest(Element::fp16), 65504.0);
  EXPECT_EQ(largest(Element::bf16), std::ldexp(255.0, 120));
  EXPECT_EQ(largest(Element::fp32), static_cast<double>(std::numeric_limits<float>::max()));
  EXPECT_EQ(largest(Element::e8m0), std::ldexp(1.0, 127));
  EXPECT_EQ(smallest_subnormal(Element::e4m3), std::ldexp(1.0, -9));
  EXPECT_EQ(smallest_subnormal(Element::e5m2), std::ldexp(1.0, -16));
  EXPECT_EQ(smallest_subnormal(Element::e2m1), 0.5);
  EXPECT_EQ(unit_roundoff(Element::bf16), std::ldexp(1.0, -8));
  EXPECT_EQ(unit_roundoff(Element::e4m3), std::ldexp(1.0, -4));
  EXPECT_EQ(encode(Element::bf16, 1.0), 0x3F80U);
  EXPECT_EQ(encode(Element::fp16, -2.0), 0xC000U);
  EXPECT_EQ(encode(Element::e4m3, 1.0), 0x38U);
  EXPECT_EQ(encode(Element::e5m2, 1.0), 0x3CU);
}

TEST(NumberFormats, E2m1HoldsExactlyTheseNumbers) {
  const double numbers[] = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};
  for (std::uint32_t code = 0; code < 8; ++code) {
    EXPECT_EQ(decode(Element::e2m1, code), numbers[code]);
    EXPECT_EQ(decode(Element::e2m1, code | 8U), -numbers[code]);
  }
}

TEST(NumberFormats, EveryCodeOfANumberComesBack) {
  for (const Element format : narrow_formats()) {
    for (std::uint32_t code = 0; code < (1U << code_bits(format)); ++code) {
      const double value = decode(format, code);
      if (std::isfinite(value)) {
        ASSERT_EQ(encode(format, value), code) << static_cast<int>(format);
      } else if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(decode(format, encode(format, value))));
      }
    }
  }
}

TEST(NumberFormats, CodesOfPositiveNumbersRise) {
  for (const Element format : narrow_formats()) {
    double before = -1.0;
    for (std::uint32_t code = 0; decode(format, code) <= largest(format); ++code) {
      ASSERT_GT(decode(format, code), before);
      before = decode(format, code);
      if (before == largest(format)) {
        break;
      }
    }
  }
}

// No code is nearer, and of two that are equally near the even one is taken.
TEST(NumberFormats, RandomNumbersGoToTheNearestCode) {
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
    RandomStream random(seed, 0, Purpose::property_test);
    for (const Element format : narrow_formats()) {
      const double scale = std::ldexp(1.0, static_cast<int>(random.uniform_int(20)) - 10);
      const double value = std::min(std::abs(random.normal()) * scale, largest(format));
      const std::uint32_t code = encode(format, value);
      const double error = std::abs(decode(format, code) - value);
      for (const std::uint32_t other : {code - 1U, code + 1U}) {
        if (other < code && code == 0) {
          continue;
        }
        const double number = decode(format, other);
        if (!(number <= largest(format))) {
          continue;
        }
        const double distance = std::abs(number - value);
        ASSERT_TRUE(error < distance || (error == distance && code % 2 == 0))
            << "seed " << seed << " format " << static_cast<int>(format) << " value " << value;
      }
    }
  }
}

TEST(NumberFormats, TiesGoToTheEvenCode) {
  for (const Element format : narrow_formats()) {
    const std::uint32_t top = 1U << (code_bits(format) - 1);
    for (std::uint32_t code = 0; code + 1 < top; ++code) {
      const double low = decode(format, code);
      const double high = decode(format, code + 1);
      if (high <= largest(format)) {
        ASSERT_EQ(encode(format, 0.5 * (low + high)), code + code % 2);
      }
    }
  }
}

TEST(NumberFormats, WhatIsTooLargeSaturatesOrOverflows) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Element format : {Element::e4m3, Element::e5m2, Element::e2m1}) {
    EXPECT_EQ(rounded(format, 1e30), largest(format));
    EXPECT_EQ(rounded(format, -infinity), -largest(format));
  }
  for (const Element format : {Element::fp32, Element::bf16, Element::fp16}) {
    EXPECT_EQ(rounded(format, largest(format)), largest(format));
    EXPECT_EQ(rounded(format, 2.0 * largest(format)), infinity);
    EXPECT_EQ(rounded(format, -infinity), -infinity);
  }
  EXPECT_EQ(rounded(Element::fp16, 65519.0), 65504.0);  // below half a step above
  EXPECT_EQ(rounded(Element::fp16, 65520.0), infinity);
}

TEST(NumberFormats, Fp32IsThatOfTheMachine) {
  RandomStream random(7, 0, Purpose::property_test);
  for (int i = 0; i < 200000; ++i) {
    const double value =
        random.normal() * std::ldexp(1.0, static_cast<int>(random.uniform_int(270)) - 145);
    const auto machine = static_cast<float>(value);
    ASSERT_EQ(encode(Element::fp32, value), std::bit_cast<std::uint32_t>(machine)) << value;
    ASSERT_EQ(decode(Element::fp32, std::bit_cast<std::uint32_t>(machine)),
              static_cast<double>(machine));
  }
}

TEST(NumberFormats, ScalesOfBlocksAreRoundedUpToPowersOfTwo) {
  for (std::uint32_t code = 0; code < 255; ++code) {
    const double scale = decode(Element::e8m0, code);
    ASSERT_EQ(scale, std::ldexp(1.0, static_cast<int>(code) - 127));
    ASSERT_EQ(encode(Element::e8m0, scale), code);
    ASSERT_EQ(encode(Element::e8m0, scale * 0.75), code);
    ASSERT_EQ(encode(Element::e8m0, scale * (1.0 + 1e-15)), std::min(code + 1, 254U));
  }
  EXPECT_EQ(encode(Element::e8m0, 0.0), 0U);
  EXPECT_EQ(encode(Element::e8m0, -1.0), 0xFFU);
  EXPECT_TRUE(std::isnan(decode(Element::e8m0, 0xFF)));
}

TEST(CastReference, TheLargestOfAGroupBecomesTheLargestOfTheFormat) {
  for (const Element format : {Element::e4m3, Element::e5m2}) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      RandomStream random(seed, 0, Purpose::property_test);
      const std::vector<double> values = random_values(128, random);
      const double most = largest_magnitude(values);
      const double scale = group_scale(format, most);
      EXPECT_EQ(std::abs(decode(format, encode(format, most / scale))), largest(format))
          << "seed " << seed;
      for (const double value : values) {
        const double back = decode(format, encode(format, value / scale)) * scale;
        const double bound =
            std::abs(value) * unit_roundoff(format) + 0.5 * smallest_subnormal(format) * scale;
        EXPECT_LE(std::abs(back - value), bound * (1.0 + 1e-12)) << "seed " << seed;
      }
    }
  }
  EXPECT_EQ(group_scale(Element::e4m3, 0.0), 1.0);
}

TEST(CastReference, ScalesOfMxAreTheSmallestPowersOfTwoThatDoNotSaturate) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    RandomStream random(seed, 0, Purpose::property_test);
    const double most = std::abs(random.normal()) * std::ldexp(1.0, 4) + 1e-9;
    const double scale = mx_scale(Element::e4m3, most);
    EXPECT_EQ(std::exp2(std::round(std::log2(scale))), scale);
    EXPECT_LE(most, 448.0 * scale) << "seed " << seed;
    EXPECT_GT(most, 448.0 * scale / 2.0) << "seed " << seed;
  }
  EXPECT_EQ(mx_scale(Element::e4m3, 448.0), 1.0);
  EXPECT_EQ(mx_scale(Element::e4m3, 450.0), 2.0);
  EXPECT_EQ(mx_scale(Element::e4m3, 0.0), std::ldexp(1.0, -127));
}

TEST(CastReference, TheLargestBlockOfNvfp4UsesTheWholeRange) {
  RandomStream random(5, 0, Purpose::property_test);
  const std::vector<double> tensor = random_values(4096, random);
  const double most = largest_magnitude(tensor);
  const double tensor_scale = nvfp4_tensor_scale(most);
  EXPECT_EQ(nvfp4_block_scale(most, tensor_scale), 448.0);
  EXPECT_EQ(decode(Element::e2m1, encode(Element::e2m1, -most / (448.0 * tensor_scale))), -6.0);
  for (std::size_t first = 0; first < tensor.size(); first += 16) {
    const auto block = std::span(tensor).subspan(first, 16);
    const double scale = nvfp4_block_scale(largest_magnitude(block), tensor_scale) * tensor_scale;
    for (const double value : block) {
      // a step of e2m1 is at most 2; the rounded scale may cut up to 2^-4 off the top
      const double back = decode(Element::e2m1, encode(Element::e2m1, value / scale));
      EXPECT_LE(std::abs(back * scale - value), 1.0 * scale * (1.0 + 1e-12));
    }
  }
  EXPECT_EQ(nvfp4_tensor_scale(0.0), 1.0);
  EXPECT_EQ(nvfp4_block_scale(0.0, 1.0), std::ldexp(1.0, -9));
}

TEST(CastReference, CountsStepsBetweenCodes) {
  EXPECT_EQ(codes_apart(Element::e4m3, 0x38, 0x38), 0);
  EXPECT_EQ(codes_apart(Element::e4m3, 0x38, 0x3A), 2);
  EXPECT_EQ(codes_apart(Element::e4m3, 0x00, 0x80), 0);
  EXPECT_EQ(codes_apart(Element::e4m3, 0x01, 0x82), 3);
  EXPECT_EQ(codes_apart(Element::e2m1, 0x7, 0xF), 14);
}

}  // namespace

}  // namespace orrery::kernels::reference
