#include "sim/step/model/recurrence.hpp"

#include "sim/base/check.hpp"
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

}  // namespace orrery::model
