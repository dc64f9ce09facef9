#include "sim/step/model/layer_blocks.hpp"
#include "sim/step/model/precision.hpp"

namespace orrery::model {

namespace {

bool multiplies_low(const LinearLayer& linear, const PrecisionSpec& precision) {
  return !linear.full_precision &&
         bytes_per_element(precision.compute) < bytes_per_element(precision.activation);
}

Dtype linear_dtype(const LinearLayer& linear, const PrecisionSpec& precision) {
  return linear.full_precision ? precision.activation : precision.compute;
}

// Cast of a tensor to the low precision, as it is and transposed (the second product of its use
// needs the other major order), after the reads that find its scales. Ranks that gather the tensor
// afterwards cast their own part of it and transpose the whole.
void add_cast(Pass& pass, double elements, std::int64_t casters, const PrecisionSpec& precision) {
  const CastTraffic cast =
      cast_traffic(precision.activation, precision.compute, precision.fp8_scaling);
  const double own = precision.cast_share * elements / product(casters);
  const double wide = in_bytes(bytes_per_element(precision.activation));
  const double copy = cast.written / 2.0;
  if (cast.kernels > 1) {
    add_memory(pass, Part::fp8_amax, own * (cast.read - wide), 0.0, cast.kernels - 1);
  }
  if (casters > 1) {
    const double whole = precision.cast_share * elements * copy;
    add_memory(pass, Part::fp8_cast, own * wide, own * copy);
    add_memory(pass, Part::fp8_transpose, whole, whole);
  } else {
    add_memory(pass, Part::fp8_cast_transpose, own * wide, own * cast.written);
  }
}

// A tensor that arrives in the low precision lacks only its transposed copy.
void add_transpose(Pass& pass, double elements, const PrecisionSpec& precision) {
  const double narrow = in_bytes(bytes_per_element(precision.compute));
  add_memory(pass, Part::fp8_transpose, elements * narrow, elements * narrow);
}

void add_norm(Pass& pass, PassPart part, double read, double written, std::int64_t width) {
  pass.push_back({.op = MemoryOp{.part = part.part,
                                 .role = part.role,
                                 .read = bytes(read),
                                 .written = bytes(written),
                                 .width = width}});
}

}  // namespace

void add_gemm(Pass& pass, const GemmOp& gemm) { pass.push_back({.op = gemm}); }

void add_memory(Pass& pass, PassPart part, double bytes_read, double bytes_written, int kernels) {
  pass.push_back({.op = MemoryOp{.part = part.part,
                                 .role = part.role,
                                 .read = bytes(bytes_read),
                                 .written = bytes(bytes_written),
                                 .kernels = kernels}});
}

void add_input_cast(Pass& pass, const LinearLayer& linear, const PrecisionSpec& precision) {
  const double inputs = product(linear.tokens, linear.inputs, linear.batch);
  const bool low = multiplies_low(linear, precision) && !linear.casts_inside;
  if (low && linear.received_low) {
    add_transpose(pass, inputs, precision);
  } else if (low) {
    add_cast(pass, inputs, linear.input_casters, precision);
  }
}

void add_linear_forward(Pass& pass, const LinearLayer& linear, const PrecisionSpec& precision) {
  add_input_cast(pass, linear, precision);
  if (multiplies_low(linear, precision) && precision.casts_weights) {
    add_cast(pass, product(linear.outputs, linear.inputs, linear.batch), 1, precision);
  }
  add_gemm(pass, {.part = linear.part,
                  .role = Role::fprop,
                  .m = linear.tokens,
                  .n = linear.outputs,
                  .k = linear.inputs,
                  .batch = linear.batch,
                  .dtype = linear_dtype(linear, precision),
                  .scaling = precision.fp8_scaling,
                  .grouped = linear.batch > 1,
                  .row_spread = linear.row_spread});
}

void add_linear_backward(LayerPasses& passes, const LinearLayer& linear,
                         const PrecisionSpec& precision) {
  const double gradient_elements = product(linear.tokens, linear.outputs, linear.batch);
  const bool casts = multiplies_low(linear, precision) && !linear.casts_inside;
  if (casts && linear.gradient_received_low) {
    add_transpose(passes.backward_input, gradient_elements, precision);
  } else if (casts) {
    add_cast(passes.backward_input, gradient_elements, linear.gradient_casters, precision);
  }
  GemmOp gemm{.part = linear.part,
              .role = Role::dgrad,
              .m = linear.tokens,
              .n = linear.inputs,
              .k = linear.outputs,
              .batch = linear.batch,
              .dtype = linear_dtype(linear, precision),
              .scaling = precision.fp8_scaling,
              .grouped = linear.batch > 1,
              .row_spread = linear.row_spread};
  add_gemm(passes.backward_input, gemm);
  gemm.role = Role::wgrad;
  gemm.m = linear.outputs;
  gemm.n = linear.inputs;
  gemm.k = linear.tokens;
  gemm.row_spread = 0.0;
  const double wide = in_bytes(bytes_per_element(precision.activation));
  const double sum = in_bytes(bytes_per_element(precision.gradient));
  const bool sums = sum > wide;  // in the products' own type they leave them as they are
  gemm.accumulates = sums && precision.fuses_gradients;
  add_gemm(passes.backward_weight, gemm);
  if (sums && !precision.fuses_gradients) {
    const double weights = product(linear.outputs, linear.inputs, linear.batch);
    add_memory(passes.backward_weight, Part::gradient_add, weights * (wide + sum), weights * sum);
  }
  if (linear.bias) {
    add_memory(passes.backward_weight, Part::bias_gradient, gradient_elements * wide,
               product(linear.outputs, linear.batch) * sum);
  }
}

void add_collective(Pass& pass, const CollectiveShape& shape) {
  if (shape.ranks <= 1) {
    return;
  }
  const Bytes total = shape.elements_total * bytes_per_element(shape.dtype);
  const bool one_part =
      shape.kind == CollectiveKind::all_gather || shape.kind == CollectiveKind::all_to_all;
  pass.push_back(
      {.op = CollectiveOp{.part = shape.part.part,
                          .role = shape.part.role,
                          .kind = shape.kind,
                          .axis = shape.axis,
                          .bytes_per_rank_in = one_part ? total / product(shape.ranks) : total,
                          .bytes_total = total,
                          .dtype = shape.dtype,
                          .beside = shape.beside,
                          .routing = shape.routing}});
}

void begin_tensor_forward(Pass& pass, const ShardDims& dims, std::int64_t width, Dtype dtype) {
  if (dims.sequence_parallel) {
    add_collective(pass, {.part = Part::tensor_all_gather,
                          .kind = CollectiveKind::all_gather,
                          .elements_total = product(dims.tokens, width),
                          .ranks = dims.tensor,
                          .dtype = dtype});
  }
}

void end_tensor_forward(Pass& pass, const ShardDims& dims, std::int64_t width, Dtype dtype) {
  const bool scatter = dims.sequence_parallel;
  add_collective(pass,
                 {.part = scatter ? Part::tensor_reduce_scatter : Part::tensor_all_reduce,
                  .kind = scatter ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
                  .elements_total = product(dims.tokens, width),
                  .ranks = dims.tensor,
                  .dtype = dtype});
}

void end_tensor_backward(Pass& pass, const ShardDims& dims, std::int64_t width, Dtype dtype) {
  begin_tensor_forward(pass, dims, width, dtype);  // the gradient of a reduce-scatter: a gather
}

void gather_input_again(Pass& pass, const ShardDims& dims, std::int64_t width, Dtype dtype) {
  if (dims.sequence_parallel && !dims.keeps_gathered_input) {
    add_collective(pass, {.part = Part::tensor_all_gather_again,
                          .kind = CollectiveKind::all_gather,
                          .elements_total = product(dims.tokens, width),
                          .ranks = dims.tensor,
                          .dtype = dtype,
                          .beside = Beside::next_gemm});
  }
}

void begin_tensor_backward(Pass& pass, const ShardDims& dims, std::int64_t width, Dtype dtype) {
  const std::size_t before = pass.size();
  end_tensor_forward(pass, dims, width, dtype);  // the sum of the ranks' input gradients
  if (pass.size() > before) {
    std::get<CollectiveOp>(pass.back().op).beside = Beside::previous_gemm;
  }
}

void add_norm_forward(Pass& pass, Part part, const ShardDims& dims, std::int64_t width) {
  const double size = product(dims.local_tokens, width) * dims.element_bytes;
  add_norm(pass, part, size, size, width);
}

void add_norm_backward(Pass& pass, Part part, const ShardDims& dims, std::int64_t width) {
  const double size = product(dims.local_tokens, width) * dims.element_bytes;
  add_norm(pass, backward(part), 2.0 * size, size, width);
}

namespace {

// Norm, mixing in, out and across, addition; and Sinkhorn's 20 rounds over rows and columns.
constexpr int kStreamKernels = 5 + 2 * 20;

// Weights of n streams: those by which they enter a block (n), by which its result enters them (n),
// and of each in each (n^2).
GemmOp stream_weights(const ShardDims& dims, Role role) {
  const std::int64_t weights = dims.streams * (dims.streams + 2);
  const std::int64_t inputs = dims.streams * dims.hidden;
  GemmOp gemm{.part = Part::stream_weights,
              .role = role,
              .m = dims.local_tokens,
              .n = weights,
              .k = inputs};
  if (role == Role::dgrad) {
    std::swap(gemm.n, gemm.k);
  } else if (role == Role::wgrad) {
    gemm = {.part = gemm.part, .role = role, .m = weights, .n = inputs, .k = dims.local_tokens};
  }
  return gemm;
}

}  // namespace

void add_residual_forward(Pass& pass, const ShardDims& dims, bool dropout) {
  const double elements = product(dims.local_tokens, dims.hidden);
  const double size = elements * dims.element_bytes;
  if (dims.streams > 1) {
    add_gemm(pass, stream_weights(dims, Role::fprop));
    add_memory(pass, Part::stream_mix, product(5 * dims.streams + 1) * size,
               product(3 * dims.streams + 1) * size, kStreamKernels);
    return;
  }
  add_memory(pass, dropout ? Part::dropout_residual_add : Part::residual_add, 2.0 * size,
             dropout ? size + elements : size);
}

void add_residual_backward(Pass& pass, const ShardDims& dims, bool dropout) {
  const double elements = product(dims.local_tokens, dims.hidden);
  const double size = elements * dims.element_bytes;
  if (dims.streams > 1) {  // of each operation its operands again, and their gradients
    add_memory(pass, backward(Part::stream_mix), product(2, 5 * dims.streams + 1) * size,
               product(2, 3 * dims.streams + 1) * size, 2 * kStreamKernels);
    add_gemm(pass, stream_weights(dims, Role::dgrad));
    add_gemm(pass, stream_weights(dims, Role::wgrad));
    return;
  }
  if (dropout) {
    add_memory(pass, backward(Part::dropout), size + elements, size);
  }
  add_memory(pass, backward(Part::residual_add), 2.0 * size, size);
}

namespace {

double bytes_allocated(const Op& op, const PrecisionSpec& precision) {
  const double element = in_bytes(bytes_per_element(precision.activation));
  if (const auto* gemm = std::get_if<GemmOp>(&op)) {
    return gemm->accumulates ? 0.0 : product(gemm->m, gemm->n) * product(gemm->batch) * element;
  }
  if (const auto* attention = std::get_if<AttentionOp>(&op)) {
    const double query = product(attention->heads, attention->query_length);
    const double keys = product(attention->query_groups, attention->key_length);
    const double rows = attention->backward
                            ? query * product(attention->head_dim_qk) +
                                  keys * product(attention->head_dim_qk + attention->head_dim_v)
                            : query * product(attention->head_dim_v);
    return product(attention->sequences) * rows * element;
  }
  if (const auto* scan = std::get_if<ScanOp>(&op)) {
    return product(scan->sequences, scan->length, scan->heads, scan->value_dim) * element;
  }
  if (const auto* memory = std::get_if<MemoryOp>(&op)) {
    return memory->part == Part::gradient_add ? 0.0 : in_bytes(memory->written);
  }
  return 0.0;
}

}  // namespace

void add_fills(Pass& pass, const PrecisionSpec& precision) {
  if (!precision.deterministic) {
    return;
  }
  double filled = 0.0;
  int tensors = 0;
  for (const PassOp& entry : pass) {
    const double allocated = bytes_allocated(entry.op, precision);
    filled += allocated;
    tensors += allocated > 0.0 ? 1 : 0;
  }
  if (tensors > 0) {
    add_memory(pass, Part::deterministic_fill, 0.0, filled, tensors);
  }
}

void add_fills(LayerPasses& passes, const PrecisionSpec& precision) {
  add_fills(passes.forward, precision);
  add_fills(passes.backward_input, precision);
  add_fills(passes.backward_weight, precision);
}

}  // namespace orrery::model
