#pragma once

// Codecs of the narrow number formats: the value of a code, and the code nearest to a value.
//
//   value = (-1)^sign 2^(exponent - bias) (1 + mantissa / 2^m)     exponent > 0
//   value = (-1)^sign 2^(1 - bias) mantissa / 2^m                  exponent = 0
//
// format | exponent | m  | bias | largest | above it             | use
// -------|----------|----|------|---------|----------------------|------------------------------
// fp32   | 8        | 23 | 127  | 3.4e38  | infinity             | sums, optimizer
// bf16   | 8        | 7  | 127  | 3.4e38  | infinity             | activations, weights
// fp16   | 5        | 10 | 15   | 65504   | infinity             | activations, weights
// e4m3   | 4        | 3  | 7    | 448     | saturates, no inf    | FP8 activations and weights
// e5m2   | 5        | 2  | 15   | 57344   | saturates when cast  | FP8 gradients
// e2m1   | 2        | 1  | 1    | 6       | saturates, no NaN    | NVFP4
// e8m0   | 8        | 0  | 127  | 2^127   | saturates, no sign   | scales of MX blocks: 2^(c-127)
//
// encode() rounds to nearest, ties to even, straight from the double; e8m0 rounds up, so that a
// block scaled by it does not saturate. Codes of e2m1 are 4 bits.
//
// Source: IEEE 754; OCP 8-bit Floating Point Specification 1.0; OCP Microscaling Formats 1.0.

#include <cmath>
#include <cstdint>
#include <span>

// In a namespace of its own: the codecs here and those of the device (kernels/device/element.hpp)
// have the same names, and neither is found by its argument.
namespace orrery::kernels::formats {

enum class Element { fp32, bf16, fp16, e4m3, e5m2, e2m1, e8m0 };

}  // namespace orrery::kernels::formats

namespace orrery::kernels {

using formats::Element;

}  // namespace orrery::kernels

namespace orrery::kernels::reference {

[[nodiscard]] double decode(Element format, std::uint32_t code);
[[nodiscard]] std::uint32_t encode(Element format, double value);

// The nearest number of the format.
[[nodiscard]] double rounded(Element format, double value);

[[nodiscard]] int code_bits(Element format);
[[nodiscard]] double largest(Element format);
[[nodiscard]] double smallest_subnormal(Element format);  // also the distance between those

// Largest relative error of rounding a normal number, 2^-(m + 1).
[[nodiscard]] double unit_roundoff(Element format);

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
// of a tie: casts are judged by codes, which may differ by one step (below).
// FP8 products on Hopper add with about 14 bits (DeepSeek-V3, arXiv 2412.19437, section 3.5.2).

inline constexpr double kFp32Roundoff = 0x1.0p-24;
inline constexpr double kFp8AccumulatorRoundoff = 0x1.0p-13;

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

[[nodiscard]] inline Tolerance tolerance_of(Element result, const SumOfTerms& sum = {}) {
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

// Reference for casts to 8 or 4 bits: the scale of a group of values and their codes.
//
//   value ~ decode(code) scale
//   tensor  scale is given (found from the largest magnitude of an earlier step)
//   row,    scale = largest magnitude / largest of the format, fp32; 1 when all are zero
//   block
//   mx      the same rounded up to a power of two (E8M0)
//   nvfp4   scale = tensor scale x E4M3(largest magnitude / 6 / tensor scale)
//           tensor scale = largest magnitude of the tensor / (6 x 448); 1 when all are zero
//
// symbol | meaning                                               | unit | origin
// -------|-------------------------------------------------------|------|---------
// group  | values that share a scale: row, 1 x 128 or 128 x 128  | -    | recipe
//        | (block), 32 (mx), 16 (nvfp4)                          |      |
//
// Kernels compute scales in fp32, so a value near a tie may get the neighbouring code:
// codes_apart() counts steps. Scales of mx are exact, and so are its codes.
//
// Source: OCP Microscaling Formats 1.0; NVIDIA, "Pretraining LLMs with NVFP4" (arXiv 2509.25149);
// DeepSeek-V3 (arXiv 2412.19437, section 3.3) for 1 x 128 and 128 x 128.

[[nodiscard]] double largest_magnitude(std::span<const double> values);

// Of a row or block.
[[nodiscard]] double group_scale(Element format, double largest_magnitude);

// Of 32 values; the number that the E8M0 code stands for.
[[nodiscard]] double mx_scale(Element format, double largest_magnitude);

[[nodiscard]] double nvfp4_tensor_scale(double largest_magnitude);

// The E4M3 scale of 16 values, without the tensor's. Smallest subnormal where it would be zero.
[[nodiscard]] double nvfp4_block_scale(double largest_magnitude, double tensor_scale);

// Steps of the format between two codes of equal width; -0 and +0 are none apart.
[[nodiscard]] std::int64_t codes_apart(Element format, std::uint32_t a, std::uint32_t b);

}  // namespace orrery::kernels::reference
