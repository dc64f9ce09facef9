#pragma once

// Counter-based random numbers, the same on host and GPU to the last bit and in any order, so that
// a reference needs no copy of the operands.
//
//   block(seed, b)     = Philox4x32-10(key = seed, counter = b)                 4 words of 32 bits
//   normal(seed, i)    = sqrt(-2 ln u) cos or sin(angle) from words of block i / 4
//   uniform(seed, i)   = (w >> 8) / 2^24                                        in [0, 1)
//   integer(seed, i, n) = floor(w n / 2^32)                                     in [0, n)
//
// symbol | meaning                                  | unit | origin
// -------|------------------------------------------|------|------------------------------
// u      | ((w >> 8) + 1) / 2^24, in (0, 1]         | -    | first word of a pair
// angle  | uniform on the circle                    | rad  | second word of the pair
//
// Assumptions: logarithm and sine are short polynomials of exactly rounded operations (relative
// error < 1e-6), not the libraries' functions, which differ between host and GPU. |normal| <= 5.77.
// Sources: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011); Box and Muller
// (1958).

#include <string.h>  // memcpy as host and device function

#include <cmath>
#include <cstdint>

#if defined(__CUDACC__)
#define ORRERY_HD __host__ __device__
#else
#define ORRERY_HD
#endif

namespace orrery::kernels {

// Functions that compile for the host and for the GPU with the same result: they are marked
// ORRERY_HD, and write products and sums that must agree bit for bit with rounded_mul and
// rounded_add, since nvcc may otherwise contract them into one fused operation.
//
// Assumptions: the host compiler rounds single precision as IEEE 754 says and does not contract
// (-ffp-contract=off).

ORRERY_HD inline float rounded_mul(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

ORRERY_HD inline float rounded_add(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

ORRERY_HD inline float rounded_div(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

ORRERY_HD inline float rounded_sqrt(float a) {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(a);
#else
  return std::sqrt(a);
#endif
}

inline constexpr int kBlockWords = 4;

struct RandomBlock {
  std::uint32_t word[kBlockWords];  // a plain array: std::array's members are no device functions
};

struct NormalBlock {
  float value[kBlockWords];
};

namespace detail {

ORRERY_HD inline std::uint32_t high_word(std::uint64_t product) {
  return static_cast<std::uint32_t>(product >> 32U);
}

ORRERY_HD inline std::uint32_t low_word(std::uint64_t product) {
  return static_cast<std::uint32_t>(product & 0xFFFFFFFFU);
}

// ln(u), u = n / 2^24 with 1 <= n <= 2^24: n = 2^e m with m in [1, 2), and ln m by the series of
// the inverse hyperbolic tangent of t = (m - 1) / (m + 1), |t| <= 1/3; halving m above sqrt(2)
// keeps |t| <= 0.172.
ORRERY_HD inline float log_of_fraction(std::uint32_t n) {
  // n < 2^25 is a float without rounding; its bits are the exponent and m.
  constexpr std::uint32_t kMantissaBits = 23;
  constexpr std::uint32_t kMantissaMask = 0x7FFFFFU;
  constexpr std::uint32_t kBias = 127;
  float m = static_cast<float>(n);
  std::uint32_t bits = 0;
  memcpy(&bits, &m, sizeof(bits));
  int exponent = static_cast<int>(bits >> kMantissaBits) - static_cast<int>(kBias);
  bits = (bits & kMantissaMask) | (kBias << kMantissaBits);
  memcpy(&m, &bits, sizeof(m));
  if (m > 1.41421356F) {
    m = rounded_mul(m, 0.5F);
    ++exponent;
  }
  const float t = rounded_div(rounded_add(m, -1.0F), rounded_add(m, 1.0F));
  const float t2 = rounded_mul(t, t);
  float series = 1.0F / 9.0F;
  series = rounded_add(rounded_mul(series, t2), 1.0F / 7.0F);
  series = rounded_add(rounded_mul(series, t2), 1.0F / 5.0F);
  series = rounded_add(rounded_mul(series, t2), 1.0F / 3.0F);
  series = rounded_add(rounded_mul(series, t2), 1.0F);
  const float log_m = rounded_mul(rounded_mul(2.0F, t), series);
  constexpr float kLog2 = 0.693147180559945F;
  constexpr int kFractionBits = 24;
  const float whole = static_cast<float>(exponent - kFractionBits);
  return rounded_add(rounded_mul(whole, kLog2), log_m);
}

struct Direction {
  float x;
  float y;
};

// A point of the unit circle: the upper two bits choose the quarter, the next 24 the angle in
// [-pi/4, pi/4) around its middle.
ORRERY_HD inline Direction direction_of(std::uint32_t word) {
  constexpr float kHalfPi = 1.57079632679490F;
  const float fraction = rounded_mul(static_cast<float>((word >> 6U) & 0xFFFFFFU), 0x1.0p-24F);
  const float angle = rounded_mul(rounded_add(fraction, -0.5F), kHalfPi);
  const float a2 = rounded_mul(angle, angle);
  float sine = -1.0F / 5040.0F;
  sine = rounded_add(rounded_mul(sine, a2), 1.0F / 120.0F);
  sine = rounded_add(rounded_mul(sine, a2), -1.0F / 6.0F);
  sine = rounded_add(rounded_mul(sine, a2), 1.0F);
  sine = rounded_mul(sine, angle);
  float cosine = 1.0F / 40320.0F;
  cosine = rounded_add(rounded_mul(cosine, a2), -1.0F / 720.0F);
  cosine = rounded_add(rounded_mul(cosine, a2), 1.0F / 24.0F);
  cosine = rounded_add(rounded_mul(cosine, a2), -0.5F);
  cosine = rounded_add(rounded_mul(cosine, a2), 1.0F);
  switch (word >> 30U) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

}  // namespace detail

ORRERY_HD inline RandomBlock random_block(std::uint64_t seed, std::uint64_t block) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53U;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57U;
  constexpr std::uint32_t kKeyStep0 = 0x9E3779B9U;
  constexpr std::uint32_t kKeyStep1 = 0xBB67AE85U;
  constexpr int kRounds = 10;
  RandomBlock x = {{detail::low_word(block), detail::high_word(block), 0U, 0U}};
  std::uint32_t key0 = detail::low_word(seed);
  std::uint32_t key1 = detail::high_word(seed);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = kMultiplier0 * x.word[0];
    const std::uint64_t product1 = kMultiplier1 * x.word[2];
    x = {{detail::high_word(product1) ^ x.word[1] ^ key0, detail::low_word(product1),
          detail::high_word(product0) ^ x.word[3] ^ key1, detail::low_word(product0)}};
    key0 += kKeyStep0;
    key1 += kKeyStep1;
  }
  return x;
}

ORRERY_HD inline NormalBlock normal_block(std::uint64_t seed, std::uint64_t block) {
  const RandomBlock words = random_block(seed, block);
  NormalBlock normal = {};
  for (int pair = 0; pair < kBlockWords; pair += 2) {
    const float log_u = detail::log_of_fraction((words.word[pair] >> 8U) + 1U);
    const float radius = rounded_sqrt(rounded_mul(-2.0F, log_u));
    const detail::Direction direction = detail::direction_of(words.word[pair + 1]);
    normal.value[pair] = rounded_mul(radius, direction.x);
    normal.value[pair + 1] = rounded_mul(radius, direction.y);
  }
  return normal;
}

ORRERY_HD inline float normal_at(std::uint64_t seed, std::uint64_t index) {
  return normal_block(seed, index / kBlockWords).value[index % kBlockWords];
}

ORRERY_HD inline std::uint32_t word_at(std::uint64_t seed, std::uint64_t index) {
  return random_block(seed, index / kBlockWords).word[index % kBlockWords];
}

ORRERY_HD inline float uniform_of(std::uint32_t word) {
  return rounded_mul(static_cast<float>(word >> 8U), 0x1.0p-24F);
}

ORRERY_HD inline float uniform_at(std::uint64_t seed, std::uint64_t index) {
  return uniform_of(word_at(seed, index));
}

ORRERY_HD inline std::uint32_t integer_of(std::uint32_t word, std::uint32_t bound) {
  return detail::high_word(static_cast<std::uint64_t>(word) * bound);
}

ORRERY_HD inline std::uint32_t integer_at(std::uint64_t seed, std::uint64_t index,
                                          std::uint32_t bound) {
  return integer_of(word_at(seed, index), bound);
}

}  // namespace orrery::kernels
