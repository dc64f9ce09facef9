#include "kernels/attention_case.hpp"

#include <fmt/format.h>

#include "kernels/device/fill.hpp"
#include "kernels/device/status.hpp"
#include "kernels/device/stream.hpp"

namespace orrery::kernels {

AttentionShape attention_shape(const KernelCase& kernel) {
  if (kernel.precision != Precision::bf16 && kernel.precision != Precision::fp16) {
    throw Unsupported(
        fmt::format("attention is run in bf16 and fp16, not {}", to_string(kernel.precision)),
        "not offered");
  }
  AttentionShape shape;
  shape.sequences = extent(kernel, "sequences");
  shape.heads = extent(kernel, "heads");
  shape.groups = extent(kernel, "groups");
  shape.queries = extent(kernel, "queries");
  shape.keys = extent(kernel, "keys");
  shape.dim_qk = extent(kernel, "dim_qk");
  shape.dim_v = extent(kernel, "dim_v");
  shape.causal = extent(kernel, "causal") != 0;
  shape.backward = kernel.role == Role::backward;
  shape.element = kernel.precision == Precision::bf16 ? Element::bf16 : Element::fp16;
  return shape;
}

std::int64_t set_bytes(const AttentionShape& shape) {
  const auto size = [&shape](std::int64_t elements) {
    return aligned(bytes_of(shape.element, elements));
  };
  const std::int64_t rows = aligned(bytes_of(Element::fp32, shape.rows()));
  const std::int64_t inputs =
      size(shape.query_elements()) + size(shape.key_elements()) + size(shape.value_elements());
  const std::int64_t outputs = size(shape.output_elements());
  return shape.backward ? 2 * (inputs + outputs + rows) : inputs + outputs + rows;
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
  const auto random = [this, &tensor, stream](std::int64_t elements) {
    DeviceBuffer buffer(bytes_of(shape_.element, elements));
    fill_normal(buffer.data(), shape_.element, elements, {++tensor, 1.0F, 0}, stream);
    return buffer;
  };
  const auto empty = [stream](Element element, std::int64_t elements) {
    DeviceBuffer buffer(bytes_of(element, elements));
    fill_unwritten(buffer.data(), buffer.bytes(), stream);
    return buffer;
  };
  AttentionSet set;
  set.q = random(shape_.query_elements());
  set.k = random(shape_.key_elements());
  set.v = random(shape_.value_elements());
  set.o = empty(shape_.element, shape_.output_elements());
  set.log_sum = empty(Element::fp32, shape_.rows());
  if (shape_.backward) {
    set.d_o = random(shape_.output_elements());
    set.d_q = empty(shape_.element, shape_.query_elements());
    set.d_k = empty(shape_.element, shape_.key_elements());
    set.d_v = empty(shape_.element, shape_.value_elements());
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
