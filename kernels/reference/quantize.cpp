#include "kernels/reference/quantize.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::kernels::reference {

double largest_magnitude(std::span<const double> values) {
  double most = 0.0;
  for (const double value : values) {
    most = std::max(most, std::abs(value));
  }
  return most;
}

double group_scale(NumberFormat format, double most) {
  return most == 0.0 ? 1.0 : most / largest(format);
}

double mx_scale(NumberFormat format, double most) {
  return rounded(NumberFormat::e8m0, most / largest(format));
}

double nvfp4_tensor_scale(double most) {
  return most == 0.0 ? 1.0 : most / (largest(NumberFormat::e2m1) * largest(NumberFormat::e4m3));
}

double nvfp4_block_scale(double most, double tensor_scale) {
  const double scale =
      rounded(NumberFormat::e4m3, most / largest(NumberFormat::e2m1) / tensor_scale);
  return std::max(scale, smallest_subnormal(NumberFormat::e4m3));
}

std::uint32_t quantized(NumberFormat format, double value, double scale) {
  return encode(format, value / scale);
}

std::int64_t codes_apart(NumberFormat format, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t sign = 1U << (code_bits(format) - 1);
  const auto place = [sign](std::uint32_t code) {
    const auto magnitude = static_cast<std::int64_t>(code & (sign - 1U));
    return (code & sign) != 0 ? -magnitude : magnitude;
  };
  return std::abs(place(a) - place(b));
}

}  // namespace orrery::kernels::reference
