#include "sim/model/model_spec.hpp"

#include <algorithm>
#include <bit>

#include "sim/model/shard_dims.hpp"

namespace orrery::model {

bool ModelSpec::has_single_blocks() const {
  return std::any_of(layer_types.begin(), layer_types.end(), [](LayerType type) {
    return type == LayerType::mlp || type == LayerType::moe;
  });
}

LayerKind ModelSpec::kind_of(std::int64_t layer) const {
  LayerKind kind{.mlp = moe && layer >= moe->dense_layers ? Mlp::moe : Mlp::dense};
  const std::optional<LayerType> type = type_of(layer);
  if (!type) {
    return kind;
  }
  switch (*type) {
    case LayerType::attention:
    case LayerType::sliding_attention:
      break;
    case LayerType::attention_mamba2:
      kind.recurrence = LayerType::mamba2;
      break;
    case LayerType::mlp:
      return {.attention = false, .mlp = Mlp::dense};
    case LayerType::moe:
      return {.attention = false, .mlp = Mlp::moe};
    default:
      kind.attention = false;
      kind.recurrence = type;
  }
  if (has_single_blocks()) {
    kind.mlp = Mlp::none;
  }
  return kind;
}

std::size_t ModelSpec::shape_index(std::int64_t layer) const {
  const std::size_t experts = moe && layer >= moe->dense_layers ? 1 : 0;
  const std::optional<LayerType> type = type_of(layer);
  if (!type) {
    return experts;
  }
  unsigned seen = 0;  // types whose first layer stands before the first one of this type
  for (const LayerType other : layer_types) {
    if (other == *type) {
      break;
    }
    seen |= 1U << static_cast<unsigned>(other);
  }
  return 2 * static_cast<std::size_t>(std::popcount(seen)) + experts;
}

std::size_t ModelSpec::kind_index(std::int64_t layer) const {
  const bool told_apart = layer_types.empty() && window_of(layer) > 0;
  return shape_index(layer) + (told_apart ? 2U : 0U);
}

std::int64_t ModelSpec::window_of(std::int64_t layer) const {
  if (!attention_window || attention_window->size >= sequence_length) {
    return 0;
  }
  const bool full = layer_types.empty() ? attention_window->full_every > 0 &&
                                              (layer + 1) % attention_window->full_every == 0
                                        : type_of(layer) != LayerType::sliding_attention;
  return full ? 0 : attention_window->size;
}

ModelSpec resolve(ModelSpec spec) {
  spec.num_query_groups = query_groups(spec);
  if (spec.num_attention_heads > 0) {
    spec.head_dim = query_head_dim(spec);
  }
  spec.ffn_hidden_size = dense_ffn(spec);
  spec.max_positions = position_rows(spec);
  if (spec.linear_attention) {
    LinearAttentionSpec& linear = *spec.linear_attention;
    linear.key_heads = linear.key_heads > 0 ? linear.key_heads : linear.value_heads;
    linear.value_dim = linear.value_dim > 0 ? linear.value_dim : linear.key_dim;
  }
  return spec;
}

}  // namespace orrery::model
