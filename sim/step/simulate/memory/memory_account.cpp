#include "sim/step/simulate/memory/memory_account.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/step/layout/sharding.hpp"
#include "sim/step/model/memory.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/model/precision.hpp"
#include "sim/step/simulate/memory/held_bytes.hpp"
#include "sim/step/simulate/stages/costing.hpp"
#include "sim/step/simulate/stages/layer_costs.hpp"
#include "sim/step/simulate/stages/offload.hpp"
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

using layout::Sharding;

model::ActivationOptions activation_options(const StepInput& input, const cost::CostModel& costs,
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

  [[nodiscard]] Bytes sum() const { return working + communication; }
};

struct ChunkBytes {
  Bytes kept;       // per micro-batch in flight
  Bytes largest;    // of it, one layer
  Moment layer;     // while one of its layers runs backward
  Moment head;      // while its head does, if it has one
  Bytes gradients;  // unsharded, of the chunk's parameters
  Bytes hosted;     // kept in host memory, per micro-batch in flight

  [[nodiscard]] const Moment& worst() const { return head.sum() > layer.sum() ? head : layer; }
};

using LayerTable = std::array<std::optional<LayerBytes>, kLayerSorts>;

// Bytes of one layer by shape and recomputation: layers are alike in all else.
const LayerBytes& layer_bytes(const StepInput& input, const cost::CostModel& costs,
                              std::int64_t layer, model::Recompute policy, LayerTable& table) {
  const std::size_t kind = input.model.shape_index(layer);
  std::optional<LayerBytes>& entry =
      table[kind * model::kRecomputePolicies + static_cast<std::size_t>(policy)];
  if (!entry) {
    const model::ActivationOptions options = activation_options(input, costs, policy);
    entry = {model::layer_activation_bytes(input.model, options, layer),
             model::layer_working_bytes(input.model, options, layer)};
  }
  return *entry;
}

ChunkBytes chunk_bytes(const StepInput& input, const cost::CostModel& costs,
                       const layout::ChunkLayers& part, LayerTable& layers) {
  ChunkBytes sum;
  for (std::int64_t i = 0; i < part.num_layers;) {
    const LayerBytes& layer = layer_bytes(input, costs, part.first_layer + i,
                                          recompute_policy(input.spec.recompute, i), layers);
    const OffloadSpec& offload = input.spec.offload;
    const Bytes hosted =
        offload.modules == model::OffloadModules{}
            ? layer.kept * offload.activations
            : model::layer_offloaded_bytes(
                  input.model,
                  activation_options(input, costs, recompute_policy(input.spec.recompute, i)),
                  offload.modules, part.first_layer + i);
    for (const std::int64_t end = alike_until(input, part, i, part.num_layers); i < end; ++i) {
      sum.kept += layer.kept - hosted;
      sum.hosted += hosted;
    }
    sum.largest = std::max(sum.largest, layer.kept - hosted);
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

// The peak of one device, from the moments that can be it. With `transient_gradients` the whole
// gradients of a chunk live from its first backward until its last has been reduced (sharded
// gradients, reduced once a step).
void weigh(const std::vector<schedule::LiveMoment>& moments, const std::vector<ChunkBytes>& chunks,
           bool transient_gradients, StageMemory& memory) {
  const Bytes sharded = memory.gradients;
  const Bytes idle_communication = memory.communication;
  Bytes highest;
  for (const schedule::LiveMoment& at : moments) {
    Bytes live = at.ahead ? chunks[static_cast<std::size_t>(*at.ahead)].largest : Bytes{};
    Bytes hosted;
    Bytes gradients = sharded;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      live += chunks[c].kept * static_cast<double>(at.live[c]);
      hosted += chunks[c].hosted * static_cast<double>(at.live[c]);
      gradients += transient_gradients && at.gradients[c] ? chunks[c].gradients : Bytes{};
    }
    const Moment moment = at.chunk ? chunks[static_cast<std::size_t>(*at.chunk)].worst()
                                   : Moment{.working = {}, .communication = idle_communication};
    memory.host = std::max(memory.host, hosted);
    if (live + moment.sum() + gradients > highest) {
      highest = live + moment.sum() + gradients;
      memory.activations = live;
      memory.working = moment.working;
      memory.communication = moment.communication;
      memory.gradients = gradients;
    }
  }
}

bool has_transient_gradients(const StepInput& input) {
  const bool shards_gradients =
      input.layout.sharding != Sharding::none && input.layout.sharding != Sharding::zero1;
  return shards_gradients && !gradients_wait_on_host(input) &&
         input.choices.reduction == hardware::GradientReduction::per_step;
}

// What is known from steps of the same shape, or only from other devices of this one.
struct KnownSizes {
  explicit KnownSizes(KnownPasses* known)
      : layers(known != nullptr ? known->bytes : own_layers),
        empty(known != nullptr ? known->empty_gradients : own_empty),
        narrow(known != nullptr ? &known->narrow_elements : &own_narrow) {}

  LayerTable own_layers;
  EmptyGradients own_empty;
  NarrowElements own_narrow;
  LayerTable& layers;
  EmptyGradients& empty;
  NarrowElements* narrow;
};

// A value model beside the policy: its states; it is trained while the policy is not, so that its
// activations need no place of their own.
void add_critic(double size, StageMemory& memory) {
  for (Bytes* states : {&memory.parameters, &memory.gradients, &memory.optimizer}) {
    *states += *states * size;
  }
}

// The weights of a second model, in the parameters' type and split as they are.
Bytes reference_bytes(const StepInput& input, std::int64_t device) {
  const model::ShardParameters held =
      layout::stage_shard_parameters(input.model, input.layout, device);
  return model::bytes_per_element(input.spec.precision.parameter) *
         layout::kept_parameters(held, input.layout);
}

// What is trained is its own master copy: wider parameters, less state for each that is updated.
void keep_in_fp32(const StepInput& input, const layout::StateBytes& states, double updated,
                  StageMemory& memory) {
  constexpr Bytes kMaster = bytes(4.0);
  const model::PrecisionSpec& precision = input.spec.precision;
  if (!precision.is_master() && precision.optimizer_bytes >= kMaster) {
    memory.parameters += (states.parameters - states.frozen) *
                         (kMaster / model::bytes_per_element(precision.parameter) - 1.0);
    memory.optimizer -= kMaster * updated;
  }
}

// Everything of one pipeline device; `walk` fills the terms that depend on the moment.
template <typename Walk>
StageMemory device_memory(const StepInput& input, const cost::CostModel& costs,
                          const StageCosts& stage_costs, std::int64_t d, KnownSizes& sizes,
                          const Walk& walk) {
  const auto index = static_cast<std::size_t>(d);
  const model::ShardParameters held = layout::stage_shard_parameters(input.model, input.layout, d);
  const layout::StateBytes states = layout::state_bytes(held, input.spec.precision, input.layout);
  StageMemory memory;
  const bool master_is_shard =
      (input.layout.sharding == Sharding::zero3 || input.layout.sharding == Sharding::hsdp) &&
      costs.software().shards_master && !input.spec.precision.is_master() &&
      !input.spec.offload.any();
  memory.parameters = master_is_shard ? states.frozen : states.parameters;
  if (input.model.reference && !input.model.lora) {  // with adapters: the model without them
    memory.parameters += reference_bytes(input, d);
  }
  memory.parameters += cached_weights(input, costs, d, sizes.narrow);
  memory.gradients = states.gradients;
  memory.optimizer = states.optimizer;
  if (input.model.lora && input.model.lora->fp32 && !master_is_shard) {
    keep_in_fp32(input, states, layout::optimizer_parameters(held, input.layout), memory);
  }
  add_critic(input.spec.critic, memory);
  const CommunicationBytes communication = communication_bytes(input, costs, stage_costs, d);
  memory.communication = communication.layer;
  std::vector<ChunkBytes> chunks;
  for (std::size_t c = 0; c < input.layout.stages[index].size(); ++c) {
    chunks.push_back(chunk_bytes(input, costs, input.layout.stages[index][c], sizes.layers));
    chunks.back().layer.communication = communication.layer;
    chunks.back().head.communication = communication.head;
    const model::ShardParameters held =
        layout::chunk_shard_parameters(input.model, input.layout, d, static_cast<std::int64_t>(c));
    chunks.back().gradients =
        model::bytes_per_element(input.spec.precision.gradient) * held.trained().all();
  }
  walk(chunks, memory);
  if (schedule::traits_of(input.spec.schedule).stale) {  // of steps before and behind as well
    const std::int64_t in_flight = input.layout.pipeline - d;
    const std::int64_t m = input.layout.micro_batches;
    memory.activations +=
        chunks.front().kept * static_cast<double>(std::max<std::int64_t>(0, in_flight - m));
    memory.parameters +=
        states.parameters *
        static_cast<double>(schedule::weight_versions(input.spec.schedule, in_flight, m) - 1);
  }
  move_states(input, stage_costs, d, memory);
  memory.gradients += empty_gradients(input, costs, d, sizes.empty);
  const double fragmentation = costs.software().fragmentation.value();
  memory.overhead = memory.peak() * fragmentation + costs.software().memory_overhead.value();
  memory.limit = costs.gpu().memory.value();
  return memory;
}

bool same_layers(const StepInput& input, std::size_t a, std::size_t b) {
  const auto& one = input.layout.stages[a];
  const auto& other = input.layout.stages[b];
  const auto alike = [&input](const layout::ChunkLayers& a, const layout::ChunkLayers& b) {
    for (std::int64_t i = 0; i < a.num_layers; ++i) {
      if (input.model.shape_index(a.first_layer + i) !=
          input.model.shape_index(b.first_layer + i)) {
        return false;
      }
    }
    return true;
  };
  return std::equal(one.begin(), one.end(), other.begin(), [&](const auto& x, const auto& y) {
    return x.num_layers == y.num_layers && x.has_embedding == y.has_embedding &&
           x.has_head == y.has_head && alike(x, y);
  });
}

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

std::vector<StageMemory> memory_account(const StepInput& input, const cost::CostModel& costs,
                                        const schedule::LivePeaks& peaks,
                                        const StageCosts& stage_costs) {
  std::vector<StageMemory> stages;
  KnownSizes sizes(stage_costs.known);
  const bool transient = has_transient_gradients(input);
  for (std::size_t d = 0; d < peaks.devices.size(); ++d) {
    stages.push_back(device_memory(input, costs, stage_costs, static_cast<std::int64_t>(d), sizes,
                                   [&](const std::vector<ChunkBytes>& chunks, StageMemory& memory) {
                                     weigh(peaks.devices[d], chunks, transient, memory);
                                   }));
  }
  return stages;
}

std::vector<StageMemory> peak_memory(const StepInput& input, const cost::CostModel& costs,
                                     const schedule::LivePeaks& peaks,
                                     const StageCosts& stage_costs) {
  std::vector<StageMemory> stages;
  KnownSizes sizes(stage_costs.known);
  const bool transient = has_transient_gradients(input);
  for (std::size_t d = 0; d < peaks.devices.size(); ++d) {
    if (d > 0 && peaks.covered[d] && same_layers(input, d, d - 1)) {
      continue;  // needs no more than the device before
    }
    stages.push_back(device_memory(input, costs, stage_costs, static_cast<std::int64_t>(d), sizes,
                                   [&](const std::vector<ChunkBytes>& chunks, StageMemory& memory) {
                                     weigh(peaks.devices[d], chunks, transient, memory);
                                   }));
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
