#pragma once

// The parallel layout: the degrees by which a model is split over GPUs, and what they shard.
//
//   gpus = tensor * context * pipeline * data
//   expert_tensor * expert * expert_data = tensor * context * data
//   micro-batches per data-parallel rank and step: m = global / (micro * data)
//
// symbol | meaning                                            | unit      | origin
// -------|----------------------------------------------------|-----------|----------
// t      | tensor: GPUs that share every layer                | ranks     | scenario
// c      | context: GPUs that share a sequence                | ranks     | scenario
// p      | pipeline: devices of the pipeline                  | ranks     | scenario
// v      | virtual_stages: chunks per pipeline device         | chunks    | scenario
// e      | expert: GPUs that share the routed experts         | ranks     | scenario
// et     | expert_tensor: GPUs that share one expert          | ranks     | default t
// d      | data: replicas (sharded or not)                    | ranks     | derived when left out
//
// The specs are (set) by the scenario; Layout is (computed) by resolve_layout.

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

struct LayoutSpec {
  std::int64_t tensor = 1;
  bool sequence_parallel = false;
  std::int64_t context = 1;
  std::int64_t pipeline = 1;
  std::int64_t virtual_stages = 1;
  std::int64_t expert = 1;
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

}  // namespace orrery::layout
