#include "sim/model/memory.hpp"

#include <algorithm>

#include "sim/model/shard_dims.hpp"

namespace orrery::model {

namespace {

constexpr double kFp32Bytes = 4.0;

struct Activations {
  const ModelSpec& model;
  const ActivationOptions& options;
  ShardDims dims;

  [[nodiscard]] bool dropout() const {
    return options.dropout || options.ops.dropout;
  }

  [[nodiscard]] bool unfused() const {
    return options.ops.attention == AttentionKernel::unfused;
  }
};

Activations activations(const ModelSpec& model, const ActivationOptions& options) {
  return {model, options, shard_dims(model, options.ops)};
}

// Bytes of `width` elements for every token of the rank's own share.
double local(const Activations& a, std::int64_t width, double element_bytes) {
  return product(a.dims.local_tokens, width) * element_bytes;
}

// Bytes of `width` elements for every token of the tensor group.
double gathered(const Activations& a, std::int64_t width, double element_bytes) {
  return product(a.dims.tokens, width) * element_bytes;
}

// Input of a column-parallel linear layer: the rank's own share, gathered again in the backward, or
// the gathered tensor where the stack keeps it.
double projection_input(const Activations& a) {
  const bool whole = a.dims.sequence_parallel && a.dims.keeps_gathered_input;
  return whole ? gathered(a, a.dims.hidden, a.dims.linear_input_bytes)
               : local(a, a.dims.hidden, a.dims.linear_input_bytes);
}

// What the core keeps beside Q, K, V and its output. Unfused: softmax output, and with dropout its
// mask and the dropped output. Fused: the softmax statistics, one fp32 number per row and head.
double attention_core(const Activations& a) {
  const ShardDims& dims = a.dims;
  const double rows = product(dims.sequences, dims.heads, dims.query_length);
  if (!a.unfused()) {
    return rows * kFp32Bytes;
  }
  const double kept = a.dropout() ? 2.0 * dims.element_bytes + 1.0 : dims.element_bytes;
  return rows * product(dims.key_length) * kept;
}

// Q, K, V, and the output, which is the input of the output projection: one tensor in 16 bits. In
// FP8 the projection keeps its own copy, and the fused kernel needs the 16-bit output beside it.
double attention_operands(const Activations& a) {
  const ShardDims& dims = a.dims;
  const double operands =
      gathered(a,
               (dims.heads + dims.groups) * dims.head_dim_qk + dims.groups * dims.head_dim_v,
               dims.element_bytes);
  const std::int64_t output = dims.heads * dims.head_dim_v;
  const double output_bytes =
      dims.low_precision ? dims.linear_input_bytes + (a.unfused() ? 0.0 : dims.element_bytes)
                         : dims.element_bytes;
  return operands + gathered(a, output, output_bytes);
}

// Inputs of the latents' norms and of the linear layers behind them.
double latents(const Activations& a) {
  const MlaSpec& mla = *a.model.mla;
  const double each = a.dims.element_bytes + a.dims.linear_input_bytes;
  return local(a, mla.q_lora_rank + mla.kv_lora_rank, each) +
         local(a, mla.qk_rope_head_dim, a.dims.element_bytes);
}

double attention_block(const Activations& a) {
  double total = local(a, a.dims.hidden, a.dims.element_bytes);  // input of the norm
  total += projection_input(a);
  if (a.model.mla) {
    total += latents(a);
  }
  total += attention_operands(a) + attention_core(a);
  if (a.dropout()) {
    total += local(a, a.dims.hidden, 1.0);
  }
  return total;
}

// Inputs of the activation and of the down projection.
double mlp_inner(const ShardDims& dims, double rows, std::int64_t width) {
  return rows * product(width) *
         (product(dims.activation_inputs) * dims.element_bytes + dims.linear_input_bytes);
}

double dense_mlp(const Activations& a) {
  return projection_input(a) + mlp_inner(a.dims, product(a.dims.tokens), a.dims.ffn);
}

// Router input and probabilities, permuted rows and inner results of the experts, shared experts
// (whose input is the router's, or an FP8 copy of it).
double moe_mlp(const Activations& a) {
  const ShardDims& dims = a.dims;
  double total = local(a, dims.hidden, dims.element_bytes);
  total += local(a, a.model.moe->num_experts, kFp32Bytes);
  total += product(dims.expert_rows, dims.hidden) * dims.linear_input_bytes;
  total += mlp_inner(dims, product(dims.expert_rows), dims.expert_ffn);
  if (dims.shared_ffn > 0) {
    total += mlp_inner(dims, product(dims.tokens), dims.shared_ffn);
    if (dims.low_precision) {
      total += local(a, dims.hidden, dims.linear_input_bytes);
    }
  }
  return total;
}

double mlp_block(const Activations& a, std::int64_t layer) {
  double total = local(a, a.dims.hidden, a.dims.element_bytes);  // input of the norm
  total += a.model.is_moe_layer(layer) ? moe_mlp(a) : dense_mlp(a);
  if (a.dropout()) {
    total += local(a, a.dims.hidden, 1.0);
  }
  return total;
}

double whole_layer(const Activations& a, std::int64_t layer) {
  return attention_block(a) + mlp_block(a, layer);
}

// What the products leave behind that selective recomputation by operation saves.
double saved_operations(const Activations& a, std::int64_t layer) {
  const ShardDims& dims = a.dims;
  double total =
      local(a, dims.hidden, dims.element_bytes) +
      gathered(a,
               dims.heads * (dims.head_dim_qk + dims.head_dim_v) + dims.groups * dims.head_dim_v,
               dims.element_bytes) +
      attention_core(a);
  if (dims.sequence_parallel) {
    total += local(a, dims.hidden, dims.element_bytes);  // the scattered sum behind the core
  }
  if (a.model.is_moe_layer(layer)) {
    return total;  // grouped products are none of the saved operations
  }
  total += gathered(a, dims.ffn, dims.element_bytes);
  const bool down_is_saved = dims.activation_inputs == 2;  // the seventh product, not the sixth
  if (a.options.ops.keeps_unused_results && down_is_saved) {
    total += gathered(a, dims.hidden, dims.element_bytes);
  }
  return total;
}

// Keys, values and their gradients of other ranks, or the heads exchanged for tokens.
double context_exchange(const Activations& a) {
  const ShardDims& dims = a.dims;
  if (dims.context == 1) {
    return 0.0;
  }
  const double slice =
      gathered(a, dims.groups * (dims.head_dim_qk + dims.head_dim_v), dims.element_bytes);
  switch (a.options.ops.shard.context_method) {
    case ContextMethod::all_gather:
      return 2.0 * product(dims.context) * slice;
    case ContextMethod::ring:
      return 2.0 * 2.0 * slice;
    case ContextMethod::all_to_all:
      return slice + gathered(a, dims.heads * dims.head_dim_qk, dims.element_bytes);
  }
  return 0.0;  // not reached: every enumerator returns above
}

double kept_layer(const Activations& a, std::int64_t layer) {
  switch (a.options.recompute) {
    case Recompute::none:
      return whole_layer(a, layer);
    case Recompute::selective:
      return whole_layer(a, layer) - attention_core(a);
    case Recompute::full:
      return local(a, a.dims.hidden, a.dims.element_bytes);
    case Recompute::selective_operations:
      return saved_operations(a, layer);
  }
  return 0.0;  // not reached: every enumerator returns above
}

// Final norm's input, the logits layer's input (16 bit) and the logits in fp32.
double main_head(const Activations& a) {
  double total = local(a, a.dims.hidden, 2.0 * a.dims.element_bytes);
  if (a.dims.sequence_parallel && a.dims.keeps_gathered_input) {
    total += gathered(a, a.dims.hidden, a.dims.element_bytes);
  }
  return a.options.logits_bytes ? total : total + gathered(a, a.dims.vocab, kFp32Bytes);
}

// Gradients alive at once: of the widest operation's output and input.
double widest_gradients(const Activations& a, std::int64_t layer) {
  const ShardDims& dims = a.dims;
  const bool moe = a.model.is_moe_layer(layer);
  const std::int64_t ffn = moe ? dims.expert_ffn : dims.ffn;
  // Around the activation, or around the up projection: experts are often narrower than the stream.
  const std::int64_t inner =
      std::max((dims.activation_inputs + 1) * ffn, dims.activation_inputs * ffn + dims.hidden);
  const double mlp = product(moe ? dims.expert_rows : dims.tokens, inner) * dims.element_bytes;
  double attention = gathered(
      a, (dims.heads + dims.groups) * (dims.head_dim_qk + dims.head_dim_v), dims.element_bytes);
  if (a.unfused()) {
    attention += 2.0 * dims.element_bytes *
                 product(dims.sequences, dims.heads, dims.query_length, dims.key_length);
  }
  return std::max(mlp, attention);
}

}  // namespace

Bytes layer_activation_bytes(const ModelSpec& model,
                             const ActivationOptions& options,
                             std::int64_t layer) {
  return bytes(kept_layer(activations(model, options), layer));
}

Bytes embedding_activation_bytes(const ModelSpec& model, const ActivationOptions& options) {
  const Activations a = activations(model, options);
  double total = 0.0;
  if (model.embedding_norm) {
    total += local(a, a.dims.hidden, a.dims.element_bytes);
  }
  if (a.dropout()) {
    total += local(a, a.dims.hidden, 1.0);
  }
  return bytes(total);
}

Bytes head_activation_bytes(const ModelSpec& model, const ActivationOptions& options) {
  const Activations a = activations(model, options);
  double total = main_head(a);
  if (model.mtp_layers > 0) {
    // Inputs of both norms, of the projection (both halves), then the layer and its own head.
    const double module = local(a, 2 * a.dims.hidden, a.dims.element_bytes) +
                          local(a, 2 * a.dims.hidden, a.dims.linear_input_bytes) +
                          kept_layer(a, model.num_layers) + main_head(a);
    total += product(model.mtp_layers) * module;
  }
  return bytes(total);
}

Bytes layer_working_bytes(const ModelSpec& model,
                          const ActivationOptions& options,
                          std::int64_t layer) {
  const Activations a = activations(model, options);
  double total = whole_layer(a, layer) - kept_layer(a, layer);  // what recomputation brings back
  total += widest_gradients(a, layer);
  total += local(a, 2 * a.dims.hidden, a.dims.element_bytes);  // residual stream's gradients
  if (a.dims.sequence_parallel) {
    total += gathered(a, a.dims.hidden, a.dims.element_bytes);  // gathered input
  }
  total += context_exchange(a);
  return bytes(total);
}

Bytes head_working_bytes(const ModelSpec& model, const ActivationOptions& options) {
  const Activations a = activations(model, options);
  const double per_logit =
      options.logits_bytes ? in_bytes(*options.logits_bytes) : a.dims.element_bytes;
  return bytes(gathered(a, a.dims.vocab, per_logit));
}

}  // namespace orrery::model
