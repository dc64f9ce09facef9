// Attention to chosen keys (DSA, DeepSeek-V3.2-Exp report): the indexer scores all keys before a
// query, which then sees the top_k best ones; the core works on the latents (core_dims). FLOP per
// token, H_I heads of width d_I, s keys, k' = k - k^2 / 2 s of them seen:
//
//   projections   2 q_lora H_I d_I + 2 h (d_I + H_I)
//   scores        H_I d_I s            the causal half, in the type of the linear layers
//   target        2 a (kv_lora + rope) k'    attention summed over the heads, which it is to match
//   backward      4 H_I d_I k'         over the chosen keys alone (sparse stage of the training)
//
// With compressed attention keys are the entries, s / 4 of them, that its own compression makes
// (8 h d_I in place of 2 h d_I), and the core is that of the model's heads.
//
// The choice reads the scores once in fp32 and writes k places. Absorbing the up projections into
// query and output costs what those did. The indexer is copied on all tensor ranks; context
// parallelism gathers all keys.
//
// Source: report eqs. 1 to 4; Megatron-Core d98e8a64, experimental_attention_variant/dsa.py.

#include <algorithm>

#include "sim/step/model/layer_blocks.hpp"
#include "sim/step/model/widths.hpp"

namespace orrery::model {

namespace {

constexpr double kPlaceBytes = 4.0;

LinearLayer index_query(const LayerContext& context) {
  const SparseAttentionSpec& indexer = *context.model.sparse_attention;
  const auto& compressed = context.model.compressed_attention;
  return {.part = Part::index_query,
          .tokens = context.dims.tokens,
          .outputs = indexer.heads * indexer.dim,
          .inputs = compressed ? compressed->q_lora_rank : context.model.mla->q_lora_rank};
}

LinearLayer index_key(const LayerContext& context) {
  const SparseAttentionSpec& indexer = *context.model.sparse_attention;
  const auto& compressed = context.model.compressed_attention;
  const std::int64_t keys = compressed ? compressed_columns(*compressed, indexer.dim) : indexer.dim;
  return {.part = Part::index_key,
          .tokens = context.dims.local_tokens,
          .outputs = keys + indexer.heads,
          .inputs = context.dims.hidden};
}

// Keys of the whole sequence, among which the indexer chooses.
std::int64_t all_keys(const LayerContext& context) {
  const auto& compressed = context.model.compressed_attention;
  return divide_rounding_up(context.dims.key_length, compressed ? compressed->ratio : 1);
}

std::int64_t seen_keys(const LayerContext& context) {
  const AttentionOp op{
      .key_length = all_keys(context),
      .window = std::min(context.model.sparse_attention->top_k, all_keys(context))};
  return std::max<std::int64_t>(static_cast<std::int64_t>(keys_in_window(op)), 1);
}

// One product per token: `width` channels of its heads with each of `keys`.
void add_scores(Pass& pass, const LayerContext& context, Part part, Role role, std::int64_t keys,
                std::int64_t width) {
  add_gemm(pass, {.part = part,
                  .role = role,
                  .m = context.dims.tokens,
                  .n = keys,
                  .k = width,
                  .dtype = part == Part::index_scores ? context.options.precision.compute
                                                      : context.activation(),
                  .scaling = context.options.precision.fp8_scaling});
}

}  // namespace

LayerContext core_context(const LayerContext& context) {
  LayerContext core = context;
  core.dims = core_dims(context.model, context.dims);
  const auto& indexer = context.model.sparse_attention;
  if (indexer && context.model.mla) {
    core.window = indexer->top_k < context.dims.key_length ? indexer->top_k : 0;
  }
  return core;
}

void index_forward(Pass& pass, const LayerContext& context) {
  if (!context.model.sparse_attention) {
    return;
  }
  const SparseAttentionSpec& indexer = *context.model.sparse_attention;
  const ShardDims core = core_dims(context.model, context.dims);
  const PrecisionSpec& precision = context.options.precision;
  const std::int64_t scored = divide_rounding_up(all_keys(context), 2);
  add_linear_forward(pass, index_query(context), precision);
  add_linear_forward(pass, index_key(context), precision);
  add_scores(pass, context, Part::index_scores, Role::fprop, scored, indexer.heads * indexer.dim);
  add_memory(pass, Part::index_top_k, product(context.dims.tokens, scored) * kFp32Bytes,
             product(context.dims.tokens, indexer.top_k) * kPlaceBytes);
  add_scores(pass, context, Part::index_target, Role::fprop, seen_keys(context),
             core.heads * core.head_dim_qk);
}

void index_backward(LayerPasses& passes, const LayerContext& context) {
  if (!context.model.sparse_attention) {
    return;
  }
  const SparseAttentionSpec& indexer = *context.model.sparse_attention;
  for (int operand = 0; operand < 2; ++operand) {  // gradients of queries and of keys
    add_scores(passes.backward_input, context, Part::index_scores, Role::dgrad, seen_keys(context),
               indexer.heads * indexer.dim);
  }
  add_linear_backward(passes, index_key(context), context.options.precision);
  add_linear_backward(passes, index_query(context), context.options.precision);
}

}  // namespace orrery::model
