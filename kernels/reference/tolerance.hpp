#pragma once

// Bounds the error of a kernel's result against the double-precision reference:
//
//   |result - reference| <= relative |reference| + absolute
//   relative = u + 2^-19
//   absolute = smallest subnormal + 8 sqrt(terms) a magnitude + 2 o magnitude
//
// symbol    | meaning                                                     | unit | origin
// ----------|-------------------------------------------------------------|------|----------------
// u         | unit roundoff of the format of the result                   | 1    | number_format
// 2^-19     | 32 units of fp32: scale factors, exp, rsqrt, division       | 1    | chosen
// terms     | numbers added into one result; 1: none                      | 1    | kernel
// a         | unit roundoff of the accumulator, 2^-24 for fp32            | 1    | hardware
// magnitude | root of the sum of the squares of the terms                 | -    | operands
// o         | relative error of an operand that is rounded on the way in: | 1    | hardware
//           | 2^-11 for TF32, 0 where the operands are exact              |      |
//
// The reasoning. The operands of the reference are the decoded codes that the kernel reads, so the
// only errors are those of fp32 arithmetic and of the last rounding. The last rounding costs at
// most u relative (half a unit in the last place). Sums of n terms with rounding errors of random
// sign drift by sqrt(n) a times the size of the partial sums, which for terms of random sign is
// that of their root sum of squares; 8 is the margin. A cast may in addition fall on the other side
// of a tie: casts are judged by codes, which may differ by one step (quantize.hpp).
// FP8 products on Hopper add with about 14 bits (DeepSeek-V3, arXiv 2412.19437, section 3.5.2).

#include <cmath>

#include "kernels/reference/number_format.hpp"

namespace orrery::kernels::reference {

inline constexpr double kFp32Roundoff = 0x1.0p-24;
inline constexpr double kFp8AccumulatorRoundoff = 0x1.0p-13;
inline constexpr double kTf32Roundoff = 0x1.0p-11;

struct Tolerance {
  double relative = 0.0;
  double absolute = 0.0;
};

struct SumOfTerms {
  double terms = 1.0;
  double magnitude = 0.0;
  double accumulator = kFp32Roundoff;
  double operand = 0.0;
};

[[nodiscard]] inline Tolerance tolerance_of(NumberFormat result, const SumOfTerms& sum = {}) {
  constexpr double kFunctions = 0x1.0p-19;
  constexpr double kMargin = 8.0;
  return {.relative = unit_roundoff(result) + kFunctions,
          .absolute = smallest_subnormal(result) +
                      sum.magnitude *
                          (kMargin * std::sqrt(sum.terms) * sum.accumulator + 2.0 * sum.operand)};
}

// Up to 1: passed. A result that is no number while the reference is one: infinite.
[[nodiscard]] inline double error_of(double result, double reference, const Tolerance& tolerance) {
  const double error = std::abs(result - reference) /
                       (tolerance.relative * std::abs(reference) + tolerance.absolute);
  return std::isnan(error) ? HUGE_VAL : error;
}

}  // namespace orrery::kernels::reference
