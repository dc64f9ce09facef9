#include "sim/step/simulate/stages/optimizer_costs.hpp"

#include <array>
#include <optional>
#include <variant>

#include "sim/step/layout/sharding.hpp"
#include "sim/step/model/precision.hpp"
#include "sim/step/simulate/stages/offload.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

// Counts the weights of a device that are multiplied in 8 or 4 bits.

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

namespace {

using layout::Sharding;

// Each rank of the shard group broadcasts its part, one after the other: what that costs on top of
// the bytes, which the gathers carry.
void add_broadcasts(Parts& parts, const Costing& costing) {
  const hardware::SoftwareProfile& software = costing.costs.software();
  const Sharding sharding = costing.input.layout.sharding;
  const std::int64_t owners = costing.places.shard.ranks;
  if (software.parameter_gather == hardware::ParameterGather::broadcast && owners > 1 &&
      (sharding == Sharding::zero1 || sharding == Sharding::zero2)) {
    const auto& each = software.broadcast_time;
    parts.add(StepCategory::exposed_data,
              cost::term(each.value() * static_cast<double>(owners), each.kind()));
  }
}

// Memory traffic of the update relative to Adam with a 12-byte state, for which the stacks state
// it: the state is read and written, the gradient and the 16-bit copy of the parameter pass once.
double relative_traffic(const model::PrecisionSpec& precision) {
  constexpr Bytes kAdamState = bytes(12.0);
  const Bytes gradient = model::bytes_per_element(precision.gradient);
  const Bytes copy =
      model::bytes_per_element(precision.is_master() ? model::Dtype::bf16 : precision.parameter);
  const Bytes passing = precision.is_master() ? gradient : gradient + copy;
  return (precision.optimizer_bytes * 2.0 + passing) / (kAdamState * 2.0 + gradient + copy);
}

bool trains_layers(const model::ModelSpec& model) {
  return model.trains(&model::TrainedModules::attention) ||
         model.trains(&model::TrainedModules::mlp);
}

// The new weights brought to 8 or 4 bits, once per step.
void add_weight_casts(Parts& parts, const Costing& costing, std::int64_t device) {
  const model::PrecisionSpec& precision = costing.input.spec.precision;
  const double elements =
      narrow_weight_elements(costing.input, costing.costs, device, costing.narrow_elements);
  if (elements == 0.0 || precision.casts_weights || !trains_layers(costing.input.model)) {
    return;  // frozen weights were brought to it before the first step
  }
  const model::CastTraffic cast =
      model::cast_traffic(precision.activation, precision.compute, precision.fp8_scaling);
  parts.add(StepCategory::optimizer,
            costing.costs.memory_bound({.part = model::Part::weight_cast,
                                        .read = bytes(elements * cast.read),
                                        .written = bytes(elements * cast.written),
                                        .kernels = cast.kernels}));
}

}  // namespace

namespace {

enum class OptimizerStep { casts, update, fixed, broadcasts };

// Adds every step to the parts that `parts_of` names for it; returns the bytes of the update.
template <typename PartsOf>
Bytes add_optimizer(const Costing& costing, const model::ShardParameters& stage,
                    std::int64_t device, Seconds backward, PartsOf parts_of) {
  add_weight_casts(parts_of(OptimizerStep::casts), costing, device);
  const double updated = layout::optimizer_parameters(stage, costing.input.layout);
  const StepSpec& spec = costing.input.spec;
  const hardware::SoftwareProfile& software = costing.costs.software();
  Bytes moved;
  if (spec.offload.optimizer != OffloadTarget::none) {
    parts_of(OptimizerStep::update).add(offloaded_update(costing, updated, backward));
  } else {
    const double counted = updated * relative_traffic(spec.precision);
    parts_of(OptimizerStep::update)
        .add(StepCategory::optimizer, costing.costs.optimizer_step(counted));
    moved = software.optimizer_traffic.value() * counted;
  }
  const auto& fixed = software.fixed_step_time;
  parts_of(OptimizerStep::fixed)
      .add(StepCategory::host_step, cost::term(fixed.value(), fixed.kind()));
  add_broadcasts(parts_of(OptimizerStep::broadcasts), costing);
  return moved;
}

}  // namespace

OptimizerParts optimizer_parts(const Costing& costing, const model::ShardParameters& stage,
                               std::int64_t device, Seconds backward) {
  OptimizerParts parts;
  parts.bytes =
      add_optimizer(costing, stage, device, backward, [&parts](OptimizerStep step) -> Parts& {
        switch (step) {
          case OptimizerStep::casts:
            return parts.casts;
          case OptimizerStep::update:
            return parts.update;
          case OptimizerStep::fixed:
            return parts.fixed;
          case OptimizerStep::broadcasts:
            break;
        }
        return parts.broadcasts;
      });
  return parts;
}

Parts cost_optimizer(const Costing& costing, const model::ShardParameters& stage,
                     std::int64_t device, Seconds backward) {
  Parts parts;
  (void)add_optimizer(costing, stage, device, backward,
                      [&parts](OptimizerStep) -> Parts& { return parts; });
  return parts;
}

}  // namespace orrery::step
