#pragma once

// What the passes of a step are costed with. Used inside step/ only.
//
//   LayerInputs  = all that the cost of a layer, of the embedding or of the head depends on, for
//                  one model on one cost model
//   LayerCosting = the only argument of what costs them: model, cost model and LayerInputs
//
// CostMemo (layer_costs.hpp) finds known costs by LayerInputs as a whole: an input that the costs
// do not have cannot change them, and one that is added here is compared.

#include <cstdint>
#include <optional>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/model/transformer_ops.hpp"
#include "sim/step/simulate/stages/documents.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"
#include "sim/step/simulate/step_input.hpp"

namespace orrery::step {

// Where the groups of a layer's own collectives lie.
struct LayerGroups {
  layout::GroupPlacement tensor;
  layout::GroupPlacement context;
  layout::GroupPlacement expert;
  layout::GroupPlacement expert_tensor;

  [[nodiscard]] cost::Placements placements() const {
    cost::Placements places;
    places.tensor = tensor;
    places.context = context;
    places.expert = expert;
    places.expert_tensor = expert_tensor;
    return places;
  }

  friend bool operator==(const LayerGroups&, const LayerGroups&) = default;
};

struct LayerInputs {
  model::OpOptions options;  // shapes on the rank, precision, recomputation by module
  LayerGroups groups;
  hardware::ExpertOptions experts;
  double tensor_exposed = 1.0;
  std::optional<std::int64_t> tensor_chunks;  // GEMM and collective cut together into so many
  bool overlaps_experts = false;              // their all-to-all may run beside compute
  bool combines = false;                      // and forwards run together with backwards
  MaskedAttention masked = {};

  friend bool operator==(const LayerInputs&, const LayerInputs&) = default;
};

struct LayerCosting {
  const model::ModelSpec& model;
  const cost::CostModel& costs;
  LayerInputs in;
  cost::Placements places;  // those of in.groups, no others
};

// One per call of stage_costs.
struct Costing {
  const StepInput& input;
  const cost::CostModel& costs;
  LayerCosting layer;
  cost::Placements places;
  NarrowElements* narrow_elements = nullptr;  // known from steps of the same shape
};

// `places`: those of placements(input) where they are known.
[[nodiscard]] Costing make_costing(const StepInput& input, const cost::CostModel& costs,
                                   const cost::Placements* places = nullptr);

}  // namespace orrery::step
