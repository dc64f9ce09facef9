// Our number formats against the host conversions of CUDA's headers.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/reference/number_format.hpp"
#include "sim/base/random.hpp"

namespace orrery::kernels::reference {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr int kDraws = 200000;

template <typename T>
std::uint16_t bits_of(const T& value) {
  static_assert(sizeof(T) == sizeof(std::uint16_t));
  std::uint16_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// Over the range of the format and a few binades beyond it on both sides.
template <typename Check>
void with_random_numbers(Element format, Check check) {
  RandomStream random(kSeed, 0, Purpose::property_test);
  const int low = std::ilogb(smallest_subnormal(format)) - 3;
  const int high = std::ilogb(largest(format)) + 3;
  for (int i = 0; i < kDraws; ++i) {
    const auto binades = static_cast<std::uint64_t>(high - low);
    const int exponent = low + static_cast<int>(random.uniform_int(binades));
    const auto value = static_cast<float>(std::ldexp(random.normal(), exponent));
    check(value);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
}

TEST(CudaConversions, Bf16IsOurs) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    __nv_bfloat16_raw raw;
    raw.x = static_cast<unsigned short>(code);
    const double theirs = static_cast<double>(__bfloat162float(__nv_bfloat16(raw)));
    const double ours = decode(Element::bf16, code);
    ASSERT_TRUE(theirs == ours || (std::isnan(theirs) && std::isnan(ours))) << code;
  }
  with_random_numbers(Element::bf16, [](float value) {
    EXPECT_EQ(bits_of(__float2bfloat16(value)), encode(Element::bf16, static_cast<double>(value)))
        << "seed " << kSeed << " value " << value;
  });
}

TEST(CudaConversions, Fp16IsOurs) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    __half_raw raw;
    raw.x = static_cast<unsigned short>(code);
    const double theirs = static_cast<double>(__half2float(__half(raw)));
    const double ours = decode(Element::fp16, code);
    ASSERT_TRUE(theirs == ours || (std::isnan(theirs) && std::isnan(ours))) << code;
  }
  with_random_numbers(Element::fp16, [](float value) {
    EXPECT_EQ(bits_of(__float2half_rn(value)), encode(Element::fp16, static_cast<double>(value)))
        << "seed " << kSeed << " value " << value;
  });
}

void expect_fp8(Element format, __nv_fp8_interpretation_t theirs) {
  for (std::uint32_t code = 0; code < 0x100; ++code) {
    const __half_raw raw = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(code), theirs);
    const double number = static_cast<double>(__half2float(__half(raw)));
    const double ours = decode(format, code);
    ASSERT_TRUE(number == ours || (std::isnan(number) && std::isnan(ours))) << code;
  }
  with_random_numbers(format, [format, theirs](float value) {
    const auto wide = static_cast<double>(value);
    EXPECT_EQ(__nv_cvt_float_to_fp8(value, __NV_SATFINITE, theirs), encode(format, wide))
        << "seed " << kSeed << " value " << value;
    EXPECT_EQ(__nv_cvt_double_to_fp8(wide, __NV_SATFINITE, theirs), encode(format, wide));
  });
}

TEST(CudaConversions, Fp8IsOurs) {
  expect_fp8(Element::e4m3, __NV_E4M3);
  expect_fp8(Element::e5m2, __NV_E5M2);
}

TEST(CudaConversions, Fp4IsOurs) {
  for (std::uint32_t code = 0; code < 0x10; ++code) {
    const __half_raw raw =
        __nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(code), __NV_E2M1);
    EXPECT_EQ(static_cast<double>(__half2float(__half(raw))), decode(Element::e2m1, code));
  }
  with_random_numbers(Element::e2m1, [](float value) {
    EXPECT_EQ(__nv_cvt_float_to_fp4(value, __NV_E2M1, cudaRoundNearest),
              encode(Element::e2m1, static_cast<double>(value)))
        << "seed " << kSeed << " value " << value;
  });
}

TEST(CudaConversions, ScalesOfBlocksAreOurs) {
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (int i = 0; i < kDraws; ++i) {
    const int exponent = static_cast<int>(random.uniform_int(250)) - 125;
    const auto value = static_cast<float>(std::ldexp(0.5 + random.uniform01(), exponent));
    ASSERT_EQ(__nv_cvt_float_to_e8m0(value, __NV_SATFINITE, cudaRoundPosInf),
              encode(Element::e8m0, static_cast<double>(value)))
        << "seed " << kSeed << " value " << value;
  }
}

}  // namespace
}  // namespace orrery::kernels::reference
