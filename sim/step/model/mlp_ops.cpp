// The dense MLP block: norm, up projection (gate and up together), activation, down projection,
// residual.

#include "sim/step/model/layer_blocks.hpp"

namespace orrery::model {

LinearLayer mlp_up(const LayerContext& context, Part part, std::int64_t width) {
  const ShardDims& dims = context.dims;
  return {.part = part,
          .tokens = dims.tokens,
          .outputs = dims.activation_inputs * width,
          .inputs = dims.hidden,
          .bias = context.model.linear_bias,
          .input_casters = context.casters()};
}

LinearLayer mlp_down(const LayerContext& context, Part part, std::int64_t width) {
  const ShardDims& dims = context.dims;
  return {.part = part,
          .tokens = dims.tokens,
          .outputs = dims.hidden,
          .inputs = width,
          .bias = context.model.linear_bias,
          .gradient_casters = context.casters()};
}

// One kernel reads the inputs, writes the result and, where they are kept in another type, a copy.
void activation_forward(Pass& pass, const ShardDims& dims, double rows, std::int64_t width,
                        const std::optional<Bytes>& kept) {
  const double elements = rows * product(width);
  const double size = elements * dims.element_bytes;
  const double inputs = product(dims.activation_inputs);
  const double copy = kept ? inputs * elements * in_bytes(*kept) : 0.0;
  add_memory(pass, Part::activation, inputs * size, size + copy);
}

// Reads the inputs and the output's gradient, writes the inputs' gradients.
void activation_backward(Pass& pass, const ShardDims& dims, double rows, std::int64_t width,
                         const std::optional<Bytes>& kept) {
  const double elements = rows * product(width);
  const double size = elements * dims.element_bytes;
  const double inputs = product(dims.activation_inputs);
  const double read = inputs * elements * (kept ? in_bytes(*kept) : dims.element_bytes);
  add_memory(pass, backward(Part::activation), read + size, inputs * size);
}

void activation_again(Pass& pass, const ShardDims& dims, double rows, std::int64_t width,
                      const std::optional<Bytes>& kept) {
  const double elements = rows * product(width);
  const double input = kept ? in_bytes(*kept) : dims.element_bytes;
  add_memory(pass, Part::activation, product(dims.activation_inputs) * elements * input,
             elements * dims.element_bytes);
}

void dense_mlp_inner_forward(Pass& pass, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  begin_tensor_forward(pass, dims, dims.hidden, context.gathered());
  add_linear_forward(pass, mlp_up(context, Part::mlp_up, dims.ffn), precision);
  activation_forward(pass, dims, product(dims.tokens), dims.ffn);
  add_linear_forward(pass, mlp_down(context, Part::mlp_down, dims.ffn), precision);
  end_tensor_forward(pass, dims, dims.hidden, context.activation());
}

void dense_mlp_forward(Pass& pass, const LayerContext& context) {
  add_norm_forward(pass, Part::mlp_norm, context.dims, context.dims.hidden);
  dense_mlp_inner_forward(pass, context);
  add_residual_forward(pass, context.dims, context.options.dropout);
}

void dense_mlp_backward(LayerPasses& passes, const LayerContext& context) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  Pass& input = passes.backward_input;
  add_residual_backward(input, dims, context.options.dropout);
  end_tensor_backward(input, dims, dims.hidden, context.gathered());
  add_linear_backward(passes, mlp_down(context, Part::mlp_down, dims.ffn), precision);
  activation_backward(input, dims, product(dims.tokens), dims.ffn);
  gather_input_again(input, dims, dims.hidden, context.gathered());
  add_linear_backward(passes, mlp_up(context, Part::mlp_up, dims.ffn), precision);
  begin_tensor_backward(input, dims, dims.hidden, context.activation());
  add_norm_backward(input, Part::mlp_norm, dims, dims.hidden);
}

}  // namespace orrery::model
