#pragma once

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

#include <cstdint>
#include <span>

#include "kernels/reference/number_format.hpp"

namespace orrery::kernels::reference {

[[nodiscard]] double largest_magnitude(std::span<const double> values);

// Of a row or block.
[[nodiscard]] double group_scale(NumberFormat format, double largest_magnitude);

// Of 32 values; the number that the E8M0 code stands for.
[[nodiscard]] double mx_scale(NumberFormat format, double largest_magnitude);

[[nodiscard]] double nvfp4_tensor_scale(double largest_magnitude);

// The E4M3 scale of 16 values, without the tensor's. Smallest subnormal where it would be zero.
[[nodiscard]] double nvfp4_block_scale(double largest_magnitude, double tensor_scale);

[[nodiscard]] std::uint32_t quantized(NumberFormat format, double value, double scale);

// Steps of the format between two codes of equal width; -0 and +0 are none apart.
[[nodiscard]] std::int64_t codes_apart(NumberFormat format, std::uint32_t a, std::uint32_t b);

}  // namespace orrery::kernels::reference
