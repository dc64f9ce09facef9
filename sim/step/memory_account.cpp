#include "sim/step/memory_account.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "sim/layout/sharding.hpp"
#include "sim/model/memory.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/precision.hpp"
#include "sim/step/offload.hpp"
#include "sim/step/stage_costs.hpp"

namespace orrery::step {

namespace {

using layout::Sharding;

model::ActivationOptions activation_options(const StepInput& input,
                                            const cost::CostModel& costs,
                                            model::Recompute policy) {
  const hardware::SoftwareProfile& software = costs.software();
  model::ActivationOptions options{
      .ops = op_options(input, costs), .recompute = policy, .dropout = software.dropout};
  const auto& logits = input.layout.tensor > 1 && software.loss_parallel_bytes
                           ? software.loss_parallel_bytes
                           : software.logits_bytes;
  if (logits) {
    options.logits_bytes = logits->value();
  }
  return options;
}

// What a moment of the backward holds beside states and activations in flight.
struct Moment {
  Bytes working;
  Bytes communication;

  [[nodiscard]] Bytes sum() const {
    return working + communication;
  }
};

struct ChunkBytes {
  Bytes kept;       // per micro-batch in flight
  Moment layer;     // while one of its layers runs backward
  Moment head;      // while its head does, if it has one
  Bytes gradients;  // unsharded, of the chunk's parameters
  Bytes hosted;     // kept in host memory, per micro-batch in flight

  [[nodiscard]] const Moment& worst() const {
    return head.sum() > layer.sum() ? head : layer;
  }
};

// Bytes of one layer by mixture of experts and recomputation: layers are alike in all else.
class LayerTable {
 public:
  struct Entry {
    Bytes kept;
    Bytes working;
  };

  LayerTable(const StepInput& input, const cost::CostModel& costs) : input_(input), costs_(costs) {}

  const Entry& get(std::int64_t layer, model::Recompute policy) {
    auto& entry =
        entries_[input_.model.is_moe_layer(layer) ? 1 : 0][static_cast<std::size_t>(policy)];
    if (!entry) {
      const model::ActivationOptions options = activation_options(input_, costs_, policy);
      entry = {model::layer_activation_bytes(input_.model, options, layer),
               model::layer_working_bytes(input_.model, options, layer)};
    }
    return *entry;
  }

 private:
  const StepInput& input_;
  const cost::CostModel& costs_;
  std::array<std::array<std::optional<Entry>, model::kRecomputePolicies>, 2> entries_;
};

ChunkBytes chunk_bytes(const StepInput& input,
                       const cost::CostModel& costs,
                       const layout::ChunkLayers& part,
                       LayerTable& layers) {
  ChunkBytes sum;
  for (std::int64_t i = 0; i < part.num_layers; ++i) {
    const LayerTable::Entry& layer =
        layers.get(part.first_layer + i, recompute_policy(input.spec.recompute, i));
    const Bytes hosted = layer.kept * input.spec.offload.activations;
    sum.kept += layer.kept - hosted;
    sum.hosted += hosted;
    // One layer's copy is on its way while the next one runs.
    sum.layer.working = std::max(sum.layer.working, layer.working + hosted * 2.0);
  }
  const model::ActivationOptions ends =
      activation_options(input, costs, input.spec.recompute.of_head());
  if (part.has_embedding) {
    sum.kept += model::embedding_activation_bytes(input.model, ends);
  }
  if (part.has_head) {
    sum.kept += model::head_activation_bytes(input.model, ends);
    sum.head.working = model::head_working_bytes(input.model, ends);
  }
  return sum;
}

bool is_backward(const schedule::PipelineOp& op) {
  return op.kind != schedule::OpKind::forward;
}

bool releases(const schedule::PipelineOp& op) {
  return op.kind == schedule::OpKind::backward || op.kind == schedule::OpKind::backward_weight;
}

// Peak along the list of one device. With `transient_gradients` the whole gradients of a chunk live
// from its first backward until its last has been reduced (sharded gradients, reduced once a step).
void walk_list(const std::vector<schedule::PipelineOp>& list,
               const std::vector<ChunkBytes>& chunks,
               bool transient_gradients,
               StageMemory& memory) {
  std::vector<std::int64_t> releases_left(chunks.size(), 0);
  for (const schedule::PipelineOp& op : list) {
    releases_left[static_cast<std::size_t>(op.chunk)] += releases(op) ? 1 : 0;
  }
  std::vector<bool> has_gradients(chunks.size(), false);
  const Bytes sharded = memory.gradients;
  Bytes live;
  Bytes hosted;
  Bytes gradients = sharded;
  Bytes highest;
  const Bytes idle_communication = memory.communication;
  for (const schedule::PipelineOp& op : list) {
    const auto c = static_cast<std::size_t>(op.chunk);
    if (!is_backward(op)) {
      live += chunks[c].kept;
      hosted += chunks[c].hosted;
      memory.host = std::max(memory.host, hosted);
    } else if (transient_gradients && !has_gradients[c]) {
      has_gradients[c] = true;
      gradients += chunks[c].gradients;
    }
    const Moment moment = is_backward(op)
                              ? chunks[c].worst()
                              : Moment{.working = {}, .communication = idle_communication};
    if (live + moment.sum() + gradients > highest) {
      highest = live + moment.sum() + gradients;
      memory.activations = live;
      memory.working = moment.working;
      memory.communication = moment.communication;
      memory.gradients = gradients;
    }
    if (releases(op)) {
      live -= chunks[c].kept;
      hosted -= chunks[c].hosted;
      --releases_left[c];
      if (transient_gradients && releases_left[c] == 0) {
        gradients -= chunks[c].gradients;
      }
    }
  }
}

// The largest bucket, the largest chunk, and the tables with the last layer: parameters of one
// device.
struct HeldParameters {
  double bucket = 0.0;
  double chunk = 0.0;
  double all = 0.0;
  double layer = 0.0;
  double root = 0.0;  // tables and final norm of FSDP's outermost group
};

HeldParameters held_parameters(const StepInput& input,
                               const StageCosts& stages,
                               std::int64_t device) {
  HeldParameters held;
  const auto index = static_cast<std::size_t>(device);
  for (const ChunkCosts& part : stages.devices[index].chunks) {
    double sum = 0.0;
    for (const std::uint32_t bucket : part.buckets) {
      held.bucket = std::max(held.bucket, stages.buckets[bucket].parameters);
      sum += stages.buckets[bucket].parameters;
    }
    held.chunk = std::max(held.chunk, sum);
    held.all += sum;
  }
  const model::ShardContext shard = layout::shard_context(input.layout);
  const auto all = [](const model::ShardParameters& parameters) {
    return parameters.dense + parameters.expert;
  };
  for (const layout::ChunkLayers& part : input.layout.stages[index]) {
    held.root +=
        part.has_embedding ? all(model::embedding_shard_parameters(input.model, shard)) : 0;
    held.root += part.has_head ? all(model::head_shard_parameters(input.model, shard)) : 0;
    if (part.num_layers > 0) {
      const std::int64_t last = part.first_layer + part.num_layers - 1;
      held.layer =
          std::max(held.layer, all(model::layer_shard_parameters(input.model, shard, last)));
    }
  }
  return held;
}

struct CommunicationBytes {
  Bytes layer;  // while a layer runs backward
  Bytes head;   // while the head does
};

// What communication holds beside the states: gathered parameters of ZeRO-3 (the bucket that runs
// and those fetched ahead), and whole gradients of what is reduced at once when only shards are
// kept: a bucket when the reduction overlaps, else the chunk. Where the outermost group stays
// gathered it stands beside the layers; at the loss only it and the last layer are there.
CommunicationBytes communication_bytes(const StepInput& input,
                                       const cost::CostModel& costs,
                                       const StageCosts& stages,
                                       std::int64_t device) {
  const Sharding sharding = input.layout.sharding;
  const bool gathers = sharding == Sharding::zero3 || sharding == Sharding::hsdp;
  const bool reduces_shards =
      (gathers || sharding == Sharding::zero2) &&
      gradient_reduction(input, costs) == hardware::GradientReduction::per_micro_batch;
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
    const std::int64_t depth = fsdp.prefetch.value_or(software.gather_prefetch);
    const double ahead = overlaps ? static_cast<double>(depth) : 0.0;
    bytes.layer += parameter * std::min(bucket * (ahead + 1.0) + (root ? held.root : 0.0),
                                        std::max(held.all, bucket));
  }
  if (reduces_shards) {
    const bool overlaps = input.spec.overlap.data && software.can_overlap_gradients;
    bytes.layer +=
        model::bytes_per_element(input.spec.precision.gradient) * (overlaps ? bucket : held.chunk);
  }
  bytes.head = root && fsdp.reshard ? parameter * (held.layer + held.root) : bytes.layer;
  bytes.layer += kept;
  bytes.head += kept;
  return bytes;
}

// One empty gradient for every shape that the weights of a device's linear layers have, in the
// parameters' type. Experts run as grouped products, which have none; neither has the router.
Bytes empty_gradients(const StepInput& input, const cost::CostModel& costs, std::int64_t device) {
  if (!costs.software().keeps_empty_gradients) {
    return {};
  }
  const model::OpOptions options = op_options(input, costs);
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  std::array<bool, 2> seen{};  // layers of one kind are alike
  for (const layout::ChunkLayers& part : input.layout.stages[static_cast<std::size_t>(device)]) {
    for (std::int64_t i = 0; i < part.num_layers; ++i) {
      const std::int64_t layer = part.first_layer + i;
      bool& known = seen[input.model.is_moe_layer(layer) ? 1 : 0];
      if (known) {
        continue;
      }
      known = true;
      for (const model::PassOp& entry :
           model::layer_passes(input.model, options, layer).backward_weight) {
        const auto* gemm = std::get_if<model::GemmOp>(&entry.op);
        if (gemm != nullptr && !gemm->grouped && gemm->name != "router") {
          shapes.emplace(gemm->m, gemm->n);
        }
      }
    }
  }
  double elements = 0.0;
  for (const auto& [rows, columns] : shapes) {
    elements += static_cast<double>(rows) * static_cast<double>(columns);
  }
  return model::bytes_per_element(input.spec.precision.parameter) * elements;
}

// Copies of the weights in 8 or 4 bits, as they are and transposed, that the stack keeps from one
// micro-batch to the next.
Bytes cached_weights(const StepInput& input, const cost::CostModel& costs, std::int64_t device) {
  const model::PrecisionSpec& precision = input.spec.precision;
  const bool gathered =
      input.layout.sharding == Sharding::zero3 || input.layout.sharding == Sharding::hsdp;
  if (precision.casts_weights || gathered) {
    return {};  // cast where they are used
  }
  const model::CastTraffic cast =
      model::cast_traffic(precision.activation, precision.compute, precision.fp8_scaling);
  return bytes(narrow_weight_elements(input, costs, device) * cast.written);
}

// Takes what waits on the host out of the GPU's memory; two buckets of it stay as buffers.
void move_states(const StepInput& input,
                 const cost::CostModel& costs,
                 const StageCosts& stages,
                 std::int64_t device,
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
  memory.host =
      host_bytes(input,
                 costs,
                 {.updated = updated, .parameters = memory.parameters, .activations = memory.host});
  if (spec.optimizer != OffloadTarget::none) {
    memory.optimizer = {};
  }
  if (gradients_wait_on_host(input, costs)) {
    memory.gradients = {};
    memory.communication += model::bytes_per_element(precision.activation) * (bucket * kBuffers);
  }
  if (spec.parameters != OffloadTarget::none) {
    memory.parameters = {};
    memory.communication += model::bytes_per_element(precision.parameter) * (bucket * kBuffers);
  }
}

}  // namespace

std::vector<StageMemory> memory_account(const StepInput& input,
                                        const cost::CostModel& costs,
                                        const schedule::Schedule& schedule,
                                        const StageCosts& stage_costs) {
  std::vector<StageMemory> stages;
  LayerTable layers(input, costs);
  const bool shards_gradients =
      input.layout.sharding != Sharding::none && input.layout.sharding != Sharding::zero1;
  const bool transient_gradients =
      shards_gradients && !gradients_wait_on_host(input, costs) &&
      gradient_reduction(input, costs) == hardware::GradientReduction::per_step;
  for (std::int64_t d = 0; d < input.layout.pipeline; ++d) {
    const auto index = static_cast<std::size_t>(d);
    const layout::StateBytes states =
        layout::state_bytes(layout::stage_shard_parameters(input.model, input.layout, d),
                            input.spec.precision,
                            input.layout);
    StageMemory memory;
    const bool master_is_shard =
        (input.layout.sharding == Sharding::zero3 || input.layout.sharding == Sharding::hsdp) &&
        costs.software().shards_master && !input.spec.offload.any();
    memory.parameters = master_is_shard ? Bytes{} : states.parameters;
    memory.parameters += cached_weights(input, costs, d);
    memory.gradients = states.gradients;
    memory.optimizer = states.optimizer;
    const CommunicationBytes communication = communication_bytes(input, costs, stage_costs, d);
    memory.communication = communication.layer;
    std::vector<ChunkBytes> chunks;
    for (std::size_t c = 0; c < input.layout.stages[index].size(); ++c) {
      chunks.push_back(chunk_bytes(input, costs, input.layout.stages[index][c], layers));
      chunks.back().layer.communication = communication.layer;
      chunks.back().head.communication = communication.head;
      const model::ShardParameters held = layout::chunk_shard_parameters(
          input.model, input.layout, d, static_cast<std::int64_t>(c));
      chunks.back().gradients =
          model::bytes_per_element(input.spec.precision.gradient) * (held.dense + held.expert);
    }
    walk_list(schedule.lists[index], chunks, transient_gradients, memory);
    move_states(input, costs, stage_costs, d, memory);
    memory.gradients += empty_gradients(input, costs, d);
    const double fragmentation = costs.software().fragmentation.value();
    memory.overhead = memory.peak() * fragmentation + costs.software().memory_overhead.value();
    memory.limit = costs.gpu().memory.value();
    stages.push_back(memory);
  }
  return stages;
}

Feasibility judge(const std::vector<StageMemory>& stages, const StepInput& input) {
  Feasibility result;
  const auto gpus_of_node =
      static_cast<double>(std::min(input.cluster.gpus_per_node, input.layout.gpus));
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Bytes headroom = stages[i].limit - stages[i].peak();
    if (i == 0 || headroom < result.headroom) {
      result.headroom = headroom;
      result.worst_stage = static_cast<std::int64_t>(i);
    }
  }
  for (const StageMemory& stage : stages) {
    result.host = std::max(result.host, stage.host * gpus_of_node);
  }
  result.fits = !(result.headroom < Bytes{});
  const std::optional<Bytes>& host = input.spec.offload.host_memory;
  result.fits_host = !host || result.host <= *host;
  return result;
}

}  // namespace orrery::step
