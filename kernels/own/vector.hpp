#pragma once

// Loads and stores of eight 16-bit numbers at once, 16 bytes, unpacked to fp32.
//
//   a warp that loads one pack per thread asks for 512 consecutive bytes
//
// symbol | meaning                                | unit | origin
// -------|----------------------------------------|------|---------
// Pack   | eight 16-bit elements, as stored       | -    | memory
// Lanes  | the same as fp32, in order of address  | -    | computed
//
// The same code runs on the host, where the tests call it. Pointers are aligned to 16 bytes.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <string.h>  // memcpy as host and device function

#include <cstdint>

#include "kernels/device/random.hpp"

// For loops whose arrays must stay in registers, and for loads that should be under way together.
#if defined(__CUDA_ARCH__)
#define ORRERY_UNROLL _Pragma("unroll")
#define ORRERY_UNROLL_4 _Pragma("unroll 4")
#else
#define ORRERY_UNROLL
#define ORRERY_UNROLL_4
#endif

namespace orrery::kernels {

inline constexpr int kLanes = 8;

struct alignas(16) Pack {
  std::uint32_t word[4];
};

struct Lanes {
  float value[kLanes];
};

namespace detail {

ORRERY_HD inline std::uint32_t to_bits(float value) {
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

ORRERY_HD inline float from_bits(std::uint32_t bits) {
  float value = 0.0F;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

template <typename To, typename From>
ORRERY_HD To same_bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(static_cast<void*>(&to), &from, sizeof(to));  // __half2 has constructors
  return to;
}

template <typename T>
struct Convert;

template <>
struct Convert<__nv_bfloat16> {
  ORRERY_HD static float low(std::uint32_t word) { return from_bits(word << 16U); }

  ORRERY_HD static float high(std::uint32_t word) { return from_bits(word & 0xFFFF0000U); }

  ORRERY_HD static std::uint32_t join(float low_value, float high_value) {
    return same_bits<std::uint32_t>(__floats2bfloat162_rn(low_value, high_value));
  }

  ORRERY_HD static float wide(__nv_bfloat16 value) { return __bfloat162float(value); }

  ORRERY_HD static __nv_bfloat16 narrow(float value) { return __float2bfloat16_rn(value); }
};

template <>
struct Convert<__half> {
  ORRERY_HD static float low(std::uint32_t word) { return __low2float(same_bits<__half2>(word)); }

  ORRERY_HD static float high(std::uint32_t word) { return __high2float(same_bits<__half2>(word)); }

  ORRERY_HD static std::uint32_t join(float low_value, float high_value) {
    return same_bits<std::uint32_t>(__floats2half2_rn(low_value, high_value));
  }

  ORRERY_HD static float wide(__half value) { return __half2float(value); }

  ORRERY_HD static __half narrow(float value) { return __float2half_rn(value); }
};

}  // namespace detail

template <typename T>
ORRERY_HD float to_float(T value) {
  return detail::Convert<T>::wide(value);
}

template <typename T>
ORRERY_HD T from_float(float value) {
  return detail::Convert<T>::narrow(value);
}

template <typename T>
ORRERY_HD Lanes unpack(const Pack& pack) {
  Lanes lanes;
  for (int i = 0; i < kLanes / 2; ++i) {
    lanes.value[2 * i] = detail::Convert<T>::low(pack.word[i]);
    lanes.value[2 * i + 1] = detail::Convert<T>::high(pack.word[i]);
  }
  return lanes;
}

template <typename T>
ORRERY_HD Pack pack(const Lanes& lanes) {
  Pack result;
  for (int i = 0; i < kLanes / 2; ++i) {
    result.word[i] = detail::Convert<T>::join(lanes.value[2 * i], lanes.value[2 * i + 1]);
  }
  return result;
}

// Pack number `index` of an array.
template <typename T>
ORRERY_HD Pack load_pack(const T* data, std::int64_t index) {
  static_assert(sizeof(T) == 2);
  return reinterpret_cast<const Pack*>(data)[index];
}

template <typename T>
ORRERY_HD Lanes load_lanes(const T* data, std::int64_t index) {
  return unpack<T>(load_pack(data, index));
}

template <typename T>
ORRERY_HD void store_lanes(T* data, std::int64_t index, const Lanes& lanes) {
  static_assert(sizeof(T) == 2);
  reinterpret_cast<Pack*>(data)[index] = pack<T>(lanes);
}

// Eight fp32 numbers, in two loads.
ORRERY_HD inline Lanes load_lanes(const float* data, std::int64_t index) {
  const Pack low = reinterpret_cast<const Pack*>(data)[2 * index];
  const Pack high = reinterpret_cast<const Pack*>(data)[2 * index + 1];
  Lanes lanes;
  for (int i = 0; i < kLanes / 2; ++i) {
    lanes.value[i] = detail::from_bits(low.word[i]);
    lanes.value[i + kLanes / 2] = detail::from_bits(high.word[i]);
  }
  return lanes;
}

ORRERY_HD inline void store_lanes(float* data, std::int64_t index, const Lanes& lanes) {
  Pack low;
  Pack high;
  for (int i = 0; i < kLanes / 2; ++i) {
    low.word[i] = detail::to_bits(lanes.value[i]);
    high.word[i] = detail::to_bits(lanes.value[i + kLanes / 2]);
  }
  reinterpret_cast<Pack*>(data)[2 * index] = low;
  reinterpret_cast<Pack*>(data)[2 * index + 1] = high;
}

// Four neighbours: for kernels that move fp32, so that a thread's accesses are one load of 16 bytes
// each and a warp's are consecutive.
inline constexpr int kQuad = 4;

struct Quad {
  float value[kQuad];
};

struct alignas(8) HalfPack {
  std::uint32_t word[2];
};

ORRERY_HD inline Quad load_quad(const float* data, std::int64_t index) {
  const Pack pack = reinterpret_cast<const Pack*>(data)[index];
  Quad quad;
  for (int i = 0; i < kQuad; ++i) {
    quad.value[i] = detail::from_bits(pack.word[i]);
  }
  return quad;
}

ORRERY_HD inline Quad load_quad(const __nv_bfloat16* data, std::int64_t index) {
  const HalfPack pack = reinterpret_cast<const HalfPack*>(data)[index];
  using Bf16 = detail::Convert<__nv_bfloat16>;
  return {{Bf16::low(pack.word[0]), Bf16::high(pack.word[0]), Bf16::low(pack.word[1]),
           Bf16::high(pack.word[1])}};
}

ORRERY_HD inline void store_quad(float* data, std::int64_t index, const Quad& quad) {
  Pack pack;
  for (int i = 0; i < kQuad; ++i) {
    pack.word[i] = detail::to_bits(quad.value[i]);
  }
  reinterpret_cast<Pack*>(data)[index] = pack;
}

ORRERY_HD inline void store_quad(__nv_bfloat16* data, std::int64_t index, const Quad& quad) {
  using Bf16 = detail::Convert<__nv_bfloat16>;
  reinterpret_cast<HalfPack*>(data)[index] = {
      {Bf16::join(quad.value[0], quad.value[1]), Bf16::join(quad.value[2], quad.value[3])}};
}

ORRERY_HD inline float largest_magnitude(const Lanes& lanes) {
  float most = 0.0F;
  for (const float value : lanes.value) {
    most = fmaxf(most, fabsf(value));
  }
  return most;
}

// Fast on the GPU: within 2 + 1.2 |x| units in the last place.
ORRERY_HD inline float exponential(float x) {
#if defined(__CUDA_ARCH__)
  return __expf(x);
#else
  return std::exp(x);
#endif
}

}  // namespace orrery::kernels
