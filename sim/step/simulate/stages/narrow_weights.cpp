// Counts the weights of a device that are multiplied in 8 or 4 bits.

#include <array>
#include <optional>
#include <variant>

#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

double narrow_weight_elements(const StepInput& input, const cost::CostModel& costs,
                              std::int64_t device, NarrowElements* of_layer) {
  const model::PrecisionSpec& precision = input.spec.precision;
  if (!(model::bytes_per_element(precision.compute) <
        model::bytes_per_element(precision.parameter))) {
    return 0.0;  // nothing is narrower than what the optimizer hands over
  }
  const model::OpOptions options = op_options(input, costs);
  model::ModelSpec trained = input.model;
  trained.reference = false;
  NarrowElements own;  // layers of one kind are alike
  NarrowElements& known = of_layer != nullptr ? *of_layer : own;
  double sum = 0.0;
  for (const layout::ChunkLayers& part : input.layout.stages[static_cast<std::size_t>(device)]) {
    for (std::int64_t i = 0; i < part.num_layers; ++i) {
      const std::int64_t layer = part.first_layer + i;
      std::optional<double>& elements = known[input.model.shape_index(layer)];
      if (!elements) {
        elements = 0.0;
        for (const model::PassOp& entry : model::layer_passes(trained, options, layer).forward) {
          const auto* gemm = std::get_if<model::GemmOp>(&entry.op);
          if (gemm != nullptr && gemm->dtype == precision.compute) {
            *elements += static_cast<double>(gemm->n) * static_cast<double>(gemm->k) *
                         static_cast<double>(gemm->batch);
          }
        }
      }
      sum += *elements;
    }
  }
  return sum;
}

}  // namespace orrery::step
