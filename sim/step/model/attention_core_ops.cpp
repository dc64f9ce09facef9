// softmax(Q K^T) V as one fused kernel, or as two batched products with passes over the scores.

#include "sim/step/model/layer_blocks.hpp"

namespace orrery::model {

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

}  // namespace orrery::model
