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

#include <cstdint>

namespace orrery::kernels::reference {

enum class NumberFormat { fp32, bf16, fp16, e4m3, e5m2, e2m1, e8m0 };

[[nodiscard]] double decode(NumberFormat format, std::uint32_t code);
[[nodiscard]] std::uint32_t encode(NumberFormat format, double value);

// The nearest number of the format.
[[nodiscard]] double rounded(NumberFormat format, double value);

[[nodiscard]] int code_bits(NumberFormat format);
[[nodiscard]] double largest(NumberFormat format);
[[nodiscard]] double smallest_subnormal(NumberFormat format);  // also the distance between those

// Largest relative error of rounding a normal number, 2^-(m + 1).
[[nodiscard]] double unit_roundoff(NumberFormat format);

}  // namespace orrery::kernels::reference
