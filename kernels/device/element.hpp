#pragma once

// Storage formats of operands and conversions into them, the same on host and GPU. The conversions
// are CUDA's own (round to nearest even, saturating).
//
// element | bits | largest | origin
// --------|------|---------|--------------------------------------------
// fp32    | 32   | 3.4e38  | IEEE 754
// bf16    | 16   | 3.4e38  | 8 exponent, 7 mantissa bits
// fp16    | 16   | 65504   | IEEE 754
// e4m3    | 8    | 448     | OCP 8-bit floating point (OFP8) 1.0, no infinity
// e5m2    | 8    | 57344   | OCP 8-bit floating point (OFP8) 1.0
// e8m0    | 8    | 2^127   | OCP microscaling (MX) 1.0: 2^(byte - 127), the scale of MXFP8
// e2m1    | 4    | 6       | OCP microscaling (MX) 1.0; two to a byte, the even index low
//
// CUDA headers are needed; kernels/reference holds independent codecs for CPU references.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "kernels/device/random.hpp"

namespace orrery::kernels {

enum class Element { fp32, bf16, fp16, e4m3, e5m2, e8m0, e2m1 };

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

ORRERY_HD constexpr float largest_of(Element element) {
  switch (element) {
    case Element::fp32:
    case Element::bf16:
      return 3.3895e38F;
    case Element::fp16:
      return 65504.0F;
    case Element::e4m3:
      return 448.0F;
    case Element::e5m2:
      return 57344.0F;
    case Element::e8m0:
      return 0x1.0p127F;
    case Element::e2m1:
      return 6.0F;
  }
  return 0.0F;
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
