#include "kernels/device/fill.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "kernels/device/device_info.hpp"
#include "kernels/device/memory.hpp"
#include "kernels/device/random.hpp"
#include "kernels/device/stream.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {
namespace {

constexpr std::array kElements = {
    Element::fp32, Element::bf16, Element::fp16, Element::e4m3, Element::e5m2, Element::e2m1};

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
  EXPECT_EQ(decode(Element::e4m3, encode(Element::e4m3, 1e9F)), largest_of(Element::e4m3));
  EXPECT_EQ(decode(Element::e5m2, encode(Element::e5m2, 1e9F)), largest_of(Element::e5m2));
  EXPECT_EQ(decode(Element::e2m1, encode(Element::e2m1, -1e9F)), -largest_of(Element::e2m1));
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
