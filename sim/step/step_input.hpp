#pragma once

// What a step is simulated from: a model, its resolved layout on a cluster, and the spec of the step.

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/cost/cost_model.hpp"
#include "sim/layout/layout_spec.hpp"
#include "sim/model/model_spec.hpp"
#include "sim/step/step_spec.hpp"

namespace orrery::step {

// Nodes from `first_node` on, up to the next block, hold GPUs of another type.
struct GpuBlock {
  std::int64_t first_node = 0;
  std::shared_ptr<const cost::CostModel> costs;
};

struct StepInput {
  model::ModelSpec model;
  layout::Layout layout;
  layout::ClusterShape cluster;
  StepSpec spec;
  std::vector<GpuBlock> mixed = {};  // by first node; empty: all GPUs are of one type
};

}  // namespace orrery::step
