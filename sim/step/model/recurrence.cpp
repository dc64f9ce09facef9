#include "sim/step/model/recurrence.hpp"

#include "sim/base/check.hpp"
#include "sim/step/model/layer_blocks.hpp"
#include "sim/step/model/shard_dims.hpp"

namespace orrery::model {

namespace {

struct MixerTraits {
  ScanKind scan;
  std::int64_t chunk;  // of the kernels
};

MixerTraits traits_of(LayerType type) {
  switch (type) {
    case LayerType::gated_delta:
      return {ScanKind::delta, 64};
    case LayerType::kda:
      return {ScanKind::channel_delta, 64};
    case LayerType::lightning:
      return {ScanKind::retention, 256};
    default:
      return {ScanKind::state_space, 128};
  }
}

// Columns of the input projection beside keys, queries and values: gate, and numbers of the heads.
std::int64_t gate_columns(const MixerDims& mixer) {
  switch (mixer.type) {
    case LayerType::gated_delta:
      return mixer.inner + 2 * mixer.heads;
    case LayerType::kda:
      return mixer.heads;
    case LayerType::lightning:
      return mixer.inner;
    default:
      return mixer.inner + mixer.heads;
  }
}

}  // namespace

MixerDims mixer_dims(const ModelSpec& model, LayerType type, std::int64_t tensor) {
  ORRERY_CHECK(model.linear_attention.has_value(), "{} has no linear_attention", model.name);
  const LinearAttentionSpec& spec = *model.linear_attention;
  const MixerTraits traits = traits_of(type);
  MixerDims mixer{.type = type,
                  .scan = traits.scan,
                  .heads = divide_rounding_up(spec.value_heads, tensor),
                  .key_heads = divide_rounding_up(spec.key_heads, tensor),
                  .key_dim = spec.key_dim,
                  .value_dim = spec.value_dim,
                  .conv = type == LayerType::lightning ? 0 : spec.conv,
                  .chunk = spec.chunk > 0 ? spec.chunk : traits.chunk};
  mixer.inner = mixer.heads * mixer.value_dim;
  mixer.keys = mixer.key_heads * mixer.key_dim;
  const std::int64_t scanned = mixer.inner + 2 * mixer.keys;
  mixer.projected = scanned + gate_columns(mixer);
  mixer.convolved = mixer.conv > 0 ? scanned : 0;
  mixer.low_rank = type == LayerType::kda ? mixer.value_dim : 0;
  return mixer;
}

MixerParameters mixer_parameters(const ModelSpec& model, LayerType type) {
  const MixerDims mixer = mixer_dims(model, type, 1);
  const double projections = product(model.hidden_size, mixer.projected + mixer.inner);
  const double taps = product(mixer.convolved, mixer.conv);
  MixerParameters count{.split = projections + taps, .copied = product(mixer.value_dim)};
  switch (type) {
    case LayerType::gated_delta:
      count.split += product(2, mixer.heads);
      break;
    case LayerType::kda:
      count.split +=
          product(mixer.heads + mixer.keys) + product(mixer.low_rank, mixer.keys + mixer.inner);
      count.copied += product(2, model.hidden_size, mixer.low_rank);
      break;
    case LayerType::lightning:
      return {.split = projections + product(mixer.inner)};
    default:
      return {.split =
                  projections + taps + product(mixer.convolved + 3 * mixer.heads + mixer.inner)};
  }
  return count;
}

double kept_per_token(const MixerDims& mixer, double element_bytes, double linear_bytes) {
  const double into_output = product(mixer.inner) * linear_bytes;
  const double convolved = 2.0 * product(mixer.convolved) * element_bytes;
  const double gated = 2.0 * product(mixer.inner) * element_bytes;
  const double tiles = product(mixer.chunk, mixer.heads) * element_bytes;
  switch (mixer.type) {
    case LayerType::gated_delta:
      return convolved + gated + tiles + product(14, mixer.heads) + product(8, mixer.key_heads) +
             into_output;
    case LayerType::kda:
      return convolved + gated + 2.0 * tiles + product(6, mixer.keys) + product(6, mixer.heads) +
             into_output;
    default:
      return product(mixer.projected + mixer.inner) * element_bytes + into_output;
  }
}

double scan_flop_per_token(const ModelSpec& model, std::int64_t first, std::int64_t last) {
  double sum = 0.0;
  for (std::int64_t layer = first; layer < last; ++layer) {
    if (const auto type = model.kind_of(layer).recurrence) {
      const MixerDims mixer = mixer_dims(model, *type, 1);
      sum += in_flop(flop_count(ScanOp{.kind = mixer.scan,
                                       .sequences = 1,
                                       .length = 1,
                                       .heads = mixer.heads,
                                       .key_heads = mixer.key_heads,
                                       .key_dim = mixer.key_dim,
                                       .value_dim = mixer.value_dim,
                                       .chunk = mixer.chunk}));
    }
  }
  return sum;
}

// The block of a linear mixer: norm, input projection, convolution, scan, gate, output projection,
// residual (recurrence.hpp).

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
