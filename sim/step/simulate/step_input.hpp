#pragma once

// What a step is simulated from: a model, its resolved layout on a cluster, the spec of the step,
// and what scenario and stack settle together, once.

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/model/model_spec.hpp"
#include "sim/step/simulate/step_spec.hpp"

namespace orrery::step {

// Nodes from `first_node` on, up to the next block, hold GPUs of another type.
struct GpuBlock {
  std::int64_t first_node = 0;
  std::shared_ptr<const cost::CostModel> costs;
};

// As the scenario says, else as the stack does it.
struct StackChoices {
  hardware::GradientReduction reduction = hardware::GradientReduction::per_step;
  hardware::ExpertOptions experts = {};
  bool overlaps_experts = false;  // their all-to-all may run beside compute
  bool combines = false;          // and forwards run together with backwards
  std::int64_t prefetch = 1;      // layers that FSDP gathers ahead
  // [device][chunk]: where buckets of whole tensors begin and end (bucket_cuts.hpp); empty: buckets
  // are whole layers.
  std::vector<std::vector<std::vector<double>>> bucket_cuts = {};
};

struct StepInput {
  model::ModelSpec model;
  layout::Layout layout;
  layout::ClusterShape cluster;
  StepSpec spec;
  StackChoices choices = {};
  std::vector<GpuBlock> mixed = {};  // by first node; empty: all GPUs are of one type
};

// Settles the choices and the precision of a step whose model, layout and spec are known.
void settle(StepInput& input, const cost::CostModel& costs);

}  // namespace orrery::step
