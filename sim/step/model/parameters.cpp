#include "sim/step/model/parameters.hpp"

#include <algorithm>

#include "sim/step/model/recurrence.hpp"
#include "sim/step/model/shard_dims.hpp"

namespace orrery::model {

namespace {

// How one group of parameters is spread: over tensor ranks, expert ranks, or copied on each.
struct Spread {
  double tensor_split = 0.0;
  double expert = 0.0;
  double copied = 0.0;
  double key_value = 0.0;  // split over min(t, g) ranks
};

double norm_parameters(const ModelSpec& model, std::int64_t width) {
  return product(model.norm == Norm::layer_norm ? 2 : 1, width);
}

// Weights of a linear layer split by columns, its bias split with them.
double column_linear(std::int64_t inputs, std::int64_t outputs, bool bias) {
  return product(inputs, outputs) + (bias ? product(outputs) : 0.0);
}

void add_attention(Spread& spread, const ModelSpec& model) {
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t width = query_head_dim(model);
  const bool bias = model.linear_bias || model.qkv_bias;
  const std::int64_t gates = model.output_gate ? 2 : 1;
  spread.tensor_split += column_linear(hidden, gates * model.num_attention_heads * width, bias);
  const std::int64_t projected = model.shared_key_value ? 1 : 2;
  spread.key_value += column_linear(hidden, projected * query_groups(model) * width, bias);
  spread.tensor_split += product(model.num_attention_heads, width, hidden);
  spread.copied += norm_parameters(model, hidden) + (model.linear_bias ? product(hidden) : 0.0);
}

// Down projections and the norms of the latents are copied on every tensor rank.
void add_latent_attention(Spread& spread, const ModelSpec& model) {
  const MlaSpec& mla = *model.mla;
  const std::int64_t heads = model.num_attention_heads;
  const std::int64_t query_columns = heads * query_head_dim(model);
  if (mla.q_lora_rank > 0) {
    spread.copied += product(model.hidden_size, mla.q_lora_rank);
    spread.copied += norm_parameters(model, mla.q_lora_rank);
    spread.tensor_split += product(mla.q_lora_rank, query_columns);
  } else {
    spread.tensor_split += product(model.hidden_size, query_columns);
  }
  spread.copied += product(model.hidden_size, mla.kv_lora_rank + mla.qk_rope_head_dim);
  spread.copied += norm_parameters(model, mla.kv_lora_rank);
  spread.tensor_split += product(mla.kv_lora_rank, heads, mla.qk_nope_head_dim + mla.v_head_dim);
  spread.tensor_split += product(heads, mla.v_head_dim, model.hidden_size);
  spread.copied += norm_parameters(model, model.hidden_size);
  if (const auto& indexer = model.sparse_attention) {  // queries, one key with its norm, weights
    spread.copied += product(mla.q_lora_rank, indexer->heads * indexer->dim) +
                     product(model.hidden_size, indexer->dim + indexer->heads) +
                     product(2, indexer->dim);
  }
}

// Channels of entries and their weights, a place in each for every token, and a norm.
double compressor(const CompressedAttentionSpec& spec, double inputs, std::int64_t width) {
  const double columns = product(compressed_columns(spec, width));
  return columns * (inputs + product(spec.ratio) / 2.0) + product(width);
}

// Of the layer; with sinks. Down projections, entries and indexer are copied on every tensor rank.
void add_compressed_attention(Spread& spread, const ModelSpec& model) {
  const CompressedAttentionSpec& spec = *model.compressed_attention;
  const double hidden = product(model.hidden_size);
  const std::int64_t width = query_head_dim(model);
  const double heads = product(model.num_attention_heads, width);
  const double output = product(spec.output_groups, spec.output_rank);
  spread.copied += product(spec.q_lora_rank + width) * (hidden + 1.0);  // and their norms
  spread.tensor_split += product(spec.q_lora_rank) * heads;
  spread.tensor_split += heads * product(spec.output_rank) + output * hidden;
  spread.copied += product(model.num_attention_heads) + norm_parameters(model, model.hidden_size);
  if (spec.ratio > 0) {
    spread.copied += compressor(spec, hidden, width);
  }
  if (const auto& indexer = model.sparse_attention) {
    spread.copied += product(spec.q_lora_rank, indexer->heads * indexer->dim) +
                     hidden * product(indexer->heads) + compressor(spec, hidden, indexer->dim);
  }
}

// Weights, biases and factors of the mixing of the streams, at both blocks of a layer.
double hyper_connections(const ModelSpec& model) {
  const std::int64_t streams = model.residual_streams;
  const double weights = product(streams, streams + 2);
  return streams > 1 ? 2.0 * (weights * product(streams, model.hidden_size) + weights + 3.0) : 0.0;
}

void add_recurrence(Spread& spread, const ModelSpec& model, const LayerKind& kind) {
  const MixerParameters mixer = mixer_parameters(model, *kind.recurrence);
  spread.tensor_split += mixer.split;
  spread.copied += mixer.copied;
  if (!kind.attention) {  // else one norm serves both
    spread.copied += norm_parameters(model, model.hidden_size);
  }
}

// Inputs and outputs of the linear layers that have an adapter, summed.
struct AdaptedWidths {
  double inputs = 0.0;
  double outputs = 0.0;

  void add(std::int64_t k, std::int64_t n) {
    inputs += product(k);
    outputs += product(n);
  }
};

// Those of a latent attention's queries, keys and values are among qkv. Routed experts have none.
AdaptedWidths adapted_widths(const ModelSpec& model, std::int64_t layer) {
  AdaptedWidths widths;
  if (!model.lora) {
    return widths;
  }
  const auto adapts = [&model](bool AdapterTargets::*target) {
    const bool of_mlp = target == &AdapterTargets::fc1 || target == &AdapterTargets::fc2;
    return model.lora->adapts(target) &&
           !model.trains(of_mlp ? &TrainedModules::mlp : &TrainedModules::attention);
  };
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t heads = model.num_attention_heads;
  const bool bottleneck = model.lora->kind == AdapterKind::bottleneck;
  if (adapts(&AdapterTargets::qkv) && model.mla) {
    const MlaSpec& mla = *model.mla;
    const std::int64_t queries = heads * query_head_dim(model);
    if (mla.q_lora_rank > 0) {
      widths.add(hidden, mla.q_lora_rank);
    }
    widths.add(mla.q_lora_rank > 0 ? mla.q_lora_rank : hidden, queries);
    widths.add(hidden, mla.kv_lora_rank + mla.qk_rope_head_dim);
    widths.add(mla.kv_lora_rank, heads * (mla.qk_nope_head_dim + mla.v_head_dim));
  } else if (adapts(&AdapterTargets::qkv)) {
    widths.add(hidden, (heads + query_groups(model)) * query_head_dim(model) +
                           query_groups(model) * value_head_dim(model));
  }
  if (adapts(&AdapterTargets::proj)) {
    widths.add(bottleneck ? hidden : heads * value_head_dim(model), hidden);
  }
  const bool experts = model.is_moe_layer(layer);
  const std::int64_t ffn = experts ? model.moe->shared_width() : dense_ffn(model);
  if (ffn > 0 && adapts(&AdapterTargets::fc1)) {
    widths.add(hidden, (model.gated_mlp() ? 2 : 1) * ffn);
  }
  if (ffn > 0 && adapts(&AdapterTargets::fc2)) {
    widths.add(bottleneck ? hidden : ffn, hidden);
  }
  return widths;
}

double adapter_parameters(const ModelSpec& model, std::int64_t layer) {
  const AdaptedWidths widths = adapted_widths(model, layer);
  if (!model.lora) {
    return 0.0;
  }
  const double rank = product(model.lora->rank);
  const double products = rank * (widths.inputs + widths.outputs);
  switch (model.lora->kind) {
    case AdapterKind::lora:
      break;
    case AdapterKind::dora:
      return products + widths.outputs;
    case AdapterKind::bottleneck:  // and both biases
      return products + widths.outputs + rank * (widths.outputs / product(model.hidden_size));
  }
  return products;
}

// All of a shard but its adapters and what is trained `whole` of it is frozen.
ShardParameters frozen(ShardParameters shard, const ModelSpec& model, const ShardShare& whole) {
  if (model.lora || model.trainable) {
    shard.frozen = {shard.dense - whole.dense, shard.expert - whole.expert};
  }
  return shard;
}

struct MlpParameters {
  double split = 0.0;   // both projections and the bias of the first
  double copied = 0.0;  // bias of the second
};

// Of an MLP of inner width `width` between vectors of `outer` elements.
MlpParameters mlp_parameters(const ModelSpec& model, std::int64_t width, std::int64_t outer) {
  const std::int64_t columns = (model.gated_mlp() ? 2 : 1) * width;
  return {.split = column_linear(outer, columns, model.linear_bias) + product(width, outer),
          .copied = model.linear_bias ? product(outer) : 0.0};
}

// `experts`: all of them, or the ones a token is sent to.
void add_moe(Spread& spread, const ModelSpec& model, std::int64_t experts) {
  const MoeSpec& moe = *model.moe;
  const std::int64_t expert_outer = moe.latent_size > 0 ? moe.latent_size : model.hidden_size;
  const MlpParameters expert = mlp_parameters(model, moe.ffn_hidden_size, expert_outer);
  spread.copied +=
      product(model.hidden_size, moe.num_experts) + product(2, model.hidden_size, moe.latent_size);
  spread.expert += product(experts) * (expert.split + expert.copied);
  if (moe.shared_width() > 0) {
    const MlpParameters shared = mlp_parameters(model, moe.shared_width(), model.hidden_size);
    spread.tensor_split += shared.split;
    spread.copied += shared.copied;
  }
  spread.copied += moe.dense_branch > 0 ? norm_parameters(model, model.hidden_size) : 0.0;
}

void add_mixer(Spread& spread, const ModelSpec& model, std::int64_t layer) {
  const LayerKind kind = model.kind_of(layer);
  if (kind.attention && model.mla) {
    add_latent_attention(spread, model);
  } else if (kind.attention && model.compressed_attention) {
    add_compressed_attention(spread, model.of_layer(layer).spec());
  } else if (kind.attention) {
    add_attention(spread, model.of_layer(layer).spec());
  }
  if (kind.recurrence) {
    add_recurrence(spread, model, kind);
  }
}

void add_mlp(Spread& spread, const ModelSpec& model, std::int64_t layer, bool only_active) {
  const LayerKind kind = model.kind_of(layer);
  if (kind.mlp == Mlp::none) {
    return;
  }
  spread.copied += norm_parameters(model, model.hidden_size);  // before the MLP
  if (kind.mlp == Mlp::moe) {
    add_moe(spread, model, only_active ? model.moe->top_k : model.moe->num_experts);
  } else {
    const MlpParameters mlp = mlp_parameters(model, dense_ffn(model), model.hidden_size);
    spread.tensor_split += mlp.split;
    spread.copied += mlp.copied;
  }
}

Spread layer_spread(const ModelSpec& model, std::int64_t layer, bool only_active) {
  Spread spread;
  spread.copied += hyper_connections(model);
  add_mixer(spread, model, layer);
  add_mlp(spread, model, layer, only_active);
  return spread;
}

// Of the modules of a layer that are trained whole.
Spread whole_spread(const ModelSpec& model, std::int64_t layer, bool only_active) {
  Spread spread;
  if (model.trains(&TrainedModules::attention)) {
    add_mixer(spread, model, layer);
  }
  if (model.trains(&TrainedModules::mlp)) {
    add_mlp(spread, model, layer, only_active);
  }
  return spread;
}

std::int64_t sum(const Spread& spread) {
  return static_cast<std::int64_t>(spread.tensor_split + spread.expert + spread.copied +
                                   spread.key_value);
}

double mtp_edge_parameters(const ModelSpec& model) {
  return product(2, model.hidden_size, model.hidden_size);  // projection 2 h -> h
}

// Norms of the embedding, of the hidden state and before the shared head.
double mtp_norm_parameters(const ModelSpec& model) {
  return 3.0 * norm_parameters(model, model.hidden_size);
}

// Modules with weights of their own.
std::int64_t mtp_weights(const ModelSpec& model) {
  return model.mtp_shared ? std::min<std::int64_t>(model.mtp_layers, 1) : model.mtp_layers;
}

ShardParameters shard(const Spread& spread, const ModelSpec& model, const ShardContext& context) {
  // The bias of an expert's second projection counts as split like its weights.
  const double key_value_ranks = product(std::min(context.tensor, query_groups(model)));
  return {.dense = spread.tensor_split / product(context.tensor) +
                   spread.key_value / key_value_ranks + spread.copied,
          .expert = spread.expert / product(context.expert, context.expert_tensor)};
}

}  // namespace

std::array<LikeLayers, kLayerKinds> count_layers(const ModelSpec& model, std::int64_t first,
                                                 std::int64_t last) {
  std::array<LikeLayers, kLayerKinds> counts{};
  for (std::int64_t layer = first; layer < last;) {
    const std::int64_t end = std::min(last, model.alike_until(layer));
    LikeLayers& like = counts[model.shape_index(layer)];
    like.first = like.count == 0 ? layer : like.first;
    like.count += end - layer;
    layer = end;
  }
  return counts;
}

LayerParameters count_layer_parameters(const ModelSpec& model, std::int64_t layer) {
  return {.total = sum(layer_spread(model, layer, false)),
          .active = sum(layer_spread(model, layer, true)),
          .whole = product(sum(whole_spread(model, layer, false))),
          .whole_active = product(sum(whole_spread(model, layer, true)))};
}

ParameterCounts count_parameters(const ModelSpec& model) {
  ParameterCounts counts;
  const std::int64_t table = model.vocab_size * model.hidden_size;
  counts.embedding = table + position_rows(model) * model.hidden_size;
  if (model.embedding_norm) {
    counts.embedding += static_cast<std::int64_t>(norm_parameters(model, model.hidden_size));
  }
  counts.head = model.tie_embeddings ? 0 : table;
  counts.final_norm = static_cast<std::int64_t>(norm_parameters(model, model.hidden_size));
  std::int64_t unsent = 0;
  double adapters = 0.0;
  double whole = 0.0;
  for (const LikeLayers& like : count_layers(model, 0, model.num_layers)) {
    if (like.count > 0) {
      const LayerParameters layer = count_layer_parameters(model, like.first);
      counts.layers += like.count * layer.total;
      unsent += like.count * (layer.total - layer.active);
      adapters += product(like.count) * adapter_parameters(model, like.first);
      whole += product(like.count) * layer.whole;
    }
  }
  const double mtp_edge = mtp_edge_parameters(model) + mtp_norm_parameters(model);
  counts.mtp = mtp_weights(model) * (count_layer_parameters(model, model.num_layers).total +
                                     static_cast<std::int64_t>(mtp_edge));
  counts.total = counts.embedding + counts.head + counts.layers + counts.final_norm;
  counts.adapters = static_cast<std::int64_t>(adapters);
  const bool frozen = model.lora || model.trainable;
  whole += model.trains(&TrainedModules::embedding) ? product(counts.embedding) : 0.0;
  whole += model.trains(&TrainedModules::head) ? product(counts.head) : 0.0;
  counts.whole = frozen ? static_cast<std::int64_t>(whole) : counts.total;
  counts.active = counts.total - unsent;
  return counts;
}

double adapted_outputs(const ModelSpec& model, std::int64_t layer) {
  return adapted_widths(model, layer).outputs;
}

ShardShare ShardParameters::stored(Bytes wide) const {
  const double saved = 1.0 - kPackedBytes / wide;
  return {dense - saved * packed.dense, expert - saved * packed.expert};
}

void ShardParameters::add(const ShardParameters& more, double count) {
  dense += count * more.dense;
  expert += count * more.expert;
  frozen.dense += count * more.frozen.dense;
  frozen.expert += count * more.frozen.expert;
  packed.dense += count * more.packed.dense;
  packed.expert += count * more.packed.expert;
}

ShardParameters layer_shard_parameters(const ModelSpec& model, const ShardContext& shard_context,
                                       std::int64_t layer) {
  const ShardParameters all = shard(layer_spread(model, layer, false), model, shard_context);
  if (!model.lora && !model.trainable) {
    return all;
  }
  const ShardParameters whole = shard(whole_spread(model, layer, false), model, shard_context);
  ShardParameters result = frozen(all, model, {whole.dense, whole.expert});
  if (model.lora && model.lora->base == FrozenBase::nf4) {
    result.packed = result.frozen;
  }
  result.dense += adapter_parameters(model, layer) / product(shard_context.tensor);
  return result;
}

ShardParameters embedding_shard_parameters(const ModelSpec& model,
                                           const ShardContext& shard_context) {
  const std::int64_t rows = divide_rounding_up(model.vocab_size, shard_context.tensor);
  double dense = product(rows + position_rows(model), model.hidden_size);
  if (model.embedding_norm) {
    dense += norm_parameters(model, model.hidden_size);
  }
  const bool whole = model.trains(&TrainedModules::embedding);
  return frozen({.dense = dense}, model, {whole ? dense : 0.0, 0.0});
}

ShardParameters head_shard_parameters(const ModelSpec& model, const ShardContext& shard_context) {
  ShardParameters result{.dense = norm_parameters(model, model.hidden_size)};
  ShardShare whole;
  if (!model.tie_embeddings) {
    const std::int64_t rows = divide_rounding_up(model.vocab_size, shard_context.tensor);
    result.dense += product(rows, model.hidden_size);
    whole.dense += model.trains(&TrainedModules::head) ? product(rows, model.hidden_size) : 0.0;
  }
  if (model.mtp_layers > 0) {
    const ShardParameters layer = layer_shard_parameters(model, shard_context, model.num_layers);
    const double modules = product(mtp_weights(model));
    result.dense += modules * (layer.dense + mtp_norm_parameters(model) +
                               mtp_edge_parameters(model) / product(shard_context.tensor));
    result.expert += modules * layer.expert;
  }
  return frozen(result, model, whole);
}

double shared_table_shard_parameters(const ModelSpec& model, const ShardContext& shard_context) {
  if (!model.tie_embeddings && model.mtp_layers == 0) {
    return 0.0;
  }
  return product(divide_rounding_up(model.vocab_size, shard_context.tensor), model.hidden_size);
}

}  // namespace orrery::model
