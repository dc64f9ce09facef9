#include "kernels/device/fill.hpp"

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "kernels/device/device_info.hpp"
#include "kernels/device/random.hpp"
#include "kernels/device/runtime.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {

namespace {

// The words of the reference implementation of Philox (its authors' headers).
TEST(RandomBlock, IsPhilox4x32With10Rounds) {
  for (const std::uint64_t seed : {0ULL, 1ULL, 0xFEDCBA9876543210ULL}) {
    for (const std::uint64_t block : {0ULL, 1ULL, 0x123456789ULL, ~0ULL}) {
      const r123::Philox4x32 philox;
      const r123::Philox4x32::ctr_type counter = {
          {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32U), 0U, 0U}};
      const r123::Philox4x32::key_type key = {
          {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)}};
      const auto expected = philox(counter, key);
      const RandomBlock found = random_block(seed, block);
      for (std::size_t i = 0; i < kBlockWords; ++i) {
        EXPECT_EQ(found.word[i], expected[i]) << seed << " " << block << " " << i;
      }
    }
  }
}

TEST(NormalBlock, LogarithmAgreesWithTheLibrary) {
  for (std::uint32_t n = 1; n <= (1U << 24U); n += n < 4096 ? 1 : 997) {
    const double exact = std::log(static_cast<double>(n) * 0x1.0p-24);
    const double found = static_cast<double>(detail::log_of_fraction(n));
    EXPECT_NEAR(found, exact, 1e-6 * std::max(1.0, std::abs(exact))) << n;
    EXPECT_LE(found, 0.0) << n;
  }
  EXPECT_EQ(detail::log_of_fraction(1U << 24U), 0.0F);
}

TEST(NormalBlock, DirectionsLieOnTheUnitCircleInAllQuarters) {
  double x = 0.0;
  double y = 0.0;
  constexpr std::uint32_t kStep = 65'521;
  std::int64_t count = 0;
  for (std::uint64_t word = 0; word <= 0xFFFFFFFFULL; word += kStep) {
    const detail::Direction d = detail::direction_of(static_cast<std::uint32_t>(word));
    EXPECT_NEAR(std::hypot(static_cast<double>(d.x), static_cast<double>(d.y)), 1.0, 1e-6);
    x += static_cast<double>(d.x);
    y += static_cast<double>(d.y);
    ++count;
  }
  EXPECT_NEAR(x / static_cast<double>(count), 0.0, 1e-4);
  EXPECT_NEAR(y / static_cast<double>(count), 0.0, 1e-4);
}

// Standard errors of n draws: mean 1/sqrt(n), variance sqrt(2/n), fourth moment sqrt(96/n),
// neighbours' product 1/sqrt(n); five of them are allowed.
TEST(NormalAt, HasTheMomentsOfTheStandardNormal) {
  constexpr std::uint64_t kDraws = 1U << 20U;
  const double n = static_cast<double>(kDraws);
  double sum = 0.0;
  double squares = 0.0;
  double fourths = 0.0;
  double products = 0.0;
  double last = 0.0;
  std::uint64_t beyond_two = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double x = static_cast<double>(normal_at(42, i));
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
    products += x * last;
    last = x;
    beyond_two += std::abs(x) > 2.0 ? 1U : 0U;
  }
  EXPECT_NEAR(sum / n, 0.0, 5.0 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1.0, 5.0 * std::sqrt(2.0 / n));
  EXPECT_NEAR(fourths / n, 3.0, 5.0 * std::sqrt(96.0 / n));
  EXPECT_NEAR(products / n, 0.0, 5.0 / std::sqrt(n));
  const double expected = std::erfc(2.0 / std::sqrt(2.0));
  EXPECT_NEAR(static_cast<double>(beyond_two) / n, expected, 5.0 * std::sqrt(expected / n));
}

TEST(NormalAt, DependsOnSeedAndIndexOnly) {
  EXPECT_EQ(normal_at(7, 12345), normal_block(7, 12345 / 4).value[12345 % 4]);
  EXPECT_NE(normal_at(7, 12345), normal_at(8, 12345));
  EXPECT_NE(normal_at(7, 12345), normal_at(7, 12346));
}

TEST(IntegerAt, CoversItsRangeEvenly) {
  constexpr std::uint32_t kBound = 7;
  constexpr std::uint64_t kDraws = 70'000;
  std::uint64_t counts[kBound] = {};
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    ++counts[integer_at(3, i, kBound)];
  }
  for (const std::uint64_t count : counts) {
    EXPECT_NEAR(static_cast<double>(count), 10'000.0, 500.0);  // five standard errors
  }
}

TEST(UniformAt, LiesInTheHalfOpenUnitInterval) {
  EXPECT_EQ(uniform_of(0), 0.0F);
  EXPECT_LT(uniform_of(~0U), 1.0F);
  EXPECT_EQ(uniform_of(~0U), 1.0F - 0x1.0p-24F);
}

constexpr std::array kElements = {Element::fp32, Element::bf16, Element::fp16,
                                  Element::e4m3, Element::e5m2, Element::e2m1};

bool has_device() {
  try {
    static_cast<void>(find_device());
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(Element, SizesAreThoseOfTheFormats) {
  EXPECT_EQ(bytes_of(Element::fp32, 3), 12);
  EXPECT_EQ(bytes_of(Element::bf16, 3), 6);
  EXPECT_EQ(bytes_of(Element::e5m2, 3), 3);
  EXPECT_EQ(bytes_of(Element::e2m1, 3), 2);
}

TEST(Element, EveryCodeReadsBackAsItself) {
  for (const Element element : kElements) {
    const int bits = bits_of(element);
    const std::uint32_t codes = bits >= 16 ? 1U << 16U : 1U << static_cast<unsigned>(bits);
    for (std::uint32_t code = 0; code < codes; ++code) {
      const std::uint32_t word = bits == 32 ? code << 16U : code;
      const float value = decode(element, word);
      // Infinities become the largest value in the saturating 8-bit formats.
      if (std::isfinite(value)) {
        EXPECT_EQ(encode(element, value), word) << static_cast<int>(element) << " " << code;
      }
    }
  }
}

TEST(Element, LargestValuesAreThoseOfTheFormats) {
  for (const Element element : {Element::e4m3, Element::e5m2, Element::e2m1}) {
    EXPECT_EQ(decode(element, encode(element, -1e9F)), -reference::largest(element));
  }
  EXPECT_EQ(decode(Element::e8m0, 127), 1.0F);
  EXPECT_EQ(decode(Element::e8m0, 130), 8.0F);
  EXPECT_EQ(decode(Element::e8m0, 0), 0x1.0p-127F);
  EXPECT_EQ(encode(Element::e8m0, 8.0F), 130U);
}

TEST(StoredNormal, IsTheRoundedNumberOfTheSequence) {
  const Normal normal{9, 0.5F, 64};
  for (const Element element : kElements) {
    for (std::int64_t i = 0; i < 64; ++i) {
      const float exact = 0.5F * normal_at(9, static_cast<std::uint64_t>(64 + i));
      const float stored = stored_normal(element, normal, i);
      const float step = element == Element::e2m1 ? 0.5F : 0.125F * std::abs(exact) + 0.002F;
      EXPECT_NEAR(stored, exact, step);
    }
  }
}

TEST(StoredUniform, LiesBetweenItsBounds) {
  const Uniform uniform{5, 0.5F, 2.0F};
  for (std::int64_t i = 0; i < 1000; ++i) {
    const float value = stored_uniform(Element::fp32, uniform, i);
    EXPECT_GE(value, 0.5F);
    EXPECT_LT(value, 2.0F);
  }
}

TEST(Fill, GivesTheSameValuesOnGpuAndHost) {
  if (!has_device()) {
    GTEST_SKIP() << "this machine has no GPU";
  }
  const OwnedStream stream;
  constexpr std::int64_t kCount = 100'003;
  for (const Element element : kElements) {
    const DeviceBuffer buffer(bytes_of(element, kCount));
    const Normal normal{123, 2.0F, 8};
    fill_normal(buffer.data(), element, kCount, normal, stream.get());
    const auto found = read_elements(buffer.data(), element, 0, kCount, stream.get());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i], stored_normal(element, normal, static_cast<std::int64_t>(i)))
          << static_cast<int>(element) << " " << i;
    }
  }
}

TEST(Fill, UnwrittenElementsAreCounted) {
  if (!has_device()) {
    GTEST_SKIP() << "this machine has no GPU";
  }
  const OwnedStream stream;
  const DeviceBuffer buffer(4000);
  fill_unwritten(buffer.data(), 4000, stream.get());
  fill_normal(buffer.data(), Element::bf16, 1500, {}, stream.get());
  EXPECT_EQ(count_unwritten(buffer.data(), 2, 2000, stream.get()), 500);
}

}  // namespace

}  // namespace orrery::kernels
