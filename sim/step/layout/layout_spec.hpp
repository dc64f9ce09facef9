#pragma once

// The parallel layout: the degrees by which a model is split over GPUs, and what they shard.
//
//   gpus = tensor * context * pipeline * data
//   expert_tensor * expert * expert_data = tensor * context * data
//   micro-batches per data-parallel rank and step: m = global / (micro * data)
//
// The specs are set by the scenario; Layout is computed by resolve_layout.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/step/layout/layout_rules.hpp"
#include "sim/step/model/model_spec.hpp"
#include "sim/step/model/transformer_ops.hpp"

namespace orrery::layout {

enum class Axis { tensor, context, pipeline, data };

inline constexpr std::size_t kAxisCount = 4;

// What is sharded over the data-parallel group (or over `shard_group` ranks of it).
enum class Sharding { none, zero1, zero2, zero3, hsdp };

inline constexpr std::array<std::string_view, 5> kShardingNames = {"none", "zero1", "zero2",
                                                                   "zero3", "hsdp"};

[[nodiscard]] constexpr std::string_view name_of(Sharding sharding) {
  return kShardingNames[static_cast<std::size_t>(sharding)];
}

struct LayoutSpec {
  std::int64_t tensor = 1;  // ranks that share every layer
  bool sequence_parallel = false;
  std::int64_t context = 1;                   // ranks that share a sequence
  std::int64_t pipeline = 1;                  // devices of the pipeline
  std::int64_t virtual_stages = 1;            // chunks per pipeline device
  std::int64_t expert = 1;                    // ranks that share the routed experts
  std::optional<std::int64_t> expert_tensor;  // default: tensor
  std::optional<std::int64_t> data;           // default: gpus / (tensor context pipeline)
  std::vector<Axis> order = {Axis::tensor, Axis::context, Axis::data, Axis::pipeline};
  Sharding sharding = Sharding::none;
  std::optional<std::int64_t> shard_group;                // ranks that share the states
  std::optional<std::vector<std::int64_t>> stage_layers;  // layers per virtual stage; absent: auto
  std::optional<model::ContextMethod> context_method =
      std::nullopt;                                     // absent: as the software does it
  std::optional<bool> context_balanced = std::nullopt;  // the same
};

struct BatchSpec {
  std::int64_t global = 0;  // sequences per optimizer step
  std::int64_t micro = 1;   // sequences per micro-batch
};

// Where the GPUs stand: enough of the cluster to place a group.
struct ClusterShape {
  std::int64_t gpus = 0;
  std::int64_t gpus_per_node = 8;
  std::int64_t nvlink_domain = 8;        // GPUs that reach one another over NVLink
  std::vector<std::int64_t> tier_nodes;  // nodes under one switch of each tier, lowest first
};

// The layers of one chunk (virtual stage) of a pipeline device.
struct ChunkLayers {
  std::int64_t first_layer = 0;
  std::int64_t num_layers = 0;
  bool has_embedding = false;
  bool has_head = false;
};

// A layout whose rules all hold: what a rank has of a layer (the shard context), and of the model.
struct Layout : model::ShardContext {
  std::int64_t gpus = 1;
  std::int64_t pipeline = 1;
  std::int64_t virtual_stages = 1;
  std::int64_t data = 1;
  std::int64_t expert_data = 1;
  std::vector<Axis> order;
  Sharding sharding = Sharding::none;
  std::int64_t shard_group = 1;    // ranks over which the states are sharded (1: not at all)
  std::int64_t micro_batches = 1;  // m, per data-parallel rank
  std::vector<std::vector<ChunkLayers>> stages;  // [pipeline device][chunk]
};

// One broken rule, ready to become a diagnostic at the key that caused it.
struct LayoutProblem {
  std::string key;      // "layout.tensor"
  std::string message;  // the equation with its numbers
  std::string allowed;  // nearest valid values
};

// All broken rules at once, or the layout. The placement is a matter of the schedule.
[[nodiscard]] std::variant<Layout, std::vector<LayoutProblem>> resolve_layout(
    const LayoutSpec& spec, const BatchSpec& batch, const model::ModelSpec& model,
    const ClusterShape& cluster, StagePlacement placement = StagePlacement::loop);

// Assignment of layers, embedding and loss to the stages of the pipeline.
//
//   auto: L layers over p v virtual stages (pipeline x virtual_stages). When p v divides L + 2 the
//   embedding and the loss take a slot each (126 layers, 16 x 4 stages: 128 slots, two each, one
//   layer on the first and last); otherwise the layers are spread evenly, and a remainder goes one
//   each to the middle stages, away from the first and the last, which already carry the embedding
//   and the loss.
//   With M modules of multi-token prediction behind the last layer, its device carries M layers and
//   M + 1 losses: of ceil((L + 2 M + 1) / (p v)) slots a stage the last one has 2 M + 1 less for
//   layers, and the first stages go short of what is then left (61 layers, 16 stages: 4 each, 1 on
//   the last; 32 stages: 1, then 2 each, none on the last). Source: the layouts of DeepSeek-V3 in
//   Megatron Bridge.
//
// A bidirectional plan has p stages, and every layer is held by two devices. Source: Llama 3 (arXiv
// 2407.21783, section 3.3.2: one layer less on the first and last stage); Megatron-LM's
// account_for_embedding_in_pipeline_split.
struct StagePlan {
  std::vector<std::vector<ChunkLayers>> stages;  // [pipeline device][chunk]
  std::optional<LayoutProblem> problem;          // set when the layers cannot be split as asked
};

[[nodiscard]] StagePlan plan_stages(const LayoutSpec& spec, const model::ModelSpec& model,
                                    StagePlacement placement);

// Layers per virtual stage, in pipeline order, by the `auto` rule. Needs num_layers >= stages.
[[nodiscard]] std::vector<std::int64_t> balanced_stage_layers(std::int64_t num_layers,
                                                              std::int64_t stages,
                                                              std::int64_t mtp_layers = 0);

}  // namespace orrery::layout
