#pragma once

// Conversions into the storage formats of operands, the same on host and GPU: CUDA's own, which
// round to nearest even and saturate. The formats, and independent codecs for CPU references:
// kernels/reference/number_format.hpp. Numbers of e2m1 lie two to a byte, the even index low.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "kernels/device/random.hpp"
#include "kernels/reference/number_format.hpp"

namespace orrery::kernels {

ORRERY_HD constexpr int bits_of(Element element) {
  switch (element) {
    case Element::fp32:
      return 32;
    case Element::bf16:
    case Element::fp16:
      return 16;
    case Element::e4m3:
    case Element::e5m2:
    case Element::e8m0:
      return 8;
    case Element::e2m1:
      return 4;
  }
  return 0;
}

// Bytes of `count` elements, rounded up to a whole byte.
ORRERY_HD constexpr std::int64_t bytes_of(Element element, std::int64_t count) {
  constexpr std::int64_t kBitsInByte = 8;
  return (count * bits_of(element) + kBitsInByte - 1) / kBitsInByte;
}

namespace detail {

ORRERY_HD inline std::uint32_t bits_of_float(float value) {
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

ORRERY_HD inline float float_of_bits(std::uint32_t bits) {
  float value = 0.0F;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// 2^(code - 127): the exponent field of a float, which needs a subnormal for code 0.
ORRERY_HD inline float power_of_code(std::uint32_t code) {
  constexpr std::uint32_t kMantissaBits = 23;
  return code == 0U ? 0x1.0p-127F : float_of_bits(code << kMantissaBits);
}

}  // namespace detail

// The bits of the nearest value of the format. e8m0 takes the power of two at or below |value|.
ORRERY_HD inline std::uint32_t encode(Element element, float value) {
  switch (element) {
    case Element::fp32:
      return detail::bits_of_float(value);
    case Element::bf16:
      return static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)).x;
    case Element::fp16:
      return static_cast<__half_raw>(__float2half_rn(value)).x;
    case Element::e4m3:
      return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
    case Element::e5m2:
      return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2);
    case Element::e8m0:
      return (detail::bits_of_float(value) >> 23U) & 0xFFU;
    case Element::e2m1:
      return __nv_cvt_float_to_fp4(value, __NV_E2M1, cudaRoundNearest);
  }
  return 0;
}

ORRERY_HD inline float decode(Element element, std::uint32_t bits) {
  switch (element) {
    case Element::fp32:
      return detail::float_of_bits(bits);
    case Element::bf16:
      return detail::float_of_bits(bits << 16U);
    case Element::fp16:
    case Element::e4m3:
    case Element::e5m2: {
      __half_raw half = {};
      half.x = static_cast<unsigned short>(bits);
      if (element != Element::fp16) {
        const auto kind = element == Element::e4m3 ? __NV_E4M3 : __NV_E5M2;
        half = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), kind);
      }
      return __half2float(__half(half));
    }
    case Element::e8m0:
      return detail::power_of_code(bits);
    case Element::e2m1: {
      const __half_raw half =
          __nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(bits), __NV_E2M1);
      return __half2float(__half(half));
    }
  }
  return 0.0F;
}

}  // namespace orrery::kernels
