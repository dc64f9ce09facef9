#include "calibrate/validate/simulated_step.hpp"

#include <cmath>

#include "sim/evaluate/inputs/resolve.hpp"
#include "sim/hardware/neutral_stack.hpp"
#include "sim/step/step_simulator.hpp"

namespace orrery::calibrate {

namespace {

// One fused kernel per pass: a logit is read, then read and its gradient written, in 16 bits.
constexpr double kLossBytes = 6.0;
// Per parameter: AdamW 30; the norm of the gradients reads 4; clearing them writes 4.
constexpr double kOptimizerBytes = 38.0;

// One expert has `largest` rows, the others share the rest evenly.
double load_spread(const StepShape& shape) {
  const ExpertShape& experts = shape.experts.value();
  if (experts.largest == 0 || experts.experts < 2) {
    return 0.0;
  }
  const auto count = static_cast<double>(experts.experts);
  const double busiest =
      static_cast<double>(experts.largest) / static_cast<double>(shape.rows_per_expert());
  const double other = (count - busiest) / (count - 1.0);
  const double variance =
      ((busiest - 1.0) * (busiest - 1.0) + (count - 1.0) * (other - 1.0) * (other - 1.0)) / count;
  return std::sqrt(variance);
}

scenario::Scenario scenario_of(const StepShape& shape) {
  scenario::Scenario scenario;
  scenario.name = shape.name;
  scenario.model = model_of(shape);
  if (shape.experts) {
    scenario.model.moe->load_spread = load_spread(shape);
  }
  scenario.cluster.nodes = 1;
  scenario.cluster.gpus_per_node = 1;
  scenario.cluster.network.nvlink_domain = 1;
  scenario.batch = {.global = shape.sequences, .micro = shape.sequences};
  if (shape.precision != kernels::Precision::bf16) {
    scenario.step.precision.compute = model::Dtype::fp8;
    scenario.step.precision.fp8_scaling = model::Fp8Scaling::delayed;
  }
  return scenario;
}

Coefficient<Bytes> of_this_step(double count) {
  return {bytes(count), {SourceKind::given, "the kernels of the validation step"}};
}

// The step's own way of doing what stacks do differently.
hardware::SoftwareProfile own_stack() {
  hardware::SoftwareProfile stack = hardware::neutral_stack();
  stack.loss_bytes_per_logit = of_this_step(kLossBytes);
  stack.optimizer_traffic = of_this_step(kOptimizerBytes);
  return stack;
}

}  // namespace

std::optional<Seconds> simulated_time(const StepShape& shape, const hardware::GpuProfile& gpu) {
  const scenario::Scenario scenario = scenario_of(shape);
  Diagnostics diagnostics;
  const auto resolved = evaluate::resolve(scenario, gpu, own_stack(), diagnostics);
  if (!resolved) {
    return std::nullopt;
  }
  step::StepSimulator simulator;
  const auto result = simulator.simulate(
      evaluate::step_input(scenario, *resolved), resolved->costs, {.timeline = false});
  const auto* step = std::get_if<step::StepResult>(&result);
  return step == nullptr ? std::nullopt : std::optional(to_seconds(step->step_time));
}

}  // namespace orrery::calibrate
