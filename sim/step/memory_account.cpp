#include "sim/step/memory_account.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "sim/layout/sharding.hpp"
#include "sim/model/memory.hpp"
#include "sim/step/stage_costs.hpp"

namespace orrery::step {

namespace {

using layout::Sharding;

model::ActivationOptions activation_options(const StepInput& input,
                                            const cost::CostModel& costs,
                                            model::Recompute policy) {
  return {
      .ops = op_options(input, costs), .recompute = policy, .dropout = costs.software().dropout};
}

struct ChunkBytes {
  Bytes kept;       // per micro-batch in flight
  Bytes working;    // while one of its layers runs backward
  Bytes gradients;  // unsharded, of the chunk's parameters
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
  std::array<std::array<std::optional<Entry>, 3>, 2> entries_;
};

ChunkBytes chunk_bytes(const StepInput& input,
                       const cost::CostModel& costs,
                       const layout::ChunkLayers& part,
                       LayerTable& layers) {
  ChunkBytes sum;
  for (std::int64_t i = 0; i < part.num_layers; ++i) {
    const LayerTable::Entry& layer =
        layers.get(part.first_layer + i, recompute_policy(input.spec.recompute, i));
    sum.kept += layer.kept;
    sum.working = std::max(sum.working, layer.working);
  }
  const model::ActivationOptions ends = activation_options(input, costs, model::Recompute::none);
  if (part.has_embedding) {
    sum.kept += model::embedding_activation_bytes(input.model, ends);
  }
  if (part.has_head) {
    sum.kept += model::head_activation_bytes(input.model, ends);
    sum.working = std::max(sum.working, model::head_working_bytes(input.model, ends));
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
  Bytes gradients = sharded;
  Bytes highest;
  for (const schedule::PipelineOp& op : list) {
    const auto c = static_cast<std::size_t>(op.chunk);
    if (!is_backward(op)) {
      live += chunks[c].kept;
    } else if (transient_gradients && !has_gradients[c]) {
      has_gradients[c] = true;
      gradients += chunks[c].gradients;
    }
    const Bytes working = is_backward(op) ? chunks[c].working : Bytes{};
    if (live + working + gradients > highest) {
      highest = live + working + gradients;
      memory.activations = live;
      memory.working = working;
      memory.gradients = gradients;
    }
    if (releases(op)) {
      live -= chunks[c].kept;
      --releases_left[c];
      if (transient_gradients && releases_left[c] == 0) {
        gradients -= chunks[c].gradients;
      }
    }
  }
}

// What communication holds beside the states: gathered parameters of ZeRO-3 (the bucket that runs
// and those fetched ahead), and whole gradients of what is reduced at once when only shards are
// kept: a bucket when the reduction overlaps, else the chunk.
Bytes communication_bytes(const StepInput& input,
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
  double bucket = 0.0;
  double chunk = 0.0;
  for (const ChunkCosts& part : stages.devices[static_cast<std::size_t>(device)].chunks) {
    double sum = 0.0;
    for (const std::uint32_t index : part.buckets) {
      bucket = std::max(bucket, stages.buckets[index].parameters);
      sum += stages.buckets[index].parameters;
    }
    chunk = std::max(chunk, sum);
  }
  const model::PrecisionSpec& precision = input.spec.precision;
  const hardware::SoftwareProfile& software = costs.software();
  Bytes held;
  if (gathers) {
    const bool overlaps = input.spec.overlap.data && software.can_overlap_parameters;
    const double ahead = overlaps ? static_cast<double>(software.gather_prefetch) : 0.0;
    held += model::bytes_per_element(precision.parameter) * (bucket * (ahead + 1.0));
  }
  if (reduces_shards) {
    const bool overlaps = input.spec.overlap.data && software.can_overlap_gradients;
    held += model::bytes_per_element(precision.gradient) * (overlaps ? bucket : chunk);
  }
  return held;
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
      shards_gradients && gradient_reduction(input, costs) == hardware::GradientReduction::per_step;
  for (std::int64_t d = 0; d < input.layout.pipeline; ++d) {
    const auto index = static_cast<std::size_t>(d);
    const layout::StateBytes states =
        layout::state_bytes(layout::stage_shard_parameters(input.model, input.layout, d),
                            input.spec.precision,
                            input.layout);
    StageMemory memory;
    memory.parameters = states.parameters;
    memory.gradients = states.gradients;
    memory.optimizer = states.optimizer;
    std::vector<ChunkBytes> chunks;
    for (std::size_t c = 0; c < input.layout.stages[index].size(); ++c) {
      chunks.push_back(chunk_bytes(input, costs, input.layout.stages[index][c], layers));
      const model::ShardParameters held = layout::chunk_shard_parameters(
          input.model, input.layout, d, static_cast<std::int64_t>(c));
      chunks.back().gradients =
          model::bytes_per_element(input.spec.precision.gradient) * (held.dense + held.expert);
    }
    walk_list(schedule.lists[index], chunks, transient_gradients, memory);
    memory.communication = communication_bytes(input, costs, stage_costs, d);
    memory.gradients += empty_gradients(input, costs, d);
    const double fragmentation = costs.software().fragmentation.value();
    memory.overhead = memory.peak() * fragmentation + costs.software().memory_overhead.value();
    memory.limit = costs.gpu().memory.value();
    stages.push_back(memory);
  }
  return stages;
}

Feasibility judge(const std::vector<StageMemory>& stages) {
  Feasibility result;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Bytes headroom = stages[i].limit - stages[i].peak();
    if (i == 0 || headroom < result.headroom) {
      result.headroom = headroom;
      result.worst_stage = static_cast<std::int64_t>(i);
    }
  }
  result.fits = !(result.headroom < Bytes{});
  return result;
}

}  // namespace orrery::step
