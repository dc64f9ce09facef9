#include "sim/step/simulate/stages/stage_costs.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "sim/base/check.hpp"
#include "sim/step/layout/sharding.hpp"
#include "sim/step/model/memory.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/simulate/stages/costing.hpp"
#include "sim/step/simulate/stages/data_parallel_costs.hpp"
#include "sim/step/simulate/stages/host_launches.hpp"
#include "sim/step/simulate/stages/layer_costs.hpp"
#include "sim/step/simulate/stages/offload.hpp"
#include "sim/step/simulate/stages/optimizer_costs.hpp"

namespace orrery::step {

namespace {

using layout::Sharding;

constexpr double kGpusOfOneNode = 8.0;

void add_layer(BucketCosts& bucket, const LayerCosts& layer, double count) {
  bucket.forward.add(layer.forward, count);
  bucket.backward.add(layer.recompute, count);
  bucket.backward.add(layer.backward_input, count);
  bucket.backward.add(layer.backward_weight, count);
  bucket.backward.add(layer.full_backward_gain, count);
  bucket.backward_input.add(layer.recompute, count);
  bucket.backward_input.add(layer.backward_input, count);
  bucket.backward_weight.add(layer.backward_weight, count);
}

void apply_jitter(Parts& parts, const Costing& costing) {
  const double share = jitter_share(costing.input, costing.costs);
  if (share > 0.0) {
    parts.add(StepCategory::idle, cost::term(parts.total() * share,
                                             costing.costs.software().jitter_per_doubling.kind()));
  }
}

// Until the next look for gradients, in the mean; all but the last of a backward wait behind it.
cost::Cost cycle_wait(const StepInput& input) {
  constexpr double kMean = 0.5;
  return cost::term(kMean * input.spec.cycle.value_or(Seconds{}), SourceKind::given);
}

// Layers of one sort in a bucket, and one of them, for its shapes.
struct SortedLayers {
  std::size_t sort = 0;
  double layers = 0.0;
  std::int64_t example = 0;
};

// What a bucket holds. Layers are told apart by their sort alone, so equal contents cost the same.
struct BucketContent {
  std::vector<SortedLayers> layers;  // by sort
  bool embedding = false;
  bool head = false;
  double shared_table = 0.0;  // parameters of the copied input table, beside the head
  bool last = false;          // that a backward reaches

  void add(std::size_t sort, double share, std::int64_t layer) {
    auto at = std::ranges::lower_bound(layers, sort, {}, &SortedLayers::sort);
    if (at == layers.end() || at->sort != sort) {
      at = layers.insert(at, {sort, 0.0, layer});
    }
    at->layers += share;
    at->example = layer;
  }

  friend bool operator==(const BucketContent& a, const BucketContent& b) {
    return a.embedding == b.embedding && a.head == b.head && a.shared_table == b.shared_table &&
           a.last == b.last &&
           std::ranges::equal(a.layers, b.layers, [](const auto& x, const auto& y) {
             return x.sort == y.sort && x.layers == y.layers;
           });
  }
};

// The distinct buckets of all chunks; only what occurs is costed, and only once.
class BucketTable {
 public:
  BucketTable(const Costing& costing, KnownPasses& known, KnownPlaces* places, Replicas replicas)
      : costing_(costing), known_(known), places_(places), replicas_(replicas) {}

  std::uint32_t index_of(const BucketContent& content) {
    const auto known = std::ranges::find(contents_, content);
    if (known == contents_.end()) {
      contents_.push_back(content);
      buckets_.push_back(cost_bucket(content));
      return static_cast<std::uint32_t>(buckets_.size() - 1);
    }
    return static_cast<std::uint32_t>(known - contents_.begin());
  }

  [[nodiscard]] std::vector<BucketCosts> take() && { return std::move(buckets_); }

  // The layers that were costed, cut at their all-to-all.
  [[nodiscard]] CombinedLayers combined() const;

  // Of one micro-batch over all chunks of the device.
  [[nodiscard]] Seconds backward_time(const DeviceCosts& device) const {
    Seconds sum;
    for (const ChunkCosts& chunk : device.chunks) {
      for (const std::uint32_t bucket : chunk.buckets) {
        sum += buckets_[bucket].backward.total();
      }
    }
    return sum;
  }

 private:
  BucketCosts cost_bucket(const BucketContent& content);
  [[nodiscard]] model::ShardParameters held_by(const BucketContent& content) const;
  [[nodiscard]] BucketBytes moved_bytes(const BucketContent& content,
                                        const model::ShardParameters& held) const;
  const LayerCosts& layer_costs(std::size_t sort, std::int64_t layer, model::Recompute policy);

  [[nodiscard]] ReplicaParts replica_parts(const model::ShardParameters& held) const;
  const LayerCosts& embedding_costs();
  const LayerCosts& head_costs();

  const Costing& costing_;
  KnownPasses& known_;
  KnownPlaces* places_;
  Replicas replicas_;
  std::vector<BucketContent> contents_;
  std::vector<BucketCosts> buckets_;
};

const LayerCosts& BucketTable::layer_costs(std::size_t sort, std::int64_t layer,
                                           model::Recompute policy) {
  std::optional<LayerCosts>& known = known_.layers[sort];
  if (!known) {
    known = cost_layer(costing_.layer, layer, policy, known_.collectives);
  }
  return *known;
}

const LayerCosts& BucketTable::embedding_costs() {
  std::optional<LayerCosts>& known = known_.embedding;
  if (!known) {
    known = cost_passes(costing_.layer,
                        model::embedding_passes(costing_.input.model, costing_.layer.in.options),
                        known_.collectives);
  }
  return *known;
}

const LayerCosts& BucketTable::head_costs() {
  const model::Recompute policy = costing_.input.spec.recompute.of_head();
  std::optional<LayerCosts>& known = known_.head[static_cast<std::size_t>(policy)];
  if (!known) {
    const model::ModelSpec& model = costing_.input.model;
    known = cost_passes(costing_.layer, model::head_passes(model, costing_.layer.in.options),
                        known_.collectives);
    known->recompute =
        cost_passes(costing_.layer,
                    {model::head_recompute_pass(model, costing_.layer.in.options, policy), {}, {}},
                    known_.collectives)
            .forward;
  }
  return *known;
}

// Buckets of the same size on the same groups cost the same.
ReplicaParts BucketTable::replica_parts(const model::ShardParameters& held) const {
  const layout::Sharding sharding = costing_.input.layout.sharding;
  const model::ShardShare reduced = held.trained();
  const model::ShardShare gathered = gathered_parameters(costing_, held);
  if (places_ != nullptr) {
    for (const ReplicaParts& known : places_->replicas) {
      if (known.reduced == reduced && known.gathered == gathered && known.sharding == sharding) {
        return known;
      }
    }
  }
  ReplicaParts bucket{.reduced = reduced, .gathered = gathered, .sharding = sharding};
  const cost::Placements& places = costing_.places;
  const ReplicaGroups dense = {places.data, places.shard, places.replica};
  const ReplicaGroups expert = {places.expert_data, places.expert_shard, places.expert_replica};
  add_reduction(ReplicaSink(bucket.gradient_reduce), costing_, reduced.dense, dense);
  add_reduction(ReplicaSink(bucket.gradient_reduce), costing_, reduced.expert, expert);
  add_gather(ReplicaSink(bucket.parameter_gather), costing_, gathered.dense, dense);
  add_gather(ReplicaSink(bucket.parameter_gather), costing_, gathered.expert, expert);
  add_gather_again(ReplicaSink(bucket.parameter_gather_again), costing_, gathered.dense, dense);
  add_gather_again(ReplicaSink(bucket.parameter_gather_again), costing_, gathered.expert, expert);
  constexpr std::size_t kMost = 64;
  if (places_ != nullptr && places_->replicas.size() < kMost) {
    places_->replicas.push_back(bucket);
  }
  return bucket;
}

BucketCosts BucketTable::cost_bucket(const BucketContent& content) {
  BucketCosts bucket;
  for (const auto& [sort, layers, example] : content.layers) {
    const auto policy = static_cast<model::Recompute>(sort % model::kRecomputePolicies);
    add_layer(bucket, layer_costs(sort, example, policy), layers);
  }
  const auto add_edge = [&](const LayerCosts& edge) {
    add_layer(bucket, edge, 1.0);
    if (costing_.layer.in.combines) {
      bucket.edges.forward.add(edge.forward);
      bucket.edges.backward_input.add(edge.recompute);
      bucket.edges.backward_input.add(edge.backward_input);
      bucket.edges.backward_weight.add(edge.backward_weight);
    }
  };
  if (content.embedding) {
    add_edge(embedding_costs());
  }
  if (content.head) {
    add_edge(head_costs());
  }
  if (replicas_ == Replicas::costed) {
    bucket.held = held_by(content);
    bucket.parameters = bucket.held.all();
    const ReplicaParts replica = replica_parts(bucket.held);
    bucket.gradient_reduce = replica.gradient_reduce;
    if (content.last && bucket.gradient_reduce.total() > Seconds{}) {
      bucket.gradient_reduce.add(StepCategory::exposed_data, cycle_wait(costing_.input));
    }
    bucket.parameter_gather = replica.parameter_gather;
    bucket.parameter_gather_again = replica.parameter_gather_again;
  }
  for (Parts* parts :
       {&bucket.forward, &bucket.backward, &bucket.backward_input, &bucket.backward_weight}) {
    apply_jitter(*parts, costing_);
  }
  if (replicas_ == Replicas::costed && costing_.input.spec.offload.any()) {
    add_copies(bucket, costing_, moved_bytes(content, bucket.held));
  }
  return bucket;
}

// Without a flush device d has p - d micro-batches in flight, each of which goes down to the last
// device and back before the next may take its place. Device and round trip bound the pace:
//   T = max over d of max(f_d + b_d, sum over k >= d of (f_k + b_k + hops) / (p - d))
// The step lacks m times what T exceeds the slowest device by.
void add_round_trips(const StepInput& input, StageCosts& costs) {
  Seconds slowest;
  Seconds pace;
  Seconds trip;
  for (std::size_t d = costs.devices.size(); d-- > 0;) {
    Seconds passes;
    for (const ChunkCosts& chunk : costs.devices[d].chunks) {
      for (const std::uint32_t bucket : chunk.buckets) {
        passes += costs.buckets[bucket].forward.total() + costs.buckets[bucket].backward.total();
      }
    }
    trip += passes;
    if (d + 1 < costs.devices.size()) {
      trip += costs.send_forward[d].total() + costs.send_backward[d + 1].total();
    }
    slowest = std::max(slowest, passes);
    pace = std::max({pace, passes, trip / static_cast<double>(costs.devices.size() - d)});
  }
  const cost::Cost wait = cost::term(
      (pace - slowest) * static_cast<double>(input.layout.micro_batches), SourceKind::assumed);
  for (DeviceCosts& device : costs.devices) {
    device.optimizer.add(StepCategory::exposed_pipeline, wait);
  }
}

// Parameters of the rank's shard of the model, before ZeRO.
model::ShardParameters BucketTable::held_by(const BucketContent& content) const {
  const model::ModelSpec& model = costing_.input.model;
  const model::ShardContext& shard = costing_.layer.in.options.shard;
  model::ShardParameters held;
  for (const auto& [sort, layers, example] : content.layers) {
    held.add(model::layer_shard_parameters(model, shard, example), layers);
  }
  if (content.embedding) {
    held.add(model::embedding_shard_parameters(model, shard));
  }
  if (content.head) {
    held.add(model::head_shard_parameters(model, shard));
  }
  held.dense += content.shared_table;
  held.frozen.dense += model.trains(&model::TrainedModules::embedding) ? 0.0 : content.shared_table;
  return held;
}

CombinedLayers BucketTable::combined() const {
  CombinedLayers combined;
  if (!costing_.layer.in.combines) {
    return combined;
  }
  const hardware::SoftwareProfile& software = costing_.costs.software();
  combined.active = true;
  combined.slowdown = expert_slowdown(costing_.costs);
  combined.jitter = jitter_share(costing_.input, costing_.costs);
  combined.exposed_share = 1.0 - software.expert_overlap_share.value();
  combined.host_sharpness = host_sharpness(costing_.layer);
  combined.source = software.communication_slowdown.kind();
  combined.copies_overlap = costing_.input.spec.offload.overlap;
  combined.copies_source = copies_source(costing_);
  for (std::size_t sort = 0; sort < known_.layers.size(); ++sort) {
    if (known_.layers[sort]) {
      combined.nodes[sort] = known_.layers[sort]->nodes;
      combined.host[sort] = known_.layers[sort]->host;
    }
  }
  return combined;
}

// Embedding and head keep next to nothing beside a layer's activations: they stay on the GPU.
BucketBytes BucketTable::moved_bytes(const BucketContent& content,
                                     const model::ShardParameters& held) const {
  const StepInput& input = costing_.input;
  BucketBytes moved;
  for (const auto& [sort, layers, example] : content.layers) {
    const auto policy = static_cast<model::Recompute>(sort % model::kRecomputePolicies);
    const model::ActivationOptions options = {.ops = costing_.layer.in.options,
                                              .recompute = policy,
                                              .dropout = costing_.layer.in.options.dropout};
    const OffloadSpec& offload = input.spec.offload;
    const Bytes one =
        offload.modules == model::OffloadModules{}
            ? model::layer_activation_bytes(input.model, options, example) * offload.activations
            : model::layer_offloaded_bytes(input.model, options, offload.modules, example);
    moved.activations += one * layers;
  }
  moved.held = layout::kept_parameters(held, input.layout);
  moved.updated = layout::optimizer_parameters(held, input.layout);
  return moved;
}

ChunkCosts cost_chunk(const Costing& costing, BucketTable& table, std::size_t device,
                      std::size_t number, int bucket_count, double shared_table) {
  const StepInput& input = costing.input;
  const layout::ChunkLayers& part = input.layout.stages[device][number];
  ChunkCosts chunk;
  chunk.buckets.reserve(static_cast<std::size_t>(bucket_count));
  std::int64_t alike = 0;  // end of the layers that are of this sort
  std::size_t sort = 0;
  BucketContent content;
  for (int b = 0; b < bucket_count; ++b) {
    content.layers.clear();
    const BucketSpan span = bucket_span(input, device, number, bucket_count, b);
    for (std::int64_t i = span.first(); i < span.last(); ++i) {
      if (i >= alike) {
        alike = alike_until(input, part, i, part.num_layers);
        sort = layer_sort(input.model, part.first_layer + i,
                          recompute_policy(input.spec.recompute, i));
      }
      if (const double share = span.share(i); share > 0.0) {
        content.add(sort, share, part.first_layer + i);
      }
      if (costing.layer.in.combines && span.begin <= static_cast<double>(i)) {
        chunk.layers.push_back(static_cast<std::uint8_t>(sort));
      }
    }
    content.embedding = span.embedding;
    content.head = span.head;
    content.shared_table = content.head ? shared_table : 0.0;
    content.last = input.spec.cycle && b == 0;
    chunk.buckets.push_back(table.index_of(content));
  }
  return chunk;
}

}  // namespace

Costing make_costing(const StepInput& input, const cost::CostModel& costs,
                     const cost::Placements* places) {
  const OverlapSpec& overlap = input.spec.overlap;
  const cost::Placements all = places != nullptr ? *places : placements(input);
  // What is overlapped is gathered and scattered along the sequence.
  const bool overlaps_tensor = overlap.tensor && input.layout.sequence_parallel;
  const LayerGroups groups = {all.tensor, all.context, all.expert, all.expert_tensor};
  LayerInputs in = {
      .options = op_options(input, costs),
      .groups = groups,
      .experts = input.choices.experts,
      .tensor_exposed = overlaps_tensor ? costs.software().tensor_exposed.value() : 1.0,
      .tensor_chunks = overlaps_tensor ? overlap.tensor_chunks : std::nullopt,
      .overlaps_experts = input.choices.overlaps_experts,
      .combines = input.choices.combines,
      .masked = masked_attention(input, costs)};
  return {.input = input,
          .costs = costs,
          .layer = {.model = input.model,
                    .costs = costs,
                    .in = std::move(in),
                    .places = groups.placements()},
          .places = all};
}

const LayerNodeParts& CombinedLayers::nodes_of(std::uint8_t sort) const {
  ORRERY_CHECK(nodes[sort] != nullptr, "layers of sort {} were not costed", int{sort});
  return *nodes[sort];
}

double micro_batches_per_chunk(const StepInput& input) {
  const auto all = static_cast<double>(input.layout.micro_batches);
  const auto placement = schedule::traits_of(input.spec.schedule).placement;
  return placement == layout::StagePlacement::bidirectional ? all / 2.0 : all;
}

std::int64_t alike_until(const StepInput& input, const layout::ChunkLayers& part,
                         std::int64_t index_in_chunk, std::int64_t end) {
  const auto& layers = input.spec.recompute.layers;
  const std::int64_t recomputed = layers && index_in_chunk < *layers ? *layers : end;
  const std::int64_t alike = input.model.alike_until(part.first_layer + index_in_chunk);
  return std::min({end, recomputed, alike - part.first_layer});
}

std::size_t layer_sort(const model::ModelSpec& model, std::int64_t layer, model::Recompute policy) {
  return model.kind_index(layer) * model::kRecomputePolicies + static_cast<std::size_t>(policy);
}

model::Recompute recompute_policy(const RecomputeSpec& spec, std::int64_t index_in_chunk) {
  if (!spec.layers) {
    return spec.policy;
  }
  const bool by_module = spec.policy == model::Recompute::modules;
  const model::Recompute inside = by_module ? spec.policy : model::Recompute::full;
  return index_in_chunk < *spec.layers ? inside : model::Recompute::none;
}

Seconds Parts::total() const {
  Seconds sum;
  for (const Seconds part : by_category) {
    sum += part;
  }
  return sum;
}

void Parts::add(StepCategory category, const cost::Cost& cost, double share) {
  const bool busy = category == StepCategory::compute || category == StepCategory::recompute;
  const Seconds gap = busy ? cost.gap : Seconds{};
  by_category[static_cast<std::size_t>(category)] += (cost.time - gap) * share;
  by_category[static_cast<std::size_t>(StepCategory::launch_gap)] += gap * share;
  for (std::size_t i = 0; i < kSourceKindCount; ++i) {
    by_source[i] += cost.by_source[i] * share;
  }
  extrapolated += cost.extrapolated * share;
}

void Parts::add(const Parts& other, double count) {
  for (std::size_t i = 0; i < kStepCategories; ++i) {
    by_category[i] += other.by_category[i] * count;
  }
  for (std::size_t i = 0; i < kSourceKindCount; ++i) {
    by_source[i] += other.by_source[i] * count;
  }
  extrapolated += other.extrapolated * count;
}

// Grows with the number of nodes.
double jitter_share(const StepInput& input, const cost::CostModel& costs) {
  const double nodes = static_cast<double>(input.layout.gpus) / kGpusOfOneNode;
  return nodes > 1.0 ? costs.software().jitter_per_doubling.value() * std::log2(nodes) : 0.0;
}

StageCosts stage_costs(const StepInput& input, const cost::CostModel& costs,
                       const std::vector<std::vector<int>>& buckets, CostMemo* memo,
                       Replicas replicas) {
  CostMemo own;
  KnownPlaces* places = memo != nullptr ? &memo->places(input) : nullptr;
  Costing costing = make_costing(input, costs, places != nullptr ? &places->places : nullptr);
  KnownPasses& passes = (memo != nullptr ? *memo : own).passes(costing.layer.in);
  costing.narrow_elements = &passes.narrow_elements;
  BucketTable table(costing, passes, places, replicas);
  StageCosts result;
  result.known = memo != nullptr ? &passes : nullptr;
  std::vector<bool> hops_on_network;
  const layout::RankMap map(input.layout);
  for (std::int64_t d = 0; d < input.layout.pipeline; ++d) {
    const auto index = static_cast<std::size_t>(d);
    DeviceCosts device;
    for (std::size_t c = 0; c < input.layout.stages[index].size(); ++c) {
      const double copied = replicas == Replicas::free
                                ? 0.0
                                : layout::shared_table_parameters(input.model, input.layout, d,
                                                                  static_cast<std::int64_t>(c));
      device.chunks.push_back(cost_chunk(costing, table, index, c, buckets[index][c], copied));
    }
    if (replicas == Replicas::costed) {
      device.optimizer =
          cost_optimizer(costing, layout::stage_shard_parameters(input.model, input.layout, d), d,
                         table.backward_time(device));
      device.optimizer.add(cost_copies(costing, map, d));
    }
    result.devices.push_back(std::move(device));
    Parts to_next;
    Parts back;
    hops_on_network.push_back(false);
    if (input.layout.pipeline > 1) {
      const layout::HopPlacement hop = places != nullptr
                                           ? places->hops[index]
                                           : layout::place_hop(map, input.layout, d, input.cluster);
      to_next.add(StepCategory::exposed_pipeline,
                  costs.send_receive(message_bytes(input, false), hop));
      back.add(StepCategory::exposed_pipeline, costs.send_receive(message_bytes(input, true), hop));
      hops_on_network.back() = !hop.same_node && !hop.same_domain;
    }
    result.send_forward.push_back(to_next);
    result.send_backward.push_back(back);
  }
  // A hop takes as long backwards: what device d sends back takes the hop of the device before it.
  std::rotate(result.send_backward.begin(), result.send_backward.end() - 1,
              result.send_backward.end());
  result.combined = table.combined();
  result.buckets = std::move(table).take();
  if (replicas == Replicas::costed && schedule::traits_of(input.spec.schedule).stale) {
    add_round_trips(input, result);
  }
  const bool flows = hardware::flows_share_links(costs.cluster());
  if (replicas == Replicas::free || flows) {
    return result;
  }
  share_nics({.places = costing.places,
              .software = costs.software(),
              .overlapped = input.spec.overlap.data,
              .hops_on_network = hops_on_network},
             result);
  return result;
}

}  // namespace orrery::step
