#include "sim/step/stage_costs.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "sim/layout/sharding.hpp"
#include "sim/model/parameters.hpp"
#include "sim/step/data_parallel_costs.hpp"

namespace orrery::step {

namespace {

using layout::Sharding;

// Host time of a pass relative to the forward: the backward launches about 1.4 times as many
// kernels.
constexpr double kHostBackward = 1.4;
constexpr double kGpusOfOneNode = 8.0;

StepCategory exposed_category(model::CommAxis axis) {
  switch (axis) {
    case model::CommAxis::tensor:
      return StepCategory::exposed_tensor;
    case model::CommAxis::context:
      return StepCategory::exposed_context;
    case model::CommAxis::expert:
    case model::CommAxis::expert_tensor:
      return StepCategory::exposed_expert;
    case model::CommAxis::data:
      return StepCategory::exposed_data;
    case model::CommAxis::pipeline:
      return StepCategory::exposed_pipeline;
  }
  return StepCategory::exposed_tensor;
}

Costing make_costing(const StepInput& input, const cost::CostModel& costs) {
  const double exposed = input.spec.overlap.tensor ? costs.software().tensor_exposed.value() : 1.0;
  return {input, costs, op_options(input, costs), placements(input), exposed};
}

// Time of the GEMM that a collective may run beside: the nearest one in its direction.
Seconds neighbour_time(const Costing& costing, const model::Pass& pass, std::size_t at) {
  const auto is_gemm = [](const model::PassOp& entry) {
    return std::holds_alternative<model::GemmOp>(entry.op);
  };
  const auto here = pass.begin() + static_cast<std::ptrdiff_t>(at);
  const model::GemmOp* gemm = nullptr;
  if (std::get<model::CollectiveOp>(here->op).beside == model::Beside::next_gemm) {
    const auto next = std::find_if(here, pass.end(), is_gemm);
    gemm = next != pass.end() ? &std::get<model::GemmOp>(next->op) : nullptr;
  } else {
    const auto previous = std::find_if(std::make_reverse_iterator(here), pass.rend(), is_gemm);
    gemm = previous != pass.rend() ? &std::get<model::GemmOp>(previous->op) : nullptr;
  }
  return gemm != nullptr ? costing.costs.gemm(*gemm).time : Seconds{};
}

// Share of a tensor-parallel collective that the compute stream waits for. What runs beside a GEMM
// still takes SMs and memory bandwidth from it.
double exposed_share(const Costing& costing,
                     const model::Pass& pass,
                     std::size_t at,
                     Seconds time) {
  const auto& op = std::get<model::CollectiveOp>(pass[at].op);
  if (op.axis != model::CommAxis::tensor || time <= Seconds{}) {
    return 1.0;
  }
  const hardware::SoftwareProfile& software = costing.costs.software();
  if (op.beside != model::Beside::nothing && software.hides_tensor_backward) {
    const Seconds hidden = std::min(time, neighbour_time(costing, pass, at));
    const double slowdown = software.communication_slowdown.value();
    return (time - hidden * (1.0 - slowdown)) / time;
  }
  return costing.tensor_exposed;
}

// The collectives of a layer are few different ones, several times each.
class CollectiveMemo {
 public:
  const cost::Cost& get(const Costing& costing, const model::CollectiveOp& op) {
    const auto known = std::find_if(known_.begin(), known_.end(), [&op](const Known& entry) {
      return entry.op.kind == op.kind && entry.op.axis == op.axis && entry.op.dtype == op.dtype &&
             entry.op.bytes_per_rank_in == op.bytes_per_rank_in &&
             entry.op.bytes_total == op.bytes_total;
    });
    if (known != known_.end()) {
      return known->cost;
    }
    known_.push_back({op, costing.costs.operation(op, costing.places)});
    return known_.back().cost;
  }

 private:
  struct Known {
    model::CollectiveOp op;
    cost::Cost cost;
  };

  std::vector<Known> known_;
};

Parts cost_pass(const Costing& costing, const model::Pass& pass, CollectiveMemo& memo) {
  Parts parts;
  for (std::size_t i = 0; i < pass.size(); ++i) {
    if (const auto* collective = std::get_if<model::CollectiveOp>(&pass[i].op)) {
      const cost::Cost& cost = memo.get(costing, *collective);
      parts.add(
          exposed_category(collective->axis), cost, exposed_share(costing, pass, i, cost.time));
    } else {
      parts.add(pass[i].recomputed ? StepCategory::recompute : StepCategory::compute,
                costing.costs.operation(pass[i].op, costing.places));
    }
  }
  return parts;
}

// Full recomputation runs the forward pass again.
Parts as_recomputation(Parts forward) {
  Seconds& compute = forward.by_category[static_cast<std::size_t>(StepCategory::compute)];
  forward.by_category[static_cast<std::size_t>(StepCategory::recompute)] += compute;
  compute = {};
  return forward;
}

// A pass cannot run faster than the host launches it; the rest is launch gap.
void apply_host_floor(Parts& parts, const Costing& costing, double relative_host_time) {
  const auto& host = costing.costs.software().host_layer_time;
  const Seconds missing = host.value() * relative_host_time - parts.total();
  if (missing > Seconds{}) {
    cost::Cost gap = cost::term(missing, host.kind());
    gap.gap = missing;
    parts.add(StepCategory::launch_gap, gap);
  }
}

struct LayerCosts {
  Parts forward;
  Parts recompute;
  Parts backward_input;
  Parts backward_weight;
};

LayerCosts cost_passes(const Costing& costing,
                       const model::LayerPasses& passes,
                       CollectiveMemo& memo) {
  LayerCosts costs;
  costs.forward = cost_pass(costing, passes.forward, memo);
  costs.backward_input = cost_pass(costing, passes.backward_input, memo);
  costs.backward_weight = cost_pass(costing, passes.backward_weight, memo);
  return costs;
}

LayerCosts cost_layer(const Costing& costing,
                      std::int64_t layer,
                      model::Recompute policy,
                      CollectiveMemo& memo) {
  const model::ModelSpec& model = costing.input.model;
  LayerCosts costs = cost_passes(costing, model::layer_passes(model, costing.options, layer), memo);
  apply_host_floor(costs.forward, costing, 1.0);
  // Input and weight gradients share the launches of the backward.
  apply_host_floor(costs.backward_input, costing, kHostBackward / 2.0);
  apply_host_floor(costs.backward_weight, costing, kHostBackward / 2.0);
  if (policy == model::Recompute::full) {
    costs.recompute = as_recomputation(costs.forward);
  } else if (policy == model::Recompute::selective) {
    costs.recompute =
        cost_pass(costing, model::recompute_pass(model, costing.options, layer, policy), memo);
  }
  return costs;
}

void add_layer(BucketCosts& bucket, const LayerCosts& layer, double count) {
  bucket.forward.add(layer.forward, count);
  bucket.backward.add(layer.recompute, count);
  bucket.backward.add(layer.backward_input, count);
  bucket.backward.add(layer.backward_weight, count);
  bucket.backward_input.add(layer.recompute, count);
  bucket.backward_input.add(layer.backward_input, count);
  bucket.backward_weight.add(layer.backward_weight, count);
}

// All ranks wait for the slowest: a share of the busy time, growing with their number.
void apply_jitter(Parts& parts, const Costing& costing) {
  const auto& jitter = costing.costs.software().jitter_per_doubling;
  const double nodes = static_cast<double>(costing.input.layout.gpus) / kGpusOfOneNode;
  if (nodes > 1.0 && jitter.value() > 0.0) {
    parts.add(StepCategory::idle,
              cost::term(parts.total() * (jitter.value() * std::log2(nodes)), jitter.kind()));
  }
}

// What a bucket holds. Layers are told apart by mixture of experts and recomputation alone, so
// equal contents cost the same.
struct BucketContent {
  static constexpr std::size_t kPolicies = 3;

  std::array<std::int64_t, 2 * kPolicies> layers{};  // [moe][policy]
  std::int64_t dense_layer = 0;                      // one layer of each kind, for its shapes
  std::int64_t moe_layer = 0;
  bool embedding = false;
  bool head = false;

  friend bool operator==(const BucketContent& a, const BucketContent& b) {
    return a.layers == b.layers && a.embedding == b.embedding && a.head == b.head;
  }
};

// The distinct buckets of all chunks; only what occurs is costed, and only once.
class BucketTable {
 public:
  explicit BucketTable(const Costing& costing) : costing_(costing) {}

  std::uint32_t index_of(const BucketContent& content) {
    const auto known = std::find(contents_.begin(), contents_.end(), content);
    if (known == contents_.end()) {
      contents_.push_back(content);
      buckets_.push_back(cost_bucket(content));
      return static_cast<std::uint32_t>(buckets_.size() - 1);
    }
    return static_cast<std::uint32_t>(known - contents_.begin());
  }

  [[nodiscard]] std::vector<BucketCosts> take() && {
    return std::move(buckets_);
  }

 private:
  BucketCosts cost_bucket(const BucketContent& content);
  const LayerCosts& layer_costs(std::size_t sort, std::int64_t layer, model::Recompute policy);

  const Costing& costing_;
  std::array<std::optional<LayerCosts>, 2 * BucketContent::kPolicies> layers_;  // [moe][policy]
  CollectiveMemo memo_;
  std::vector<BucketContent> contents_;
  std::vector<BucketCosts> buckets_;
};

const LayerCosts& BucketTable::layer_costs(std::size_t sort,
                                           std::int64_t layer,
                                           model::Recompute policy) {
  if (!layers_[sort]) {
    layers_[sort] = cost_layer(costing_, layer, policy, memo_);
  }
  return *layers_[sort];
}

BucketCosts BucketTable::cost_bucket(const BucketContent& content) {
  const model::ModelSpec& model = costing_.input.model;
  const model::ShardContext& shard = costing_.options.shard;
  BucketCosts bucket;
  model::ShardParameters held;
  const auto add_parameters = [&held](const model::ShardParameters& more, double count) {
    held.dense += more.dense * count;
    held.expert += more.expert * count;
  };
  for (std::size_t sort = 0; sort < content.layers.size(); ++sort) {
    if (content.layers[sort] > 0) {
      const auto count = static_cast<double>(content.layers[sort]);
      const auto policy = static_cast<model::Recompute>(sort % BucketContent::kPolicies);
      const std::int64_t layer =
          sort < BucketContent::kPolicies ? content.dense_layer : content.moe_layer;
      add_layer(bucket, layer_costs(sort, layer, policy), count);
      add_parameters(model::layer_shard_parameters(model, shard, layer), count);
    }
  }
  if (content.embedding) {
    add_layer(bucket,
              cost_passes(costing_, model::embedding_passes(model, costing_.options), memo_),
              1.0);
    add_parameters(model::embedding_shard_parameters(model, shard), 1.0);
  }
  if (content.head) {
    add_layer(
        bucket, cost_passes(costing_, model::head_passes(model, costing_.options), memo_), 1.0);
    add_parameters(model::head_shard_parameters(model, shard), 1.0);
  }
  bucket.parameters = held.dense + held.expert;
  add_reduction(bucket.gradient_reduce, costing_, held.dense, costing_.places.data, false);
  add_reduction(bucket.gradient_reduce, costing_, held.expert, costing_.places.expert_data, true);
  add_gather(bucket.parameter_gather, costing_, held.dense, costing_.places.shard);
  add_gather(bucket.parameter_gather, costing_, held.expert, costing_.places.expert_data);
  for (Parts* parts :
       {&bucket.forward, &bucket.backward, &bucket.backward_input, &bucket.backward_weight}) {
    apply_jitter(*parts, costing_);
  }
  return bucket;
}

// Layers [first, last) of bucket b when `layers` layers are cut into `buckets` groups.
std::pair<std::int64_t, std::int64_t> bucket_range(std::int64_t layers, int buckets, int b) {
  return {layers * b / buckets, layers * (b + 1) / buckets};
}

ChunkCosts cost_chunk(const Costing& costing,
                      BucketTable& table,
                      const layout::ChunkLayers& part,
                      int bucket_count) {
  ChunkCosts chunk;
  chunk.buckets.reserve(static_cast<std::size_t>(bucket_count));
  for (int b = 0; b < bucket_count; ++b) {
    BucketContent content;
    const auto [begin, end] = bucket_range(part.num_layers, bucket_count, b);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t layer = part.first_layer + i;
      const bool moe = costing.input.model.is_moe_layer(layer);
      const auto policy =
          static_cast<std::size_t>(recompute_policy(costing.input.spec.recompute, i));
      ++content.layers[(moe ? BucketContent::kPolicies : 0) + policy];
      (moe ? content.moe_layer : content.dense_layer) = layer;
    }
    content.embedding = part.has_embedding && b == 0;
    content.head = part.has_head && b == bucket_count - 1;
    chunk.buckets.push_back(table.index_of(content));
  }
  return chunk;
}

Parts cost_optimizer(const Costing& costing, const model::ShardParameters& stage) {
  const layout::Layout& layout = costing.input.layout;
  const bool sharded = layout.sharding != Sharding::none;
  const double dense_ranks = sharded ? static_cast<double>(layout.shard_group) : 1.0;
  const double expert_ranks =
      sharded ? static_cast<double>(std::min(layout.expert_data, layout.shard_group)) : 1.0;
  Parts parts;
  parts.add(StepCategory::optimizer,
            costing.costs.optimizer_step(stage.dense / dense_ranks + stage.expert / expert_ranks));
  const auto& fixed = costing.costs.software().fixed_step_time;
  parts.add(StepCategory::launch_gap, cost::term(fixed.value(), fixed.kind()));
  return parts;
}

}  // namespace

double micro_batches_per_chunk(const StepInput& input) {
  const auto all = static_cast<double>(input.layout.micro_batches);
  return input.spec.schedule == schedule::ScheduleKind::dualpipe ? all / 2.0 : all;
}

hardware::GradientReduction gradient_reduction(const StepInput& input,
                                               const cost::CostModel& costs) {
  if (input.spec.reduction) {
    return *input.spec.reduction;
  }
  const bool sharded_parameters =
      input.layout.sharding == Sharding::zero3 || input.layout.sharding == Sharding::hsdp;
  return sharded_parameters ? hardware::GradientReduction::per_micro_batch
                            : costs.software().gradient_reduction;
}

model::Recompute recompute_policy(const RecomputeSpec& spec, std::int64_t index_in_chunk) {
  if (!spec.layers) {
    return spec.policy;
  }
  return index_in_chunk < *spec.layers ? model::Recompute::full : model::Recompute::none;
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

model::OpOptions op_options(const StepInput& input, const cost::CostModel& costs) {
  const hardware::SoftwareProfile& software = costs.software();
  model::OpOptions options;
  options.shard = layout::shard_context(input.layout);
  options.precision = input.spec.precision;
  options.dropout = software.dropout;
  options.loss_bytes_per_logit = software.loss_bytes_per_logit.value();
  if (software.attention == hardware::AttentionImplementation::unfused) {
    options.attention = model::AttentionKernel::unfused;
    options.score_passes = software.score_passes.value();
  }
  return options;
}

cost::Placements placements(const StepInput& input) {
  const layout::RankMap map(input.layout);
  const auto place = [&](layout::GroupKind kind) {
    return layout::place_group(map, input.layout, kind, input.cluster);
  };
  cost::Placements places;
  places.tensor = place(layout::GroupKind::tensor);
  places.context = place(layout::GroupKind::context);
  places.data = place(layout::GroupKind::data_context);
  places.shard = place(layout::GroupKind::shard);
  places.replica = place(layout::GroupKind::replica);
  if (input.model.moe) {
    places.expert = place(layout::GroupKind::expert);
    places.expert_tensor = place(layout::GroupKind::expert_tensor);
    places.expert_data = place(layout::GroupKind::expert_data);
  }
  return places;
}

std::vector<std::vector<int>> buckets_per_chunk(const StepInput& input) {
  const model::ShardContext shard = layout::shard_context(input.layout);
  std::vector<std::vector<int>> result;
  for (const auto& device : input.layout.stages) {
    std::vector<int> counts;
    for (const layout::ChunkLayers& chunk : device) {
      auto count = std::max<std::int64_t>(1, chunk.num_layers);
      if (input.spec.bucket && chunk.num_layers > 0) {
        const model::ShardParameters layer =
            model::layer_shard_parameters(input.model, shard, chunk.first_layer);
        const Bytes size = model::bytes_per_element(input.spec.precision.gradient) *
                           (layer.dense + layer.expert) * static_cast<double>(chunk.num_layers);
        const auto wanted = static_cast<std::int64_t>(std::ceil(size / *input.spec.bucket));
        count = std::clamp<std::int64_t>(wanted, 1, chunk.num_layers);
      }
      counts.push_back(static_cast<int>(count));
    }
    result.push_back(std::move(counts));
  }
  return result;
}

StageCosts stage_costs(const StepInput& input,
                       const cost::CostModel& costs,
                       const std::vector<std::vector<int>>& buckets) {
  const Costing costing = make_costing(input, costs);
  BucketTable table(costing);
  StageCosts result;
  const layout::RankMap map(input.layout);
  const double tokens = static_cast<double>(input.layout.micro_batch) *
                        static_cast<double>(input.model.sequence_length) /
                        static_cast<double>(input.layout.context);
  // Sequence parallelism leaves each rank its own slice; without it, Megatron scatters the message
  // over the tensor group and gathers it behind the wire.
  const Bytes message = model::bytes_per_element(input.spec.precision.activation) *
                        (tokens * static_cast<double>(input.model.hidden_size) /
                         static_cast<double>(input.layout.tensor));
  for (std::int64_t d = 0; d < input.layout.pipeline; ++d) {
    const auto index = static_cast<std::size_t>(d);
    DeviceCosts device;
    for (std::size_t c = 0; c < input.layout.stages[index].size(); ++c) {
      device.chunks.push_back(
          cost_chunk(costing, table, input.layout.stages[index][c], buckets[index][c]));
    }
    device.optimizer =
        cost_optimizer(costing, layout::stage_shard_parameters(input.model, input.layout, d));
    device.optimizer.add(cost_copies(costing, map, d));
    result.devices.push_back(std::move(device));
    Parts to_next;
    if (input.layout.pipeline > 1) {
      to_next.add(
          StepCategory::exposed_pipeline,
          costs.send_receive(message, layout::place_hop(map, input.layout, d, input.cluster)));
    }
    result.send_forward.push_back(to_next);
  }
  // A hop takes as long backwards: what device d sends back takes the hop of the device before it.
  result.send_backward = result.send_forward;
  std::rotate(
      result.send_backward.begin(), result.send_backward.end() - 1, result.send_backward.end());
  result.buckets = std::move(table).take();
  return result;
}

}  // namespace orrery::step
