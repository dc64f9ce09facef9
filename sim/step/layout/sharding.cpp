#include "sim/step/layout/sharding.hpp"

#include <algorithm>
#include <numeric>

namespace orrery::layout {

namespace {

// Parameters that a rank holds of its stage when they are sharded, or all of them.
double held_parameters(const model::ShardShare& stage, const Layout& layout, bool sharded) {
  if (!sharded) {
    return stage.all();
  }
  return stage.dense / static_cast<double>(layout.shard_group) +
         stage.expert / static_cast<double>(expert_shard(layout).ranks);
}

bool stage_holds_embedding(const Layout& layout, std::int64_t device) {
  const auto& chunks = layout.stages[static_cast<std::size_t>(device)];
  return std::ranges::any_of(chunks, &ChunkLayers::has_embedding);
}

}  // namespace

ExpertShard expert_shard(const Layout& layout) {
  if (layout.sharding == Sharding::none) {
    return {1, layout.expert_data};
  }
  const std::int64_t inside =
      layout.tensor * layout.shard_group / (layout.expert_tensor * layout.expert);
  const std::int64_t ranks = std::gcd(std::max<std::int64_t>(1, inside), layout.expert_data);
  return {ranks, layout.expert_data / ranks};
}

double optimizer_parameters(const model::ShardParameters& stage, const Layout& layout) {
  return held_parameters(stage.trained(), layout, layout.sharding != Sharding::none);
}

double kept_parameters(const model::ShardParameters& stage, const Layout& layout) {
  return held_parameters({stage.dense, stage.expert}, layout,
                         layout.sharding == Sharding::zero3 || layout.sharding == Sharding::hsdp);
}

double shared_table_parameters(const model::ModelSpec& model, const Layout& layout,
                               std::int64_t device, std::int64_t chunk) {
  const ChunkLayers& part =
      layout.stages[static_cast<std::size_t>(device)][static_cast<std::size_t>(chunk)];
  const bool copies =
      layout.pipeline > 1 && part.has_head && !stage_holds_embedding(layout, device);
  return copies ? model::shared_table_shard_parameters(model, layout) : 0.0;
}

StateBytes state_bytes(const model::ShardParameters& stage, const model::PrecisionSpec& precision,
                       const Layout& layout) {
  const bool zero1 = layout.sharding != Sharding::none;
  const bool zero3 = layout.sharding == Sharding::zero3 || layout.sharding == Sharding::hsdp;
  const bool shard_gradients = layout.sharding == Sharding::zero2 || zero3;
  const Bytes parameter = model::bytes_per_element(precision.parameter);
  const model::ShardShare trained = stage.trained();
  const model::ShardShare stored = stage.stored(parameter);
  const model::ShardShare frozen = {stored.dense - trained.dense, stored.expert - trained.expert};
  return {.parameters = parameter * held_parameters(stored, layout, zero3),
          .frozen = parameter * held_parameters(frozen, layout, zero3),
          .gradients = model::bytes_per_element(precision.gradient) *
                       held_parameters(trained, layout, shard_gradients),
          .optimizer = precision.beside_parameters() * held_parameters(trained, layout, zero1)};
}

model::ShardParameters chunk_shard_parameters(const model::ModelSpec& model, const Layout& layout,
                                              std::int64_t device, std::int64_t chunk) {
  const ChunkLayers& part =
      layout.stages[static_cast<std::size_t>(device)][static_cast<std::size_t>(chunk)];
  const model::ShardContext& shard = layout;
  model::ShardParameters sum;
  for (const model::LikeLayers& like :
       model::count_layers(model, part.first_layer, part.first_layer + part.num_layers)) {
    if (like.count > 0) {
      sum.add(model::layer_shard_parameters(model, shard, like.first),
              static_cast<double>(like.count));
    }
  }
  if (part.has_embedding) {
    sum.add(model::embedding_shard_parameters(model, shard));
  }
  if (part.has_head) {
    sum.add(model::head_shard_parameters(model, shard));
    const double copy = shared_table_parameters(model, layout, device, chunk);
    sum.dense += copy;
    sum.frozen.dense += model.trains(&model::TrainedModules::embedding) ? 0.0 : copy;
  }
  return sum;
}

model::ShardParameters stage_shard_parameters(const model::ModelSpec& model, const Layout& layout,
                                              std::int64_t device) {
  model::ShardParameters sum;
  for (std::int64_t chunk = 0; chunk < layout.virtual_stages; ++chunk) {
    sum.add(chunk_shard_parameters(model, layout, device, chunk));
  }
  return sum;
}

}  // namespace orrery::layout
