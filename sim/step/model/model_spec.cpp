#include "sim/step/model/model_spec.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/step/model/shard_dims.hpp"

namespace orrery::model {

bool ModelSpec::has_single_blocks() const {
  return std::ranges::any_of(
      layer_types, [](LayerType type) { return type == LayerType::mlp || type == LayerType::moe; });
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
    case LayerType::compressed_attention:
    case LayerType::compressed_sparse_attention:
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
    return experts + (full_attention && is_sliding(layer) ? 2U : 0U);
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
  const bool told_apart = layer_types.empty() && !full_attention && window_of(layer) > 0;
  return shape_index(layer) + (told_apart ? 2U : 0U);
}

LayerModel ModelSpec::of_layer(std::int64_t layer) const {
  const bool full = full_attention && !is_sliding(layer);
  if (!full && !compressed_attention) {
    return LayerModel(*this);
  }
  ModelSpec own = *this;
  if (full) {
    own.num_query_groups =
        full_attention->num_query_groups > 0 ? full_attention->num_query_groups : num_query_groups;
    own.head_dim = full_attention->head_dim > 0 ? full_attention->head_dim : head_dim;
    own.shared_key_value = full_attention->shared_key_value;
  }
  if (compressed_attention) {
    const std::optional<LayerType> type = type_of(layer);
    const bool chosen = type == LayerType::compressed_sparse_attention;
    own.compressed_attention->ratio = chosen                                    ? kSparseRatio
                                      : type == LayerType::compressed_attention ? kDenseRatio
                                                                                : 0;
    if (!chosen) {
      own.sparse_attention.reset();
    }
  }
  return LayerModel(std::move(own));
}

bool ModelSpec::is_sliding(std::int64_t layer) const {
  if (!attention_window) {
    return false;
  }
  const std::int64_t every = attention_window->full_every;
  return layer_types.empty() ? every == 0 || (layer + 1) % every != 0
                             : type_of(layer) == LayerType::sliding_attention;
}

std::int64_t ModelSpec::window_of(std::int64_t layer) const {
  if (compressed_attention && attention_window) {
    const LayerModel seen_by = of_layer(layer);
    const ModelSpec& own = seen_by.spec();
    const std::int64_t ratio = own.compressed_attention->ratio;
    const std::int64_t entries = ratio > 0 ? sequence_length / ratio : 0;
    const std::int64_t seen =
        attention_window->size +
        (own.sparse_attention ? std::min(own.sparse_attention->top_k, entries) : entries);
    return seen < sequence_length ? seen : 0;
  }
  const bool limits = attention_window && attention_window->size < sequence_length;
  return limits && is_sliding(layer) ? attention_window->size : 0;
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
