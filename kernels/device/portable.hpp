#pragma once

// Functions that compile for the host and for the GPU with the same result: they are marked
// ORRERY_HD, and write products and sums that must agree bit for bit with rounded_mul and
// rounded_add, since nvcc may otherwise contract them into one fused operation.
//
// Assumptions: the host compiler rounds single precision as IEEE 754 says and does not contract
// (-ffp-contract=off).

#include <cmath>

#if defined(__CUDACC__)
#define ORRERY_HD __host__ __device__
#else
#define ORRERY_HD
#endif

namespace orrery::kernels {

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

}  // namespace orrery::kernels
