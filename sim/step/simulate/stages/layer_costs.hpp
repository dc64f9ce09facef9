#pragma once

// Costs of one pass of a layer, of the embedding or of the head. Used inside step/ only.
//
//   pass          = sum of its operations; a collective counts as far as the compute stream waits
//   layer pass    = as host_launches.hpp joins it with the host's launches; the whole backward with
//                   its recomputation as one pass
//   recomputation = what model::recompute_pass lists
//
// symbol    | meaning                                                         | unit | origin
// ----------|-----------------------------------------------------------------|------|-----------
// exposed   | beside attention (ring): as beside a GEMM, at most the          |      |
//           | (c - 1) / c of it that runs on keys of other ranks              |      |
//           | beside a GEMM: time - hidden (1 - slow-down), hidden at most    | s    | software
//           | the GEMM's time; else the stack's tensor_exposed share          |      |
//           | cut into n chunks: c / n + (1 - 1 / n) max(0, c - GEMM), and     |      |
//           | the slow-down of the rest                                       |      |

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/model/transformer_ops.hpp"
#include "sim/step/simulate/stages/costing.hpp"
#include "sim/step/simulate/stages/speed_spread.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

// What a GEMM waits when it and the collective that feeds it (or that it feeds) are cut into
// chunks: the first chunk of the wire, then what every further chunk lacks.
[[nodiscard]] Seconds decomposed_wait(Seconds collective, Seconds gemm, std::int64_t chunks);

struct LayerCosts {
  Parts forward;
  Parts recompute;
  Parts backward_input;
  Parts backward_weight;
  // Cut at the experts' all-to-all, recomputation included; for combined steps only.
  std::shared_ptr<const LayerNodeParts> nodes = nullptr;
  HostTimes host = {};
  // All-to-all that a full backward hides behind its weight gradients: negative.
  Parts full_backward_gain = {};
};

// The collectives of a layer are few different ones, several times each.
class CollectiveMemo {
 public:
  const cost::Cost& get(const LayerCosting& costing, const model::CollectiveOp& op);

 private:
  struct Known {
    model::CollectiveOp op;
    cost::Cost cost;
  };

  std::vector<Known> known_;
};

// Added work per hidden all-to-all second.
[[nodiscard]] double expert_slowdown(const cost::CostModel& costs);

// The category of communication along an axis that compute waits for.
[[nodiscard]] StepCategory exposed_category(model::CommAxis axis);

// What the operation at place `at` of a pass adds to it.
void add_operation(Parts& parts, const LayerCosting& costing, const model::Pass& pass,
                   std::size_t at, CollectiveMemo& memo);

// Nodes of a combined step that the operations of a layer belong to, by place in the pass; weight
// gradients: of `mlp_ops` operations of the MLP block and those behind.
[[nodiscard]] std::vector<schedule::LayerNode> forward_nodes(const model::Pass& pass);
[[nodiscard]] std::vector<schedule::LayerNode> backward_nodes(const model::Pass& pass);
[[nodiscard]] std::vector<schedule::LayerNode> weight_nodes(const model::Pass& pass,
                                                            std::size_t mlp_ops);

// What runs again before the backward of a layer; `forward` is its first run.
[[nodiscard]] model::Pass repeated_pass(const LayerCosting& costing, const model::Pass& forward,
                                        std::int64_t layer, model::Recompute policy);

// Embedding or head.
[[nodiscard]] LayerCosts cost_passes(const LayerCosting& costing, const model::LayerPasses& passes,
                                     CollectiveMemo& memo);

[[nodiscard]] LayerCosts cost_layer(const LayerCosting& costing, std::int64_t layer,
                                    model::Recompute policy, CollectiveMemo& memo);

// Memo of costed passes, for many layouts of one scenario on the same hardware.
//
// The passes of a layer depend on its shapes on the rank and on the placement
// of the groups of its collectives: layouts that differ in pipeline, schedule,
// data parallelism or sharding share them (LayerInputs). A memo
// serves one model, one cost model and one step spec but for its recomputation,
// schedule and offload; what it returns is what would be computed without it,
// to the bit. One per thread.

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
  [[nodiscard]] const std::vector<SpeedRange>& speeds(const StepInput& input);

 private:
  std::unordered_map<std::uint64_t, std::unique_ptr<KnownPasses>> known_;
  std::unordered_map<std::uint64_t, KnownPlaces> places_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<SpeedRange>> speeds_;  // by machine
};

}  // namespace orrery::step
