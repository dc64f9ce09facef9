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

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "sim/step/simulate/stages/costing.hpp"

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

}  // namespace orrery::step
