// The attention block with multi-head latent attention (DeepSeek-V2, arXiv 2405.04434,
// section 2.1): queries and keys/values pass through latents of rank q_lora and kv_lora; one rotary
// key is shared by all heads.
//
// The down projections are not split over tensor ranks: with sequence parallelism each rank
// projects its own tokens and the latents (not h) are gathered; without it every rank repeats them.

#include "sim/step/model/layer_blocks.hpp"

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

}  // namespace orrery::model
