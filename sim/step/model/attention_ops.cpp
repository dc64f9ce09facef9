// The attention block with multi-head or grouped-query attention: norm, QKV, rotary embedding,
// core, output projection, residual.

#include "sim/step/model/layer_blocks.hpp"

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

}  // namespace orrery::model
