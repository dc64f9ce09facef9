#include "sim/step/model/flops.hpp"

#include <algorithm>
#include <variant>

#include "sim/step/model/parameters.hpp"
#include "sim/step/model/recurrence.hpp"
#include "sim/step/model/shard_dims.hpp"
#include "sim/step/model/transformer_ops.hpp"

namespace orrery::model {

namespace {

constexpr double kTrainingFactor = 6.0;  // 2 per parameter forward, 4 backward
constexpr double kForwardFactor = 2.0;
constexpr double kFrozenFactor = 4.0;  // 2 forward, 2 for the gradient of the input

// Keys that count for a token of the layer: all of the sequence or of the window, or those that a
// causal mask leaves on average.
double counted_keys(const ModelSpec& model, FlopConvention convention, std::int64_t layer) {
  const double length = product(model.sequence_length);
  const bool of_latents = model.sparse_attention && model.mla;
  const std::int64_t chosen = of_latents ? model.sparse_attention->top_k : 0;
  const double window =
      product(chosen > 0 && chosen < model.sequence_length ? chosen : model.window_of(layer));
  if (convention == FlopConvention::palm) {
    return window > 0.0 ? window : length;
  }
  return window > 0.0 ? window - window * window / (2.0 * length) : length / 2.0;
}

// Forward FLOP of the attention core per token, mean over the layers: 2 keys a (d_qk + d_v).
double attention_forward(const ModelSpec& model, FlopConvention convention) {
  if (convention == FlopConvention::six_nd) {
    return 0.0;
  }
  const std::int64_t layers = model.num_layers + model.mtp_layers;
  double keys = 0.0;  // as wide as those of layers with a window, where the others' heads differ
  const double usual = product(query_head_dim(model) + value_head_dim(model));
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (model.kind_of(layer).attention) {
      const LayerModel of_layer = model.of_layer(layer);
      const ModelSpec& own = of_layer.spec();
      keys += counted_keys(model, convention, layer) *
              (product(query_head_dim(own) + value_head_dim(own)) / usual);
    }
  }
  const double per_key =
      product(2, model.num_attention_heads, query_head_dim(model) + value_head_dim(model));
  const auto& indexer = model.sparse_attention;
  if (indexer && model.compressed_attention) {  // scores of the entries of its layers
    std::int64_t sparse = 0;
    for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
      sparse += model.of_layer(layer).spec().sparse_attention ? 1 : 0;
    }
    const double entries = product(model.sequence_length) / product(kSparseRatio);
    const double scored = convention == FlopConvention::palm ? entries : entries / 2.0;
    return (per_key * keys + product(sparse, 2, indexer->heads, indexer->dim) * scored) /
           product(layers);
  }
  if (indexer) {
    const double all = product(model.sequence_length);
    const double scored = convention == FlopConvention::palm ? all : all / 2.0;
    return product(2, model.num_attention_heads) *
               product(2 * model.mla->kv_lora_rank + model.mla->qk_rope_head_dim) *
               (keys / product(layers)) +
           product(2, indexer->heads, indexer->dim) * scored;
  }
  return per_key * (keys / product(layers));
}

double mtp_multiplied_parameters(const ModelSpec& model) {
  const double layer = product(count_layer_parameters(model, model.num_layers).active);
  const double projection = product(2, model.hidden_size, model.hidden_size);
  const double head = product(model.vocab_size, model.hidden_size);
  return product(model.mtp_layers) * (layer + projection + head);
}

// Per token: the matrix products outside the attention core that a policy runs again.
double products_again(const ModelSpec& model, Recompute policy, const RecomputeModules& modules,
                      std::int64_t layers) {
  OpOptions options;
  options.recompute_modules = modules;
  const auto of_layer = [&](std::int64_t layer) {
    double sum = 0.0;
    for (const PassOp& entry : recompute_pass(model, options, layer, policy)) {
      const bool is_product = std::holds_alternative<GemmOp>(entry.op);
      sum += is_product ? in_flop(flop_count(entry.op)) : 0.0;
    }
    return sum / product(model.sequence_length);
  };
  double sum = 0.0;
  for (const LikeLayers& like : count_layers(model, 0, layers)) {
    sum += like.count > 0 ? product(like.count) * of_layer(like.first) : 0.0;
  }
  return sum;
}

// Of the modules that are trained whole where others are frozen: the weight gradient.
double whole_multiplied(const ModelSpec& model) {
  double count =
      model.trains(&TrainedModules::head) ? product(model.vocab_size, model.hidden_size) : 0.0;
  for (const LikeLayers& like : count_layers(model, 0, model.num_layers)) {
    count += like.count > 0
                 ? product(like.count) * count_layer_parameters(model, like.first).whole_active
                 : 0.0;
  }
  return count;
}

}  // namespace

double multiplied_parameters(const ModelSpec& model) {
  const ParameterCounts counts = count_parameters(model);
  const double table = product(model.vocab_size, model.hidden_size);
  const double looked_up = product(counts.embedding) - (model.tie_embeddings ? table : 0.0);
  return product(counts.active) - looked_up + mtp_multiplied_parameters(model);
}

Flop model_flop_per_token(const ModelSpec& model, FlopConvention convention) {
  // Frozen weights have no gradient: 4 N, 2 N below all that is trained, 2 more of the modules that
  // are trained whole, and 6 of the adapters. A reference model: 2 N.
  const double reference = model.reference ? kForwardFactor : 0.0;
  const bool frozen = model.lora || model.trainable;
  const double pass = model.ends_at_head() ? kForwardFactor : kFrozenFactor;
  const double per_weight = (frozen ? pass : kTrainingFactor) + reference;
  const double per_forward =
      ((model.ends_at_head() ? kForwardFactor : kTrainingFactor) + reference) / kForwardFactor;
  const double adapters = kTrainingFactor * product(count_parameters(model).adapters) +
                          (frozen ? kForwardFactor * whole_multiplied(model) : 0.0);
  if (convention == FlopConvention::six_nd) {
    return flop(per_weight * product(count_parameters(model).active) + adapters);
  }
  const double attention = per_forward * product(model.num_layers + model.mtp_layers) *
                           attention_forward(model, convention);
  const double scans = per_forward * scan_flop_per_token(model, 0, model.num_layers);
  return flop(per_weight * multiplied_parameters(model) + adapters + attention + scans);
}

Flop hardware_flop_per_token(const ModelSpec& model, FlopConvention convention, Recompute policy,
                             std::int64_t recomputed_layers, const RecomputeModules& modules) {
  const std::int64_t layers =
      std::clamp<std::int64_t>(recomputed_layers, 0, model.num_layers + model.mtp_layers);
  double extra = 0.0;
  const bool by_module = policy == Recompute::modules;
  if (by_module || policy == Recompute::selective_operations) {
    extra += products_again(model, policy, modules, layers);
  }
  if (policy == Recompute::selective || policy == Recompute::full ||
      (by_module && modules.core_attention)) {
    extra += product(layers) * attention_forward(model, convention);
  }
  if (policy == Recompute::full) {
    double active = 0.0;
    for (const LikeLayers& like : count_layers(model, 0, layers)) {
      active += like.count > 0
                    ? product(like.count, count_layer_parameters(model, like.first).active)
                    : 0.0;
    }
    extra += kForwardFactor * active + scan_flop_per_token(model, 0, layers);
  }
  return model_flop_per_token(model, convention) + flop(extra);
}

}  // namespace orrery::model
