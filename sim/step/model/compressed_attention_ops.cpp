// The attention block of DeepSeek-V4: queries through a latent, one head that is key and value, a
// window, and entries that stand for `ratio` tokens each. FLOP forward per token, a heads of width
// d, s tokens, window w, top_k = k of s / 4 entries:
//
//   projections   2 (h q_lora + q_lora a d + h d + a d o_rank + o_groups o_rank h)
//   core          4 a d (w + s / 128), or 4 a d (w + min(k, s / 4)): what the kernels execute
//   entries       4 h d (ratio 128), 8 h d (ratio 4, whose blocks overlap)
//   indexer       of ratio 4: sparse_attention_ops.cpp, with 8 h d_I for the keys of its entries
//
// Down projections, entries and indexer are not split over tensor ranks, as in latent attention.
// Hash routing of the first layers and attention sinks cost nothing that counts.
//
// Source: released configurations of DeepSeek-V4 Flash and Pro; NeMo Automodel's deepseek_v4
// layers; MaxText's calculate_deepseek4_tflops_training_per_device.

#include "sim/step/model/layer_blocks.hpp"

namespace orrery::model {

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

}  // namespace orrery::model
