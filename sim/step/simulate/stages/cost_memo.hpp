#pragma once

// Memo of costed passes, for many layouts of one scenario on the same hardware.
//
// The passes of a layer depend on its shapes on the rank and on the placement
// of the groups of its collectives: layouts that differ in pipeline, schedule,
// data parallelism or sharding share them (LayerInputs, costing.hpp). A memo
// serves one model, one cost model and one step spec but for its recomputation,
// schedule and offload; what it returns is what would be computed without it,
// to the bit. One per thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/model/transformer_ops.hpp"
#include "sim/step/simulate/stages/layer_costs.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

// Bytes of one layer for one micro-batch.
struct LayerBytes {
  Bytes kept;
  Bytes working;
};

// Passes of one shape, filled as they are asked for.
struct KnownPasses {
  LayerInputs inputs;  // what they depend on
  CollectiveMemo collectives = {};
  std::array<std::optional<LayerCosts>, kLayerSorts> layers = {};  // by sort
  std::optional<LayerCosts> embedding = {};
  std::array<std::optional<LayerCosts>, model::kRecomputePolicies> head = {};
  std::array<std::optional<LayerBytes>, kLayerSorts> bytes = {};  // by sort
  NarrowElements narrow_elements = {};
  EmptyGradients empty_gradients = {};  // dense, mixture, both kinds of layers
};

// What it costs to keep the replicas of so many parameters in step.
struct ReplicaParts {
  model::ShardShare reduced = {};
  model::ShardShare gathered = {};
  layout::Sharding sharding = layout::Sharding::none;
  Parts gradient_reduce = {};
  Parts parameter_gather = {};
  Parts parameter_gather_again = {};
};

// Where the groups of a layout lie, and the hops of its pipeline: by the degrees.
struct KnownPlaces {
  std::array<std::int64_t, 7> degrees{};
  cost::Placements places;
  std::vector<layout::HopPlacement> hops;   // from each pipeline device to the next
  std::vector<ReplicaParts> replicas = {};  // of the buckets seen
};

class CostMemo {
 public:
  // The references hold until the next call.
  [[nodiscard]] KnownPasses& passes(const LayerInputs& inputs);
  [[nodiscard]] KnownPlaces& places(const StepInput& input);

 private:
  std::unordered_map<std::uint64_t, std::unique_ptr<KnownPasses>> known_;
  std::unordered_map<std::uint64_t, KnownPlaces> places_;
};

}  // namespace orrery::step
