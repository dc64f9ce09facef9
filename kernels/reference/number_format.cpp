#include "kernels/reference/number_format.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace orrery::kernels::reference {

namespace {

struct Layout {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  std::uint32_t largest;   // code of the largest finite number
  std::uint32_t overflow;  // code of what is larger
  std::uint32_t nan;
};

constexpr std::uint32_t kScaleNan = 0xFF;
constexpr int kScaleBias = 127;
constexpr std::uint32_t kLargestScale = 254;

constexpr std::array<Layout, 6> kLayouts = {{{8, 23, 127, 0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF},
                                             {8, 7, 127, 0x7F7F, 0x7F80, 0x7FFF},
                                             {5, 10, 15, 0x7BFF, 0x7C00, 0x7FFF},
                                             {4, 3, 7, 0x7E, 0x7E, 0x7F},
                                             {5, 2, 15, 0x7B, 0x7B, 0x7F},
                                             {2, 1, 1, 0x7, 0x7, 0x7}}};

const Layout& layout_of(Element format) { return kLayouts[static_cast<std::size_t>(format)]; }

double decode_scale(std::uint32_t code) {
  return code == kScaleNan ? std::numeric_limits<double>::quiet_NaN()
                           : std::ldexp(1.0, static_cast<int>(code) - kScaleBias);
}

// Rounded up to the next power of two.
std::uint32_t encode_scale(double value) {
  if (!(value >= 0.0)) {
    return kScaleNan;
  }
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1): value = fraction 2^exponent
  exponent -= fraction == 0.5 ? 1 : 0;
  if (value == 0.0 || exponent <= -kScaleBias) {
    return 0;
  }
  if (std::isinf(value) || exponent > kScaleBias) {
    return kLargestScale;
  }
  return static_cast<std::uint32_t>(exponent + kScaleBias);
}

}  // namespace

double decode(Element format, std::uint32_t code) {
  if (format == Element::e8m0) {
    return decode_scale(code);
  }
  const Layout& layout = layout_of(format);
  const std::uint32_t sign_bit = 1U << (layout.exponent_bits + layout.mantissa_bits);
  const std::uint32_t magnitude = code & (sign_bit - 1U);
  const double sign = (code & sign_bit) != 0 ? -1.0 : 1.0;
  const std::uint32_t mantissa_range = 1U << layout.mantissa_bits;
  const int exponent = static_cast<int>(magnitude >> layout.mantissa_bits);
  const double mantissa = magnitude & (mantissa_range - 1U);
  const bool infinities = layout.overflow != layout.largest || format == Element::e5m2;
  if (magnitude > layout.largest) {
    const bool infinite = infinities && magnitude == layout.largest + 1U;
    return sign * (infinite ? std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::quiet_NaN());
  }
  const double whole = exponent > 0 ? static_cast<double>(mantissa_range) + mantissa : mantissa;
  return sign * std::ldexp(whole, std::max(exponent, 1) - layout.bias - layout.mantissa_bits);
}

std::uint32_t encode(Element format, double value) {
  if (format == Element::e8m0) {
    return encode_scale(value);
  }
  const Layout& layout = layout_of(format);
  if (std::isnan(value)) {
    return layout.nan;
  }
  const std::uint32_t sign =
      std::signbit(value) ? 1U << (layout.exponent_bits + layout.mantissa_bits) : 0U;
  const double size = std::abs(value);
  if (size == 0.0) {
    return sign;
  }
  if (size > 2.0 * largest(format)) {
    return sign | layout.overflow;
  }
  // Units of the last place, counted from the start of the binade: a carry moves to the next one.
  const int exponent = std::max(std::ilogb(size), 1 - layout.bias);
  const double units = std::nearbyint(std::ldexp(size, layout.mantissa_bits - exponent));
  const std::uint32_t binade = static_cast<std::uint32_t>(exponent + layout.bias - 1);
  const std::uint32_t code = (binade << layout.mantissa_bits) + static_cast<std::uint32_t>(units);
  return sign | (code > layout.largest ? layout.overflow : code);
}

double rounded(Element format, double value) { return decode(format, encode(format, value)); }

int code_bits(Element format) {
  if (format == Element::e8m0) {
    return 8;
  }
  const Layout& layout = layout_of(format);
  return 1 + layout.exponent_bits + layout.mantissa_bits;
}

double largest(Element format) {
  return format == Element::e8m0 ? decode_scale(kLargestScale)
                                 : decode(format, layout_of(format).largest);
}

double smallest_subnormal(Element format) {
  return format == Element::e8m0 ? decode_scale(0) : decode(format, 1);
}

double unit_roundoff(Element format) {
  return format == Element::e8m0 ? 1.0 : std::ldexp(0.5, -layout_of(format).mantissa_bits);
}

double largest_magnitude(std::span<const double> values) {
  double most = 0.0;
  for (const double value : values) {
    most = std::max(most, std::abs(value));
  }
  return most;
}

double group_scale(Element format, double most) {
  return most == 0.0 ? 1.0 : most / largest(format);
}

double mx_scale(Element format, double most) {
  return rounded(Element::e8m0, most / largest(format));
}

double nvfp4_tensor_scale(double most) {
  return most == 0.0 ? 1.0 : most / (largest(Element::e2m1) * largest(Element::e4m3));
}

double nvfp4_block_scale(double most, double tensor_scale) {
  const double scale = rounded(Element::e4m3, most / largest(Element::e2m1) / tensor_scale);
  return std::max(scale, smallest_subnormal(Element::e4m3));
}

std::int64_t codes_apart(Element format, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t sign = 1U << (code_bits(format) - 1);
  const auto place = [sign](std::uint32_t code) {
    const auto magnitude = static_cast<std::int64_t>(code & (sign - 1U));
    return (code & sign) != 0 ? -magnitude : magnitude;
  };
  return std::abs(place(a) - place(b));
}

}  // namespace orrery::kernels::reference
