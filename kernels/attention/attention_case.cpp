#include "kernels/attention/attention_case.hpp"

#include <fmt/format.h>

#include <cmath>

#include "kernels/device/fill.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/families.hpp"

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
  return steps * reference::unit_roundoff(element);
}

reference::Tolerance tolerance_of(const Stored& result, const Stored& inner, double magnitude,
                                  std::int64_t terms) {
  constexpr double kMargin = 4.0;
  constexpr double kHalf = 0.5;
  const auto count = static_cast<double>(terms);
  reference::SumOfTerms sum{
      .terms = count, .magnitude = magnitude, .operand = inner_rounding(inner.element)};
  if (bits_of(inner.element) == 8) {
    sum.accumulator = reference::kFp8AccumulatorRoundoff;
  }
  reference::Tolerance tolerance = reference::tolerance_of(result.element, sum);
  const double step = reference::smallest_subnormal(result.element);
  const double floor = reference::smallest_subnormal(inner.element) / inner.scale;
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

reference::Tolerance output_tolerance(const AttentionFormats& formats, double magnitude,
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
reference::Tolerance gradient_tolerance(const AttentionFormats& formats, const Stored& inner,
                                        std::span<const double> row, std::int64_t terms) {
  constexpr double kMargin = 2.0;
  double squares = 0.0;
  for (const double x : row) {
    squares += x * x;
  }
  const double magnitude = kMargin * std::sqrt(squares / static_cast<double>(row.size()));
  return tolerance_of(formats.gradient, inner, magnitude, terms);
}

AttentionShape attention_shape(const KernelCase& kernel) {
  AttentionShape shape;
  shape.formats = attention_formats(kernel.precision);
  shape.sequences = extent(kernel, "sequences");
  shape.heads = extent(kernel, "heads");
  shape.groups = extent(kernel, "groups");
  shape.queries = extent(kernel, "queries");
  shape.keys = extent(kernel, "keys");
  shape.dim_qk = extent(kernel, "dim_qk");
  shape.dim_v = extent(kernel, "dim_v");
  shape.causal = extent(kernel, "causal") != 0;
  shape.backward = kernel.role == Role::backward;
  return shape;
}

std::int64_t set_bytes(const AttentionShape& shape) {
  const auto size = [](const Stored& stored, std::int64_t elements) {
    return aligned(bytes_of(stored.element, elements));
  };
  const auto inputs = [&](const Stored& stored) {
    return size(stored, shape.query_elements()) + size(stored, shape.key_elements()) +
           size(stored, shape.value_elements());
  };
  const AttentionFormats& formats = shape.formats;
  const std::int64_t rows = aligned(bytes_of(Element::fp32, shape.rows()));
  const std::int64_t forward =
      inputs(formats.operand) + size(formats.operand, shape.output_elements()) + rows;
  return shape.backward ? forward + inputs(formats.gradient) +
                              size(formats.output_gradient, shape.output_elements()) + rows
                        : forward;
}

void AttentionRunnable::allocate(const PrepareOptions& options, std::int64_t workspace) {
  const int sets =
      operand_sets(set_bytes(shape_), options.rotated, memory_budget(options) - workspace);
  const OwnedStream stream;
  for (int i = 0; i < sets; ++i) {
    add_set(options.seed + static_cast<std::uint64_t>(i), stream.get());
  }
  for (const AttentionSet& set : sets_) {
    forward(set, stream.get());
  }
  // Kernels are loaded at their first launch, which must not happen while a graph is captured.
  launch(stream.get(), 0);
  stream.synchronize();
}

void AttentionRunnable::add_set(std::uint64_t seed, Stream stream) {
  constexpr std::uint64_t kTensors = 8;
  std::uint64_t tensor = seed * kTensors;
  const auto random = [&tensor, stream](const Stored& stored, std::int64_t elements) {
    DeviceBuffer buffer(bytes_of(stored.element, elements));
    const auto deviation = static_cast<float>(stored.scale);
    fill_normal(buffer.data(), stored.element, elements, {++tensor, deviation, 0}, stream);
    return buffer;
  };
  const auto empty = [stream](Element element, std::int64_t elements) {
    DeviceBuffer buffer(bytes_of(element, elements));
    fill_unwritten(buffer.data(), buffer.bytes(), stream);
    return buffer;
  };
  const AttentionFormats& formats = shape_.formats;
  const Element gradient = formats.gradient.element;
  AttentionSet set;
  set.q = random(formats.operand, shape_.query_elements());
  set.k = random(formats.operand, shape_.key_elements());
  set.v = random(formats.operand, shape_.value_elements());
  set.o = empty(formats.operand.element, shape_.output_elements());
  set.log_sum = empty(Element::fp32, shape_.rows());
  if (shape_.backward) {
    set.d_o = random(formats.output_gradient, shape_.output_elements());
    set.d_q = empty(gradient, shape_.query_elements());
    set.d_k = empty(gradient, shape_.key_elements());
    set.d_v = empty(gradient, shape_.value_elements());
    set.delta = empty(Element::fp32, shape_.rows());
  }
  sets_.push_back(std::move(set));
}

void AttentionRunnable::launch(Stream stream, int copy) {
  const AttentionSet& set = sets_[static_cast<std::size_t>(copy)];
  if (shape_.backward) {
    backward(set, stream);
  } else {
    forward(set, stream);
  }
}

Verification AttentionRunnable::verify(Stream stream) {
  const AttentionSet& set = sets_.front();
  for (const DeviceBuffer* output : {&set.o, &set.log_sum, &set.d_q, &set.d_k, &set.d_v}) {
    if (output->bytes() > 0) {
      fill_unwritten(output->data(), output->bytes(), stream);
    }
  }
  forward(set, stream);
  if (shape_.backward) {
    backward(set, stream);
  }
  Verification checked = check_forward(shape_, set, stream);
  if (checked.passed && shape_.backward) {
    const Verification gradients = check_backward(shape_, set, stream);
    const std::int64_t compared = checked.compared + gradients.compared;
    checked = gradients;
    checked.compared = compared;
  }
  return checked;
}

}  // namespace orrery::kernels
