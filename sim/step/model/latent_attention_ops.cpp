// The attention block with multi-head latent attention (DeepSeek-V2, arXiv 2405.04434,
// section 2.1): queries and keys/values pass through latents of rank q_lora and kv_lora; one rotary
// key is shared by all heads.
//
// The down projections are not split over tensor ranks: with sequence parallelism each rank
// projects its own tokens and the latents (not h) are gathered; without it every rank repeats them.

#include <algorithm>

#include "sim/step/model/layer_blocks.hpp"
#include "sim/step/model/precision.hpp"

namespace orrery::model {

namespace {

bool has_query_latent(const LayerContext& context) { return context.model.mla->q_lora_rank > 0; }

LinearLayer query_down(const LayerContext& context) {
  return {.part = Part::query_down,
          .tokens = context.dims.local_tokens,
          .outputs = context.model.mla->q_lora_rank,
          .inputs = context.dims.hidden};
}

// From the latent, or from h when there is none.
LinearLayer query_up(const LayerContext& context) {
  const ShardDims& dims = context.dims;
  return {.part = has_query_latent(context) ? Part::query_up : Part::query,
          .tokens = dims.tokens,
          .outputs = dims.heads * dims.head_dim_qk,
          .inputs = has_query_latent(context) ? context.model.mla->q_lora_rank : dims.hidden};
}

LinearLayer key_value_down(const LayerContext& context) {
  const MlaSpec& mla = *context.model.mla;
  return {.part = Part::key_value_down,
          .tokens = context.dims.local_tokens,
          .outputs = mla.kv_lora_rank + mla.qk_rope_head_dim,
          .inputs = context.dims.hidden};
}

LinearLayer key_value_up(const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const MlaSpec& mla = *context.model.mla;
  return {.part = Part::key_value_up,
          .tokens = dims.tokens,
          .outputs = dims.heads * (mla.qk_nope_head_dim + mla.v_head_dim),
          .inputs = mla.kv_lora_rank};
}

LinearLayer latent_output_linear(const LayerContext& context) {
  const ShardDims& dims = context.dims;
  return {.part = Part::attention_output,
          .tokens = dims.tokens,
          .outputs = dims.hidden,
          .inputs = dims.heads * dims.head_dim_v,
          .gradient_casters = context.casters()};
}

// Elements per token that cross the border of the tensor-parallel region.
std::int64_t latent_width(const LayerContext& context) {
  const MlaSpec& mla = *context.model.mla;
  const std::int64_t query = has_query_latent(context) ? mla.q_lora_rank : context.dims.hidden;
  const auto& indexer = context.model.sparse_attention;
  return query + mla.kv_lora_rank + mla.qk_rope_head_dim +
         (indexer ? indexer->dim + indexer->heads : 0);
}

// Rotation of the rotary parts, and the keys put together from their own and the shared part.
void add_rotary(Pass& pass, PassPart rotary, PassPart concat, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const MlaSpec& mla = *context.model.mla;
  const double rotated =
      product(dims.tokens, dims.heads + 1, mla.qk_rope_head_dim) * dims.element_bytes;
  add_memory(pass, rotary, rotated, rotated, 2);
  const double keys = product(dims.tokens, dims.heads, dims.head_dim_qk) * dims.element_bytes;
  const double parts = (product(dims.tokens, dims.heads, mla.qk_nope_head_dim) +
                        product(dims.tokens, mla.qk_rope_head_dim)) *
                       dims.element_bytes;
  add_memory(pass, concat, parts, keys);
}

}  // namespace

void latent_norms_forward(Pass& pass, const LayerContext& context) {
  if (has_query_latent(context)) {
    add_norm_forward(pass, Part::query_norm, context.dims, context.model.mla->q_lora_rank);
  }
  add_norm_forward(pass, Part::key_value_norm, context.dims, context.model.mla->kv_lora_rank);
}

void latent_up_forward(Pass& pass, const LayerContext& context) {
  const PrecisionSpec& precision = context.options.precision;
  begin_tensor_forward(pass, context.dims, latent_width(context), context.activation());
  add_linear_forward(pass, query_up(context), precision);
  add_linear_forward(pass, key_value_up(context), precision);
  add_rotary(pass, Part::rotary, Part::key_concat, context);
}

void latent_attention_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  add_norm_forward(pass, Part::attention_norm, dims, dims.hidden);
  if (has_query_latent(context)) {
    add_linear_forward(pass, query_down(context), precision);
  }
  add_linear_forward(pass, key_value_down(context), precision);
  latent_norms_forward(pass, context);
  latent_up_forward(pass, context);
  index_forward(pass, context);
  context_exchange_forward(pass, core_context(context));
  keep_attention_output(pass, context);
  add_linear_forward(pass, latent_output_linear(context), precision);
  end_tensor_forward(pass, dims, dims.hidden, context.activation());
  add_residual_forward(pass, dims, context.options.dropout);
}

void latent_attention_backward(LayerPasses& passes, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  Pass& input = passes.backward_input;
  add_residual_backward(input, dims, context.options.dropout);
  end_tensor_backward(input, dims, dims.hidden, context.gathered());
  add_linear_backward(passes, latent_output_linear(context), precision);
  restore_attention_output(input, context);
  context_exchange_backward(input, core_context(context));
  index_backward(passes, context);
  add_rotary(input, backward(Part::rotary), backward(Part::key_concat), context);
  gather_input_again(input, dims, latent_width(context), context.activation());
  add_linear_backward(passes, key_value_up(context), precision);
  add_linear_backward(passes, query_up(context), precision);
  begin_tensor_backward(input, dims, latent_width(context), context.activation());
  add_norm_backward(input, Part::key_value_norm, dims, context.model.mla->kv_lora_rank);
  add_linear_backward(passes, key_value_down(context), precision);
  if (has_query_latent(context)) {
    add_norm_backward(input, Part::query_norm, dims, context.model.mla->q_lora_rank);
    add_linear_backward(passes, query_down(context), precision);
  }
  add_norm_backward(input, Part::attention_norm, dims, dims.hidden);
}

// The attention block of DeepSeek-V4: queries through a latent, one head that is key and value, a
// window, and entries that stand for `ratio` tokens each. FLOP forward per token, a heads of width
// d, s tokens, window w, top_k = k of s / 4 entries:
//
//   projections   2 (h q_lora + q_lora a d + h d + a d o_rank + o_groups o_rank h)
//   core          4 a d (w + s / 128), or 4 a d (w + min(k, s / 4)): what the kernels execute
//   entries       4 h d (ratio 128), 8 h d (ratio 4, whose blocks overlap)
//   indexer       of ratio 4: latent_attention_ops.cpp, with 8 h d_I for the keys of its entries
//
// Down projections, entries and indexer are not split over tensor ranks, as in latent attention.
// Hash routing of the first layers and attention sinks cost nothing that counts.
//
// Source: released configurations of DeepSeek-V4 Flash and Pro; NeMo Automodel's deepseek_v4
// layers; MaxText's calculate_deepseek4_tflops_training_per_device.

namespace {

const CompressedAttentionSpec& spec_of(const LayerContext& context) {
  return *context.model.compressed_attention;
}

LinearLayer query_latent(const LayerContext& context) {
  return {.part = Part::query_down,
          .tokens = context.dims.local_tokens,
          .outputs = spec_of(context).q_lora_rank,
          .inputs = context.dims.hidden};
}

LinearLayer queries_of_latent(const LayerContext& context) {
  return {.part = Part::query_up,
          .tokens = context.dims.tokens,
          .outputs = context.dims.heads * context.dims.head_dim_qk,
          .inputs = spec_of(context).q_lora_rank};
}

LinearLayer shared_key(const LayerContext& context) {
  return {.part = Part::key_value_down,
          .tokens = context.dims.local_tokens,
          .outputs = context.dims.head_dim_qk,
          .inputs = context.dims.hidden};
}

// Channels of the entries and as many weights of the mean.
LinearLayer entry_columns(const LayerContext& context) {
  return {.part = Part::key_value_compress,
          .tokens = context.dims.local_tokens,
          .outputs = compressed_columns(spec_of(context), context.dims.head_dim_qk),
          .inputs = context.dims.hidden};
}

// Each group of heads has a product of its own.
LinearLayer output_down(const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const std::int64_t groups = divide_rounding_up(spec_of(context).output_groups, dims.tensor);
  return {.part = Part::attention_output_down,
          .tokens = dims.tokens,
          .outputs = spec_of(context).output_rank,
          .inputs = divide_rounding_up(dims.heads * dims.head_dim_v, groups),
          .batch = groups};
}

LinearLayer output_up(const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const CompressedAttentionSpec& spec = spec_of(context);
  return {.part = Part::attention_output,
          .tokens = dims.tokens,
          .outputs = dims.hidden,
          .inputs = divide_rounding_up(spec.output_groups, dims.tensor) * spec.output_rank,
          .gradient_casters = context.casters()};
}

// Elements per token that cross the border of the tensor-parallel region: latent, key and entries.
std::int64_t gathered_width(const LayerContext& context) {
  const CompressedAttentionSpec& spec = spec_of(context);
  const auto& indexer = context.model.sparse_attention;
  const std::int64_t pooled = context.dims.head_dim_qk + (indexer ? indexer->dim : 0);
  return spec.q_lora_rank + context.dims.head_dim_qk + (indexer ? indexer->heads : 0) +
         (spec.ratio > 0 ? divide_rounding_up(pooled, spec.ratio) : 0);
}

void rotate_heads(Pass& pass, PassPart part, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const double size = product(dims.tokens, dims.heads + 1, dims.head_dim_qk) * dims.element_bytes;
  add_memory(pass, part, size, size, 2);
}

// The weighted means of `ratio` tokens each.
void add_pool(Pass& pass, bool backward_pass, const LayerContext& context) {
  const LinearLayer columns = entry_columns(context);
  if (columns.outputs > 0) {
    const double size =
        product(context.dims.local_tokens, columns.outputs) * context.dims.element_bytes;
    const double entries = size / product(2, spec_of(context).ratio);
    backward_pass ? add_memory(pass, backward(Part::key_value_pool), size + entries, size)
                  : add_memory(pass, Part::key_value_pool, size, entries);
  }
}

}  // namespace

void compressed_up_forward(Pass& pass, const LayerContext& context) {
  add_norm_forward(pass, Part::query_norm, context.dims, spec_of(context).q_lora_rank);
  add_norm_forward(pass, Part::key_value_norm, context.dims, context.dims.head_dim_qk);
  begin_tensor_forward(pass, context.dims, gathered_width(context), context.activation());
  add_linear_forward(pass, queries_of_latent(context), context.options.precision);
  rotate_heads(pass, Part::rotary, context);
}

void compressed_attention_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  add_norm_forward(pass, Part::attention_norm, dims, dims.hidden);
  add_linear_forward(pass, query_latent(context), precision);
  add_linear_forward(pass, shared_key(context), precision);
  if (spec_of(context).ratio > 0) {
    add_linear_forward(pass, entry_columns(context), precision);
    add_pool(pass, false, context);
  }
  compressed_up_forward(pass, context);
  index_forward(pass, context);
  attention_core_forward(pass, context);
  keep_attention_output(pass, context);
  add_linear_forward(pass, output_down(context), precision);
  add_linear_forward(pass, output_up(context), precision);
  end_tensor_forward(pass, dims, dims.hidden, context.activation());
  add_residual_forward(pass, dims, context.options.dropout);
}

void compressed_attention_backward(LayerPasses& passes, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  Pass& input = passes.backward_input;
  add_residual_backward(input, dims, context.options.dropout);
  end_tensor_backward(input, dims, dims.hidden, context.gathered());
  add_linear_backward(passes, output_up(context), precision);
  add_linear_backward(passes, output_down(context), precision);
  restore_attention_output(input, context);
  attention_core_backward(input, context);
  index_backward(passes, context);
  rotate_heads(input, backward(Part::rotary), context);
  gather_input_again(input, dims, gathered_width(context), context.activation());
  add_linear_backward(passes, queries_of_latent(context), precision);
  begin_tensor_backward(input, dims, gathered_width(context), context.activation());
  if (spec_of(context).ratio > 0) {
    add_pool(input, true, context);
    add_linear_backward(passes, entry_columns(context), precision);
  }
  add_norm_backward(input, Part::key_value_norm, dims, dims.head_dim_qk);
  add_linear_backward(passes, shared_key(context), precision);
  add_norm_backward(input, Part::query_norm, dims, spec_of(context).q_lora_rank);
  add_linear_backward(passes, query_latent(context), precision);
  add_norm_backward(input, Part::attention_norm, dims, dims.hidden);
}

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
