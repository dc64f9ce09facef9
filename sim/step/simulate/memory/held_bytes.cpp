#include "sim/step/simulate/memory/held_bytes.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "sim/step/layout/sharding.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/model/precision.hpp"
#include "sim/step/simulate/stages/offload.hpp"

namespace orrery::step {

using layout::Sharding;

namespace {

// The largest bucket, the largest chunk, and the tables with the last layer: parameters of one
// device.
struct HeldParameters {
  double bucket = 0.0;
  double trained_bucket = 0.0;
  double trained_chunk = 0.0;
  double all = 0.0;
  double layer = 0.0;
  double trained_layer = 0.0;
  double root = 0.0;  // tables and final norm of FSDP's outermost group
};

HeldParameters held_parameters(const StepInput& input, const StageCosts& stages,
                               std::int64_t device) {
  HeldParameters held;
  const auto index = static_cast<std::size_t>(device);
  for (const ChunkCosts& part : stages.devices[index].chunks) {
    double trained = 0.0;
    for (const std::uint32_t number : part.buckets) {
      const BucketCosts& bucket = stages.buckets[number];
      held.bucket = std::max(held.bucket, bucket.parameters);
      held.trained_bucket = std::max(held.trained_bucket, bucket.held.trained().all());
      trained += bucket.held.trained().all();
      held.all += bucket.parameters;
    }
    held.trained_chunk = std::max(held.trained_chunk, trained);
  }
  const model::ShardContext& shard = input.layout;
  for (const layout::ChunkLayers& part : input.layout.stages[index]) {
    held.root +=
        part.has_embedding ? model::embedding_shard_parameters(input.model, shard).all() : 0;
    held.root += part.has_head ? model::head_shard_parameters(input.model, shard).all() : 0;
    if (part.num_layers > 0) {
      const std::int64_t last = part.first_layer + part.num_layers - 1;
      const model::ShardParameters layer = model::layer_shard_parameters(input.model, shard, last);
      held.layer = std::max(held.layer, layer.all());
      held.trained_layer = std::max(held.trained_layer, layer.trained().all());
    }
  }
  return held;
}

// A bit for every shape of layer that the device has.
std::size_t shapes_of(const StepInput& input, std::int64_t device) {
  std::size_t shapes = 0;
  for (const layout::ChunkLayers& part : input.layout.stages[static_cast<std::size_t>(device)]) {
    for (std::int64_t i = 0; i < part.num_layers; ++i) {
      shapes |= std::size_t{1} << input.model.shape_index(part.first_layer + i);
    }
  }
  return shapes;
}

}  // namespace

// What communication holds beside the states: gathered parameters of ZeRO-3 (the bucket that runs
// and those fetched ahead), and whole gradients of what is reduced at once when only shards are
// kept: a bucket with sharded parameters or where the reduction overlaps, else the chunk. Where the
// outermost group stays gathered it stands beside the layers; at the loss only it and the last
// layer are there.
CommunicationBytes communication_bytes(const StepInput& input, const cost::CostModel& costs,
                                       const StageCosts& stages, std::int64_t device) {
  const Sharding sharding = input.layout.sharding;
  const bool gathers = sharding == Sharding::zero3 || sharding == Sharding::hsdp;
  const bool reduces_shards =
      (gathers || sharding == Sharding::zero2) &&
      input.choices.reduction == hardware::GradientReduction::per_micro_batch;
  if (!has_replicas(input) || !(gathers || reduces_shards)) {
    return {};  // reduced in place in the gradient buffer
  }
  const HeldParameters held = held_parameters(input, stages, device);
  const hardware::SoftwareProfile& software = costs.software();
  const Bytes parameter = model::bytes_per_element(input.spec.precision.parameter);
  const bool root = gathers && software.keeps_root_gathered;
  const double bucket = root ? held.layer : held.bucket;
  CommunicationBytes bytes;
  const FsdpSpec& fsdp = input.spec.fsdp;
  Bytes kept;  // of the parameters, from the forward until their backward
  if (gathers && !fsdp.reshard) {
    kept = parameter * held.all;
  } else if (gathers && fsdp.reshard_group) {
    kept = parameter * (held.all / static_cast<double>(*fsdp.reshard_group));
  }
  if (gathers && fsdp.reshard) {
    const bool overlaps = input.spec.overlap.data && software.can_overlap_parameters &&
                          fsdp.backward_prefetch == schedule::BackwardPrefetch::before;
    const std::int64_t depth = input.choices.prefetch;
    const double ahead = overlaps ? static_cast<double>(depth) : 0.0;
    bytes.layer += parameter * std::min(bucket * (ahead + 1.0) + (root ? held.root : 0.0),
                                        std::max(held.all, bucket));
  }
  if (reduces_shards) {
    const bool overlaps = input.spec.overlap.data && software.can_overlap_gradients;
    const double reduced = root ? held.trained_layer : held.trained_bucket;
    // Beside sharded parameters a hook reduces what it gathered, hidden or not.
    bytes.layer += model::bytes_per_element(input.spec.precision.gradient) *
                   (overlaps || gathers ? reduced : held.trained_chunk);
  }
  bytes.head = root && fsdp.reshard ? parameter * (held.layer + held.root) : bytes.layer;
  bytes.layer += kept;
  bytes.head += kept;
  return bytes;
}

// One empty gradient for every shape that the weights of a device's linear layers have, in the
// parameters' type. Experts run as grouped products, which have none; neither has the router.

Bytes empty_gradients(const StepInput& input, const cost::CostModel& costs, std::int64_t device,
                      EmptyGradients& known_sizes) {
  const std::size_t device_shapes = shapes_of(input, device);
  if (!costs.software().keeps_empty_gradients || device_shapes == 0) {
    return {};
  }
  if (const auto known = known_sizes.find(device_shapes); known != known_sizes.end()) {
    return known->second;
  }
  const model::OpOptions options = op_options(input, costs);
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  std::array<bool, model::kLayerKinds> seen{};  // layers of one shape are alike
  for (const layout::ChunkLayers& part : input.layout.stages[static_cast<std::size_t>(device)]) {
    for (std::int64_t i = 0; i < part.num_layers; ++i) {
      const std::int64_t layer = part.first_layer + i;
      bool& known = seen[input.model.shape_index(layer)];
      if (known) {
        continue;
      }
      known = true;
      for (const model::PassOp& entry :
           model::layer_passes(input.model, options, layer).backward_weight) {
        const auto* gemm = std::get_if<model::GemmOp>(&entry.op);
        if (gemm != nullptr && !gemm->grouped && gemm->part != model::Part::router) {
          shapes.emplace(gemm->m, gemm->n);
        }
      }
    }
  }
  double elements = 0.0;
  for (const auto& [rows, columns] : shapes) {
    elements += static_cast<double>(rows) * static_cast<double>(columns);
  }
  return known_sizes[device_shapes] =
             model::bytes_per_element(input.spec.precision.parameter) * elements;
}

// Copies of the weights in 8 or 4 bits, as they are and transposed, that the stack keeps from one
// micro-batch to the next.
Bytes cached_weights(const StepInput& input, const cost::CostModel& costs, std::int64_t device,
                     NarrowElements* of_layer) {
  const model::PrecisionSpec& precision = input.spec.precision;
  const bool gathered =
      input.layout.sharding == Sharding::zero3 || input.layout.sharding == Sharding::hsdp;
  if (precision.casts_weights || gathered) {
    return {};  // cast where they are used
  }
  const model::CastTraffic cast =
      model::cast_traffic(precision.activation, precision.compute, precision.fp8_scaling);
  return bytes(narrow_weight_elements(input, costs, device, of_layer) * cast.written);
}

// Takes what waits on the host out of the GPU's memory; two buckets of it stay as buffers.
void move_states(const StepInput& input, const StageCosts& stages, std::int64_t device,
                 StageMemory& memory) {
  const OffloadSpec& spec = input.spec.offload;
  if (!spec.any()) {
    return;
  }
  double bucket = 0.0;
  for (const ChunkCosts& part : stages.devices[static_cast<std::size_t>(device)].chunks) {
    for (const std::uint32_t index : part.buckets) {
      bucket = std::max(bucket, stages.buckets[index].parameters);
    }
  }
  constexpr double kBuffers = 2.0;
  const model::PrecisionSpec& precision = input.spec.precision;
  const double updated = layout::optimizer_parameters(
      layout::stage_shard_parameters(input.model, input.layout, device), input.layout);
  memory.host = host_bytes(
      input, {.updated = updated, .parameters = memory.parameters, .activations = memory.host});
  if (spec.optimizer != OffloadTarget::none) {
    memory.optimizer = {};
  }
  if (gradients_wait_on_host(input)) {
    memory.gradients = {};
    memory.communication += model::bytes_per_element(precision.activation) * (bucket * kBuffers);
  }
  if (spec.parameters != OffloadTarget::none) {
    memory.parameters = {};
    memory.communication += model::bytes_per_element(precision.parameter) * (bucket * kBuffers);
  }
}

}  // namespace orrery::step
