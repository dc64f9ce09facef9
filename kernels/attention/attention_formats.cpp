#include "kernels/attention/attention_formats.hpp"

#include <fmt/format.h>

#include <cmath>

#include "kernels/device/runnable.hpp"
#include "kernels/element_formats.hpp"

namespace orrery::kernels {

namespace {

AttentionFormats wide_formats(Element element) {
  const Stored stored{element, 1.0};
  return {stored, stored, stored, stored, stored};
}

AttentionFormats narrow_formats(Element gradients) {
  const bool wider_range = gradients == Element::e5m2;
  return {.operand = {Element::e4m3, 64.0},
          .probability = {Element::e4m3, 256.0},
          .output_gradient = {gradients, wider_range ? 4096.0 : 64.0},
          .score_gradient = {gradients, wider_range ? 1024.0 : 32.0},
          .gradient = {gradients, wider_range ? 512.0 : 8.0}};
}

// P and dS are rounded before they are multiplied.
double inner_rounding(Element element) {
  const double steps = bits_of(element) == 8 ? 1.5 : 2.0;
  return steps * reference::unit_roundoff(format_of(element));
}

reference::Tolerance tolerance_of(const Stored& result,
                                  const Stored& inner,
                                  double magnitude,
                                  std::int64_t terms) {
  constexpr double kMargin = 4.0;
  constexpr double kHalf = 0.5;
  const auto count = static_cast<double>(terms);
  reference::SumOfTerms sum{
      .terms = count, .magnitude = magnitude, .operand = inner_rounding(inner.element)};
  if (bits_of(inner.element) == 8) {
    sum.accumulator = reference::kFp8AccumulatorRoundoff;
  }
  reference::Tolerance tolerance = reference::tolerance_of(format_of(result.element), sum);
  const double step = reference::smallest_subnormal(format_of(result.element));
  const double floor = reference::smallest_subnormal(format_of(inner.element)) / inner.scale;
  tolerance.absolute += step * (1.0 / result.scale - 1.0);  // it holds the step of scale 1
  tolerance.absolute += kMargin * kHalf * floor * std::sqrt(count);
  return tolerance;
}

}  // namespace

AttentionFormats attention_formats(Precision precision, Element gradients) {
  switch (precision) {
    case Precision::bf16:
      return wide_formats(Element::bf16);
    case Precision::fp16:
      return wide_formats(Element::fp16);
    case Precision::fp8_tensor:
      return narrow_formats(gradients);
    default:
      throw Unsupported(fmt::format("attention is run in bf16, fp16 and fp8_tensor, not {}",
                                    to_string(precision)),
                        "not offered");
  }
}

reference::Tolerance output_tolerance(const AttentionFormats& formats,
                                      double magnitude,
                                      std::int64_t keys) {
  return tolerance_of(formats.operand, formats.probability, magnitude, keys);
}

reference::Tolerance log_sum_tolerance(const AttentionFormats& formats) {
  constexpr double kWide = 1e-3;    // exp2 of the hardware, summed over up to 2^17 keys
  constexpr double kNarrow = 1e-2;  // scores are summed with about 14 bits
  const double most = formats.narrow() ? kNarrow : kWide;
  return {.relative = most, .absolute = most};
}

// The terms of a gradient have random signs: their root sum of squares is that of a row's elements.
reference::Tolerance gradient_tolerance(const AttentionFormats& formats,
                                        const Stored& inner,
                                        std::span<const double> row,
                                        std::int64_t terms) {
  constexpr double kMargin = 2.0;
  double squares = 0.0;
  for (const double x : row) {
    squares += x * x;
  }
  const double magnitude = kMargin * std::sqrt(squares / static_cast<double>(row.size()));
  return tolerance_of(formats.gradient, inner, magnitude, terms);
}

}  // namespace orrery::kernels
