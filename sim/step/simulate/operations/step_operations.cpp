#include "sim/step/simulate/operations/step_operations.hpp"

#include <utility>

#include "sim/step/simulate/stages/costing.hpp"
#include "sim/step/simulate/stages/layer_costs.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

namespace {

void append(model::LayerPasses passes, double count, std::vector<CountedPass>& all) {
  all.push_back({std::move(passes.forward), count});
  all.push_back({std::move(passes.backward_input), count});
  all.push_back({std::move(passes.backward_weight), count});
}

}  // namespace

std::vector<CountedPass> device_passes(const StepInput& input, const cost::CostModel& costs,
                                       std::int64_t device) {
  const Costing costing = make_costing(input, costs);
  const model::OpOptions& options = costing.layer.in.options;
  const double times = micro_batches_per_chunk(input);
  std::vector<CountedPass> all;
  for (const layout::ChunkLayers& chunk : input.layout.stages[static_cast<std::size_t>(device)]) {
    for (std::int64_t i = 0; i < chunk.num_layers; ++i) {
      const std::int64_t layer = chunk.first_layer + i;
      append(model::layer_passes(input.model, options, layer), times, all);
      all.push_back({model::recompute_pass(input.model, options, layer,
                                           recompute_policy(input.spec.recompute, i)),
                     times});
    }
    if (chunk.has_embedding) {
      append(model::embedding_passes(input.model, options), times, all);
    }
    if (chunk.has_head) {
      append(model::head_passes(input.model, options), times, all);
      all.push_back(
          {model::head_recompute_pass(input.model, options, input.spec.recompute.of_head()),
           times});
    }
  }
  return all;
}

}  // namespace orrery::step
