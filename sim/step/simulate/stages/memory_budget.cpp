#include "sim/step/simulate/stages/memory_budget.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "sim/step/model/memory.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

namespace {

using model::Recompute;

struct LayersCost {
  Bytes kept;
  Seconds again;
};

// All layers of the model for one micro-batch on one rank.
LayersCost layers_cost(const StepInput& input, const cost::CostModel& costs,
                       const cost::Placements& places) {
  const model::ModelSpec& model = input.model;
  const Recompute policy = input.spec.recompute.policy;
  const model::ActivationOptions options = {.ops = op_options(input, costs), .recompute = policy};
  LayersCost sum;
  for (const model::LikeLayers& like : model::count_layers(model, 0, model.num_layers)) {
    if (like.count == 0) {
      continue;
    }
    const auto count = static_cast<double>(like.count);
    sum.kept += model::layer_activation_bytes(model, options, like.first) * count;
    for (const model::PassOp& entry :
         model::recompute_pass(model, options.ops, like.first, policy)) {
      sum.again += costs.operation(entry.op, places).time * count;
    }
  }
  return sum;
}

struct Candidate {
  model::RecomputeModuleWord module;
  double price;  // seconds per byte
};

}  // namespace

RecomputeSpec meet_memory_budget(StepInput input, const cost::CostModel& costs) {
  const cost::Placements places = placements(input);
  RecomputeSpec& spec = input.spec.recompute;
  const auto cost_of = [&](Recompute policy, const model::RecomputeModules& modules) {
    spec.policy = policy;
    spec.modules = modules;
    return layers_cost(input, costs, places);
  };
  const Bytes none = cost_of(Recompute::none, {}).kept;
  const Bytes full = cost_of(Recompute::full, {}).kept;
  const Bytes budget = full + (none - full) * spec.memory_budget.value_or(1.0);
  std::vector<Candidate> candidates;
  for (const model::RecomputeModuleWord& word : model::kRecomputeModuleWords) {
    model::RecomputeModules alone;
    word.turn_on(alone);
    const LayersCost cost = cost_of(Recompute::modules, alone);
    if (cost.kept < none) {
      candidates.push_back({word, cost.again / seconds(1.0) / in_bytes(none - cost.kept)});
    }
  }
  std::ranges::stable_sort(candidates,
                           [](const auto& a, const auto& b) { return a.price < b.price; });
  spec.policy = Recompute::none;
  spec.modules = {};
  Bytes kept = none;
  for (auto next = candidates.begin(); kept > budget && next != candidates.end(); ++next) {
    model::RecomputeModules more = spec.modules;
    next->module.turn_on(more);
    kept = cost_of(Recompute::modules, more).kept;
  }
  if (kept > budget) {
    spec.policy = Recompute::full;
    spec.modules = {};
  }
  return spec;
}

}  // namespace orrery::step
