// The block of a linear mixer: norm, input projection, convolution, scan, gate, output projection,
// residual (recurrence.hpp).

#include "sim/step/model/layer_blocks.hpp"
#include "sim/step/model/recurrence.hpp"

namespace orrery::model {

namespace {

LinearLayer mixer_in(const LayerContext& context, const MixerDims& mixer) {
  return {.part = Part::mixer_in,
          .tokens = context.dims.tokens,
          .outputs = mixer.projected,
          .inputs = context.dims.hidden,
          .input_casters = context.casters()};
}

LinearLayer mixer_out(const LayerContext& context, const MixerDims& mixer) {
  return {.part = Part::mixer_out,
          .tokens = context.dims.tokens,
          .outputs = context.dims.hidden,
          .inputs = mixer.inner,
          .gradient_casters = context.casters()};
}

// Decay of every channel and output gate through R numbers of a token.
LinearLayer low_rank_down(const LayerContext& context, const MixerDims& mixer) {
  return {.part = Part::mixer_low_rank_down,
          .tokens = context.dims.tokens,
          .outputs = 2 * mixer.low_rank,
          .inputs = context.dims.hidden};
}

LinearLayer low_rank_up(const LayerContext& context, const MixerDims& mixer) {
  return {.part = Part::mixer_low_rank_up,
          .tokens = context.dims.tokens,
          .outputs = mixer.keys + mixer.inner,
          .inputs = mixer.low_rank};
}

// All tokens of heads / c heads, instead of tokens / c of all heads. Keys of fewer heads than ranks
// are copied, so that each rank has one.
void exchange(Pass& pass, Part part, const LayerContext& context, const MixerDims& mixer,
              bool projected) {
  const ShardDims& dims = context.dims;
  const std::int64_t copies =
      divide_rounding_up(mixer.key_heads, dims.context) * dims.context - mixer.key_heads;
  const std::int64_t width = projected ? mixer.projected + 2 * copies * mixer.key_dim : mixer.inner;
  add_collective(pass, {.part = part,
                        .kind = CollectiveKind::all_to_all,
                        .axis = CommAxis::context,
                        .elements_total = product(dims.context, dims.tokens, width),
                        .ranks = dims.context,
                        .dtype = context.activation()});
}

void add_scan(Pass& pass, const LayerContext& context, const MixerDims& mixer, bool backward) {
  const ShardDims& dims = context.dims;
  pass.push_back({.op = ScanOp{.kind = mixer.scan,
                               .sequences = dims.sequences,
                               .length = dims.query_length * dims.context,
                               .heads = divide_rounding_up(mixer.heads, dims.context),
                               .key_heads = divide_rounding_up(mixer.key_heads, dims.context),
                               .key_dim = mixer.key_dim,
                               .value_dim = mixer.value_dim,
                               .chunk = mixer.chunk,
                               .backward = backward}});
}

double bytes_of(const LayerContext& context, std::int64_t width) {
  return product(context.dims.tokens, width) * context.dims.element_bytes;
}

}  // namespace

void recurrent_forward(Pass& pass, const LayerContext& context, const LayerKind& kind) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  const MixerDims mixer = mixer_dims(context.model, *kind.recurrence, dims.tensor);
  if (!kind.attention) {  // else both work on the output of one norm
    add_norm_forward(pass, Part::mixer_norm, dims, dims.hidden);
  }
  begin_tensor_forward(pass, dims, dims.hidden, context.gathered());
  add_linear_forward(pass, mixer_in(context, mixer), precision);
  if (mixer.low_rank > 0) {
    add_linear_forward(pass, low_rank_down(context, mixer), precision);
    add_linear_forward(pass, low_rank_up(context, mixer), precision);
  }
  exchange(pass, Part::context_heads, context, mixer, true);
  if (mixer.convolved > 0) {
    const double size = bytes_of(context, mixer.convolved);
    add_memory(pass, Part::mixer_convolution, size, size);
  }
  add_scan(pass, context, mixer, false);
  exchange(pass, Part::context_tokens, context, mixer, false);
  const double result = bytes_of(context, mixer.inner);
  add_memory(pass, Part::mixer_gate, 2.0 * result, result);
  add_linear_forward(pass, mixer_out(context, mixer), precision);
  end_tensor_forward(pass, dims, dims.hidden, context.activation());
  add_residual_forward(pass, dims, context.options.dropout);
}

void recurrent_backward(LayerPasses& passes, const LayerContext& context, const LayerKind& kind) {
  const ShardDims& dims = context.dims;
  const PrecisionSpec& precision = context.options.precision;
  const MixerDims mixer = mixer_dims(context.model, *kind.recurrence, dims.tensor);
  Pass& input = passes.backward_input;
  add_residual_backward(input, dims, context.options.dropout);
  end_tensor_backward(input, dims, dims.hidden, context.gathered());
  add_linear_backward(passes, mixer_out(context, mixer), precision);
  const double result = bytes_of(context, mixer.inner);
  add_memory(input, backward(Part::mixer_gate), 3.0 * result, 2.0 * result);
  exchange(input, Part::context_heads, context, mixer, false);
  add_scan(input, context, mixer, true);
  if (mixer.convolved > 0) {
    const double size = bytes_of(context, mixer.convolved);
    add_memory(input, backward(Part::mixer_convolution), 2.0 * size, size);
  }
  exchange(input, Part::context_tokens, context, mixer, true);
  gather_input_again(input, dims, dims.hidden, context.gathered());
  if (mixer.low_rank > 0) {
    add_linear_backward(passes, low_rank_up(context, mixer), precision);
    add_linear_backward(passes, low_rank_down(context, mixer), precision);
  }
  add_linear_backward(passes, mixer_in(context, mixer), precision);
  begin_tensor_backward(input, dims, dims.hidden, context.activation());
  if (!kind.attention) {
    add_norm_backward(input, Part::mixer_norm, dims, dims.hidden);
  }
}

}  // namespace orrery::model
