// The attention block with multi-head or grouped-query attention: norm, QKV, rotary embedding,
// core, output projection, residual.

#include "sim/step/model/layer_blocks.hpp"
#include "sim/step/model/precision.hpp"

namespace orrery::model {

namespace {

// Heads whose output has a gate, which is projected beside queries, keys and values.
std::int64_t gate_heads(const LayerContext& context) {
  return context.model.output_gate ? context.dims.heads : 0;
}

LinearLayer qkv_linear(const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const std::int64_t value_groups = context.model.shared_key_value ? 0 : dims.groups;
  return {.part = Part::qkv,
          .tokens = dims.tokens,
          .outputs = (dims.heads + dims.groups) * dims.head_dim_qk +
                     (value_groups + gate_heads(context)) * dims.head_dim_v,
          .inputs = dims.hidden,
          .bias = context.model.linear_bias || context.model.qkv_bias,
          .input_casters = context.casters()};
}

LinearLayer output_linear(const LayerContext& context) {
  const ShardDims& dims = context.dims;
  return {.part = Part::attention_output,
          .tokens = dims.tokens,
          .outputs = dims.hidden,
          .inputs = dims.heads * dims.head_dim_v,
          .bias = context.model.linear_bias,
          .gradient_casters = context.casters()};
}

double gate_bytes(const LayerContext& context) {
  const ShardDims& dims = context.dims;
  return product(dims.tokens, gate_heads(context), dims.head_dim_v) * dims.element_bytes;
}

// The rotation of queries and keys, forward or backward: both are read and written once.
void add_rotary(Pass& pass, PassPart part, const LayerContext& context) {
  if (context.model.position == PositionEmbedding::rotary) {
    const ShardDims& dims = context.dims;
    const double size =
        product(dims.tokens, dims.heads + dims.groups, dims.head_dim_qk) * dims.element_bytes;
    add_memory(pass, part, size, size, 2);
  }
}

}  // namespace

void keep_attention_output(Pass& pass, const LayerContext& context) {
  if (const auto& kept = context.options.precision.kept_attention_output) {
    const ShardDims& dims = context.dims;
    const double elements = product(dims.tokens, dims.heads, dims.head_dim_v);
    add_memory(pass, Part::attention_output_keep, elements * dims.element_bytes,
               elements * in_bytes(*kept));
  }
}

// In 16 bits for the core, and in the type of the products for the weight gradient.
void restore_attention_output(Pass& pass, const LayerContext& context) {
  if (const auto& kept = context.options.precision.kept_attention_output) {
    const ShardDims& dims = context.dims;
    const double elements = product(dims.tokens, dims.heads, dims.head_dim_v);
    const double written =
        dims.element_bytes + (dims.low_precision ? dims.linear_input_bytes : 0.0);
    add_memory(pass, backward(Part::attention_output_keep), elements * in_bytes(*kept),
               elements * written);
  }
}

void attention_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  add_norm_forward(pass, Part::attention_norm, dims, dims.hidden);
  begin_tensor_forward(pass, dims, dims.hidden, context.gathered());
  add_linear_forward(pass, qkv_linear(context), precision);
  add_rotary(pass, Part::rotary, context);
  context_exchange_forward(pass, context);
  keep_attention_output(pass, context);
  if (const double gate = gate_bytes(context); gate > 0.0) {
    add_memory(pass, Part::attention_gate, 2.0 * gate, gate);
  }
  add_linear_forward(pass, output_linear(context), precision);
  end_tensor_forward(pass, dims, dims.hidden, context.activation());
  add_residual_forward(pass, dims, context.options.dropout);
}

void attention_backward(LayerPasses& passes, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  Pass& input = passes.backward_input;
  add_residual_backward(input, dims, context.options.dropout);
  end_tensor_backward(input, dims, dims.hidden, context.gathered());
  add_linear_backward(passes, output_linear(context), precision);
  restore_attention_output(input, context);
  if (const double gate = gate_bytes(context); gate > 0.0) {
    add_memory(input, backward(Part::attention_gate), 3.0 * gate, 2.0 * gate);
  }
  context_exchange_backward(input, context);
  add_rotary(input, backward(Part::rotary), context);
  gather_input_again(input, dims, dims.hidden, context.gathered());
  add_linear_backward(passes, qkv_linear(context), precision);
  begin_tensor_backward(input, dims, dims.hidden, context.activation());
  add_norm_backward(input, Part::attention_norm, dims, dims.hidden);
}

// softmax(Q K^T) V as one fused kernel, or as two batched products with passes over the scores.

namespace {

// Scale, mask, softmax and dropout as separate launches where a stack's traffic is given as a
// whole.
constexpr int kScoreKernels = 4;
// With Megatron's fused softmax: the kernel and dropout; without it two casts, scale and mask more,
// and one zeroing in the backward.
constexpr int kFusedScoreKernels = 2;
constexpr int kFallbackForwardKernels = 6;
constexpr int kFallbackBackwardKernels = 7;

struct ScoreTraffic {
  double passes = 0.0;  // over the 2-byte scores, forward
  int forward_kernels = kScoreKernels;
  int backward_kernels = kScoreKernels;
};

// `passes`: those of the stack's usual kernel.
ScoreTraffic score_traffic(const LayerContext& context, double passes) {
  const auto& fallback = context.options.softmax_fallback_passes;
  if (!fallback) {
    return {.passes = passes};
  }
  const ShardDims& dims = context.dims;
  if (fused_softmax_fits(dims.query_length, dims.key_length, dims.sequences * dims.heads)) {
    return {passes, kFusedScoreKernels, kFusedScoreKernels};
  }
  return {passes + *fallback, kFallbackForwardKernels, kFallbackBackwardKernels};
}

double score_elements(const ShardDims& dims) {
  return product(dims.sequences, dims.heads, dims.query_length, dims.key_length);
}

// Bytes of all keys and values with `heads` heads each.
double key_value_bytes(const ShardDims& dims, std::int64_t heads) {
  return product(dims.sequences, dims.key_length, heads, dims.head_dim_qk + dims.head_dim_v) *
         dims.element_bytes;
}

// Rows that attend to the last of c slices of the sequence see it all: (2c - 1) / c times the mean.
// Within a window all slices but the first see as much.
double slowest_share(const LayerContext& context) {
  const ShardContext& shard = context.options.shard;
  const bool whole = context.context_method() == ContextMethod::all_to_all;
  if (shard.context == 1 || whole || shard.context_balanced || !context.model.causal ||
      context.window > 0) {
    return 1.0;
  }
  return product(2 * shard.context - 1) / product(shard.context);
}

AttentionOp fused_attention(const LayerContext& context, bool backward) {
  const ShardDims& dims = context.dims;
  const ShardContext& shard = context.options.shard;
  return {.sequences = dims.sequences,
          .heads = dims.heads,
          .query_groups = dims.groups,
          .query_length = dims.query_length,
          .key_length = dims.key_length,
          .head_dim_qk = dims.head_dim_qk,
          .head_dim_v = dims.head_dim_v,
          .window = context.window,
          .causal = context.model.causal,
          .backward = backward,
          .deterministic = context.options.precision.deterministic,
          .dropout = context.options.dropout,
          .dtype = context.options.attention_fp8 ? Dtype::fp8 : context.activation(),
          .key_blocks = context.context_method() == ContextMethod::ring ? shard.context : 1,
          .across_ranks = shard.context > 1,
          .imbalance = slowest_share(context)};
}

// One product per sequence and head: m x k times k x n.
GemmOp batched_product(const LayerContext& context, Part part, Role role, std::int64_t m,
                       std::int64_t n, std::int64_t k) {
  return {.part = part,
          .role = role,
          .m = m,
          .n = n,
          .k = k,
          .batch = context.dims.sequences * context.dims.heads,
          .dtype = context.activation()};
}

void unfused_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const double scores = score_elements(dims);
  const double size = scores * dims.element_bytes;
  if (dims.groups < dims.heads) {
    add_memory(pass, Part::key_value_repeat, key_value_bytes(dims, dims.groups),
               key_value_bytes(dims, dims.heads));
  }
  add_gemm(pass, batched_product(context, Part::attention_scores, Role::fprop, dims.query_length,
                                 dims.key_length, dims.head_dim_qk));
  if (const auto passes = context.options.score_passes) {
    const ScoreTraffic traffic = score_traffic(context, *passes);
    const double half = 0.5 * traffic.passes * size;
    add_memory(pass, Part::softmax, half, half, traffic.forward_kernels);
  } else {
    add_memory(pass, Part::softmax, size, size);  // scale, mask and softmax in one kernel
    if (context.options.dropout) {
      add_memory(pass, Part::attention_dropout, size, size + scores);
    }
  }
  add_gemm(pass, batched_product(context, Part::attention_context, Role::fprop, dims.query_length,
                                 dims.head_dim_v, dims.key_length));
}

void unfused_backward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const double scores = score_elements(dims);
  const double size = scores * dims.element_bytes;
  const std::int64_t queries = dims.query_length;
  const std::int64_t keys = dims.key_length;
  const auto add = [&](Part part, std::int64_t m, std::int64_t n, std::int64_t k) {
    add_gemm(pass, batched_product(context, part, Role::dgrad, m, n, k));
  };
  add(Part::attention_context, queries, keys, dims.head_dim_v);  // dP = dO V^T
  add(Part::attention_context, keys, dims.head_dim_v, queries);  // dV = P^T dO
  if (const auto passes = context.options.score_passes) {
    const ScoreTraffic traffic = score_traffic(context, *passes);
    const double half = 0.5 * context.options.backward_passes * traffic.passes * size;
    add_memory(pass, backward(Part::softmax), half, half, traffic.backward_kernels);
  } else {
    if (context.options.dropout) {
      add_memory(pass, backward(Part::attention_dropout), size + scores, size);
    }
    add_memory(pass, backward(Part::softmax), 2.0 * size, size);
  }
  add(Part::attention_scores, queries, dims.head_dim_qk, keys);  // dQ = dS K
  add(Part::attention_scores, keys, dims.head_dim_qk, queries);  // dK = dS^T Q
  if (dims.groups < dims.heads) {
    add_memory(pass, backward(Part::key_value_repeat), key_value_bytes(dims, dims.heads),
               key_value_bytes(dims, dims.groups));
  }
}

// The core of one rank: with an all-to-all exchange it holds every token of its share of the heads.
LayerContext core_of(const LayerContext& context) {
  LayerContext core = context;
  ShardDims& dims = core.dims;
  if (dims.context > 1 && context.context_method() == ContextMethod::all_to_all) {
    dims.heads = divide_rounding_up(dims.heads, dims.context);
    dims.groups = divide_rounding_up(dims.groups, dims.context);
    dims.query_length = dims.key_length;
  }
  return core;
}

}  // namespace

void attention_core_forward(Pass& pass, const LayerContext& context) {
  if (context.options.attention == AttentionKernel::fused) {
    pass.push_back({.op = fused_attention(core_of(context), false)});
  } else {
    unfused_forward(pass, core_of(context));
  }
}

void attention_core_backward(Pass& pass, const LayerContext& context) {
  if (context.options.attention == AttentionKernel::fused) {
    pass.push_back({.op = fused_attention(core_of(context), true)});
  } else {
    unfused_backward(pass, core_of(context));
  }
}

// What the ranks of a context group exchange around the attention core: keys and values gathered,
// passed round a ring, or all heads exchanged for all tokens.

namespace {

// Keys and values of the whole sequence: each rank contributes its slice.
CollectiveShape key_value_collective(const LayerContext& context, PassPart part,
                                     CollectiveKind kind, Beside beside) {
  const ShardDims& dims = context.dims;
  return {.part = part,
          .kind = kind,
          .axis = CommAxis::context,
          .elements_total =
              product(dims.context, dims.tokens, dims.groups, dims.head_dim_qk + dims.head_dim_v),
          .ranks = dims.context,
          .dtype = context.activation(),
          .beside = beside};
}

// Every rank sends each other rank its tokens of that rank's heads. Fewer key and value heads than
// ranks: they are copied, so that each rank gets one.
CollectiveShape heads_for_tokens(const LayerContext& context, PassPart part,
                                 std::int64_t query_width, std::int64_t key_value_width) {
  const ShardDims& dims = context.dims;
  const std::int64_t groups = divide_rounding_up(dims.groups, dims.context) * dims.context;
  return {.part = part,
          .kind = CollectiveKind::all_to_all,
          .axis = CommAxis::context,
          .elements_total = product(dims.context, dims.tokens) *
                            product(dims.heads * query_width + groups * key_value_width),
          .ranks = dims.context,
          .dtype = context.activation()};
}

// Partial outputs of the c blocks are summed in fp32: each but the first reads and rescales the sum
// so far. A balanced causal mask leaves half of the rows, or of the keys, out of each.
void add_merge(Pass& pass, PassPart part, const LayerContext& context, double tensors) {
  const ShardDims& dims = context.dims;
  const double merges = product(dims.context - 1);
  const double elements = tensors * merges * product(dims.tokens, dims.heads, dims.head_dim_v);
  if (merges > 0.0) {
    add_memory(pass, part, elements * (dims.element_bytes + kFp32Bytes), elements * kFp32Bytes,
               static_cast<int>(dims.context - 1));
  }
}

}  // namespace

void context_exchange_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  switch (context.context_method()) {
    case ContextMethod::all_gather:
      add_collective(pass, key_value_collective(context, Part::context_all_gather,
                                                CollectiveKind::all_gather, Beside::nothing));
      attention_core_forward(pass, context);
      return;
    case ContextMethod::ring:
      add_collective(pass,
                     key_value_collective(context, Part::context_ring, CollectiveKind::all_gather,
                                          Beside::next_attention));
      attention_core_forward(pass, context);
      add_merge(pass, Part::context_merge, context, 1.0);
      return;
    case ContextMethod::all_to_all:
      add_collective(pass, heads_for_tokens(context, Part::context_heads, dims.head_dim_qk,
                                            dims.head_dim_qk + dims.head_dim_v));
      attention_core_forward(pass, context);
      add_collective(pass, heads_for_tokens(context, Part::context_tokens, dims.head_dim_v, 0));
      return;
  }
}

void context_exchange_backward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  switch (context.context_method()) {
    case ContextMethod::all_gather:
      add_collective(pass, key_value_collective(context, backward(Part::context_all_gather),
                                                CollectiveKind::all_gather, Beside::nothing));
      attention_core_backward(pass, context);
      add_collective(pass, key_value_collective(context, Part::context_reduce_scatter,
                                                CollectiveKind::reduce_scatter, Beside::nothing));
      return;
    case ContextMethod::ring:
      add_collective(pass,
                     key_value_collective(context, backward(Part::context_ring),
                                          CollectiveKind::all_gather, Beside::next_attention));
      attention_core_backward(pass, context);
      add_collective(
          pass, key_value_collective(context, Part::context_ring_gradients,
                                     CollectiveKind::reduce_scatter, Beside::previous_attention));
      add_merge(pass, backward(Part::context_merge), context, 1.0);
      return;
    case ContextMethod::all_to_all:
      add_collective(pass, heads_for_tokens(context, Part::context_heads, dims.head_dim_v, 0));
      attention_core_backward(pass, context);
      add_collective(pass, heads_for_tokens(context, Part::context_tokens, dims.head_dim_qk,
                                            dims.head_dim_qk + dims.head_dim_v));
      return;
  }
}

}  // namespace orrery::model
