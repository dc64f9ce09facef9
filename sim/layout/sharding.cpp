#include "sim/layout/sharding.hpp"

#include <algorithm>

namespace orrery::layout {

namespace {

double layer_divisor(const Layout& layout, bool sharded) {
  return sharded ? static_cast<double>(layout.shard_group) : 1.0;
}

// Experts shard over what is left of the shard group once the expert axis has taken its share.
double expert_divisor(const Layout& layout, bool sharded) {
  if (!sharded) {
    return 1.0;
  }
  return static_cast<double>(
      std::max<std::int64_t>(1, std::min(layout.expert_data, layout.shard_group)));
}

}  // namespace

model::ShardContext shard_context(const Layout& layout) {
  return {.micro_batch = layout.micro_batch,
          .tensor = layout.tensor,
          .sequence_parallel = layout.sequence_parallel,
          .context = layout.context,
          .expert = layout.expert,
          .expert_tensor = layout.expert_tensor};
}

StateBytes state_bytes(const model::ShardParameters& stage,
                       const model::PrecisionSpec& precision,
                       const Layout& layout,
                       bool gradients_sharded_while_accumulating) {
  const bool zero1 = layout.sharding != Sharding::none;
  const bool zero3 = layout.sharding == Sharding::zero3 || layout.sharding == Sharding::hsdp;
  const bool shard_gradients =
      (layout.sharding == Sharding::zero2 || zero3) && gradients_sharded_while_accumulating;
  const auto held = [&](bool sharded) {
    return stage.dense / layer_divisor(layout, sharded) +
           stage.expert / expert_divisor(layout, sharded);
  };
  return {.parameters = model::bytes_per_element(precision.parameter) * held(zero3),
          .gradients = model::bytes_per_element(precision.gradient) * held(shard_gradients),
          .optimizer = precision.optimizer_bytes * held(zero1)};
}

model::ShardParameters chunk_shard_parameters(const model::ModelSpec& model,
                                              const Layout& layout,
                                              std::int64_t device,
                                              std::int64_t chunk) {
  const ChunkLayers& part =
      layout.stages[static_cast<std::size_t>(device)][static_cast<std::size_t>(chunk)];
  const model::ShardContext shard = shard_context(layout);
  model::ShardParameters sum;
  const auto add = [&sum](const model::ShardParameters& more, double count) {
    sum.dense += count * more.dense;
    sum.expert += count * more.expert;
  };
  // At most two kinds of layers exist: dense ones first, then mixture-of-experts ones.
  const std::int64_t end = part.first_layer + part.num_layers;
  const std::int64_t dense_end =
      model.moe ? std::clamp(model.moe->dense_layers, part.first_layer, end) : end;
  if (dense_end > part.first_layer) {
    add(model::layer_shard_parameters(model, shard, part.first_layer),
        static_cast<double>(dense_end - part.first_layer));
  }
  if (end > dense_end) {
    add(model::layer_shard_parameters(model, shard, dense_end),
        static_cast<double>(end - dense_end));
  }
  if (part.has_embedding) {
    add(model::embedding_shard_parameters(model, shard), 1.0);
  }
  if (part.has_head) {
    add(model::head_shard_parameters(model, shard), 1.0);
    if (!part.has_embedding && layout.pipeline > 1) {
      sum.dense += model::shared_table_shard_parameters(model, shard);
    }
  }
  return sum;
}

model::ShardParameters stage_shard_parameters(const model::ModelSpec& model,
                                              const Layout& layout,
                                              std::int64_t device) {
  model::ShardParameters sum;
  for (std::int64_t chunk = 0; chunk < layout.virtual_stages; ++chunk) {
    const model::ShardParameters part = chunk_shard_parameters(model, layout, device, chunk);
    sum.dense += part.dense;
    sum.expert += part.expert;
  }
  return sum;
}

}  // namespace orrery::layout
