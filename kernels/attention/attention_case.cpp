#include "kernels/attention/attention_case.hpp"

#include "kernels/device/fill.hpp"
#include "kernels/device/status.hpp"
#include "kernels/device/stream.hpp"

namespace orrery::kernels {

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
