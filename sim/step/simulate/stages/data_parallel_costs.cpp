#include "sim/step/simulate/stages/data_parallel_costs.hpp"

#include <algorithm>

#include "sim/step/cost/fair_share.hpp"
#include "sim/step/layout/sharding.hpp"
#include "sim/step/model/parameters.hpp"

namespace orrery::step {

namespace {

bool leaves_domain(const layout::GroupPlacement& group) {
  return group.ranks > 1 && group.nodes > 1 && group.domains > 1;
}

Seconds part_of(const Parts& parts, StepCategory category) {
  return parts.by_category[static_cast<std::size_t>(category)];
}

// NIC time of the collectives inside a pass.
Seconds collectives(const Parts& pass, const cost::Placements& places) {
  Seconds sum;
  if (leaves_domain(places.tensor)) {
    sum += part_of(pass, StepCategory::exposed_tensor);
  }
  if (leaves_domain(places.context)) {
    sum += part_of(pass, StepCategory::exposed_context);
  }
  if (leaves_domain(places.expert) || leaves_domain(places.expert_tensor)) {
    sum += part_of(pass, StepCategory::exposed_expert);
  }
  return sum;
}

// A message's time on the wire: what the host adds leaves the NIC idle.
Seconds on_wire(const Parts& message, const hardware::SoftwareProfile& software) {
  return std::max(message.total() - software.transfer_overhead.value(), Seconds{});
}

double stretch_of(const NicTraffic& traffic, const StageCosts& costs, std::size_t device) {
  const cost::Placements& places = traffic.places;
  const std::size_t before = (device + costs.devices.size() - 1) % costs.devices.size();
  Seconds own;
  Seconds others;
  for (const ChunkCosts& chunk : costs.devices[device].chunks) {
    for (std::size_t b = 0; b < chunk.buckets.size(); ++b) {
      const BucketCosts& bucket = costs.bucket(chunk, b);
      own += bucket.gradient_reduce.total() + bucket.parameter_gather.total();
      others += collectives(bucket.forward, places) + collectives(bucket.backward, places);
    }
    if (traffic.hops_on_network[device]) {
      others += on_wire(costs.send_forward[device], traffic.software);
    }
    if (traffic.hops_on_network[before]) {
      others += on_wire(costs.send_backward[device], traffic.software);
    }
  }
  return cost::stretch_beside(own, others);
}

void stretch(Parts& parts, double factor) {
  Parts longer;
  longer.add(parts, factor);
  parts = longer;
}

using layout::Sharding;
using model::CollectiveKind;

Bytes scaled(Bytes per_parameter, double parameters) { return per_parameter * parameters; }

// Sum of the gradients of `parameters` between two devices that both hold them.
Parts cost_pair_sum(const Costing& costing, const layout::HopPlacement& hop, double parameters) {
  layout::GroupPlacement pair;
  pair.ranks = 2;
  pair.nodes = hop.same_node ? 1 : 2;
  pair.ranks_per_node = hop.same_node ? 2 : 1;
  pair.domains = hop.same_domain ? 1 : 2;
  pair.ranks_per_domain = hop.same_domain ? 2 : 1;
  pair.sharing_node = hop.sharing_node;
  pair.tier = hop.tier;
  const model::Dtype dtype = costing.input.spec.precision.gradient;
  const Bytes size = scaled(model::bytes_per_element(dtype), parameters);
  Parts parts;
  parts.add(StepCategory::exposed_data,
            costing.costs.collective(CollectiveKind::all_reduce, size, size, dtype, pair));
  return parts;
}

// Parameters of the input table when this device and another one both hold it; 0 otherwise.
double copied_table(const Costing& costing, std::int64_t device) {
  const layout::Layout& layout = costing.input.layout;
  const auto copy_on = [&](std::int64_t d) {
    double sum = 0.0;
    for (std::int64_t c = 0; c < layout.virtual_stages; ++c) {
      sum += layout::shared_table_parameters(costing.input.model, layout, d, c);
    }
    return sum;
  };
  const auto& chunks = layout.stages[static_cast<std::size_t>(device)];
  const bool holds_table =
      std::ranges::any_of(chunks, [](const auto& chunk) { return chunk.has_embedding; });
  if (!holds_table) {
    return copy_on(device);
  }
  double copy = 0.0;
  for (std::int64_t d = 0; d < layout.pipeline; ++d) {
    copy = std::max(copy, copy_on(d));
  }
  return copy;
}

// The first `ranks` of a group.
layout::GroupPlacement first_ranks(layout::GroupPlacement group, std::int64_t ranks) {
  group.ranks = std::min(group.ranks, ranks);
  group.ranks_per_node = std::min(group.ranks_per_node, group.ranks);
  group.nodes = (group.ranks + group.ranks_per_node - 1) / group.ranks_per_node;
  group.ranks_per_domain = std::min(group.ranks_per_domain, group.ranks);
  group.domains = (group.ranks + group.ranks_per_domain - 1) / group.ranks_per_domain;
  return group;
}

// One rank of every node of a group; the ranks of a node do the same side by side.
layout::GroupPlacement one_per_node(layout::GroupPlacement group) {
  group.sharing_node *= group.ranks_per_node;
  group.ranks = group.nodes;
  group.ranks_per_node = 1;
  group.ranks_per_domain = std::max<std::int64_t>(1, group.nodes / group.domains);
  return group;
}

void add_pass(ReplicaSink& to, const Costing& costing, double read, double written) {
  const model::MemoryOp op{
      .part = model::Part::quantise, .read = bytes(read), .written = bytes(written)};
  to.add(
      {.name = "quantise", .bytes = op.read + op.written, .cost = costing.costs.memory_bound(op)});
}

void add_collective(ReplicaSink& to, const Costing& costing, std::string_view name,
                    const ReplicaMessage& message) {
  const auto& [kind, in, total, dtype, of, group] = message;
  to.add({.name = name,
          .message = message,
          .bytes = sent_by_rank(kind, in, total, group.ranks),
          .cost = costing.costs.collective(kind, in, total, dtype, group)});
}

constexpr double kInt8Bytes = 1.0;
constexpr double kInt4Bytes = 0.5;

void add_gather_over(ReplicaSink& to, const Costing& costing, double parameters,
                     const layout::GroupPlacement& group) {
  if (parameters <= 0.0 || group.ranks <= 1 || costing.input.layout.sharding == Sharding::none) {
    return;
  }
  const bool quantised = costing.input.spec.fsdp.quantized_weights;
  const model::Dtype dtype = costing.input.spec.precision.parameter;
  const double wide = in_bytes(model::bytes_per_element(dtype));
  const Bytes total = bytes(parameters * (quantised ? kInt8Bytes : wide));
  const auto ranks = static_cast<double>(group.ranks);
  add_collective(
      to, costing, "parameter all_gather",
      {CollectiveKind::all_gather, total / ranks, total, dtype, ReplicaGroup::shard, group});
  if (quantised) {
    add_pass(to, costing, parameters / ranks * wide, parameters / ranks * kInt8Bytes);
    add_pass(to, costing, parameters * kInt8Bytes, parameters * wide);
  }
}

// Two exchanges of int4, each quantised before and summed behind: all parameters inside the node,
// then the node's sums between nodes.
void add_quantised_reduction(ReplicaSink& to, const Costing& costing, double parameters,
                             const layout::GroupPlacement& group) {
  const double wide = in_bytes(model::bytes_per_element(costing.input.spec.precision.gradient));
  double elements = parameters;
  for (const layout::GroupPlacement& hop :
       {first_ranks(group, group.ranks_per_node), one_per_node(group)}) {
    if (hop.ranks <= 1) {
      continue;
    }
    const auto ranks = static_cast<double>(hop.ranks);
    const Bytes sent = bytes(elements * kInt4Bytes);
    add_pass(to, costing, elements * wide, elements * kInt4Bytes);
    add_collective(to, costing, "gradient all_to_all",
                   {CollectiveKind::all_to_all, sent, sent * ranks,
                    costing.input.spec.precision.gradient, ReplicaGroup::shard, hop});
    add_pass(to, costing, elements * kInt4Bytes, elements / ranks * wide);
    elements /= ranks;
  }
}

}  // namespace

double data_parallel_stretch(const NicTraffic& traffic, const StageCosts& costs) {
  const cost::Placements& places = traffic.places;
  const bool on_network = leaves_domain(places.data) || leaves_domain(places.expert_data);
  if (!traffic.overlapped || !on_network) {
    return 1.0;
  }
  double longest = 1.0;
  for (std::size_t device = 0; device < costs.devices.size(); ++device) {
    longest = std::max(longest, stretch_of(traffic, costs, device));
  }
  return longest;
}

void share_nics(const NicTraffic& traffic, StageCosts& costs) {
  const double factor = data_parallel_stretch(traffic, costs);
  if (factor == 1.0) {
    return;
  }
  for (BucketCosts& bucket : costs.buckets) {
    stretch(bucket.gradient_reduce, factor);
    stretch(bucket.parameter_gather, factor);
  }
}

Bytes sent_by_rank(model::CollectiveKind kind, Bytes in, Bytes total, std::int64_t ranks) {
  const auto n = static_cast<double>(std::max<std::int64_t>(ranks, 1));
  const double others = (n - 1.0) / n;
  switch (kind) {
    case model::CollectiveKind::all_reduce:
      return in * (2.0 * others);
    case model::CollectiveKind::all_gather:
      return total * others;
    case model::CollectiveKind::reduce_scatter:
    case model::CollectiveKind::all_to_all:
      return in * others;
    case model::CollectiveKind::broadcast:
    case model::CollectiveKind::send_receive:
      break;
  }
  return in;
}

void ReplicaSink::add(const ReplicaOperation& operation) {
  if (parts_ != nullptr) {
    parts_->add(StepCategory::exposed_data, operation.cost);
  } else {
    list_->push_back(operation);
  }
}

model::ShardShare gathered_parameters(const Costing& costing, const model::ShardParameters& held) {
  const Sharding sharding = costing.input.layout.sharding;
  return sharding == Sharding::zero3 || sharding == Sharding::hsdp
             ? held.stored(model::bytes_per_element(costing.input.spec.precision.parameter))
             : held.trained();
}

void add_reduction(ReplicaSink to, const Costing& costing, double parameters,
                   const ReplicaGroups& groups) {
  const model::Dtype dtype = costing.input.spec.precision.gradient;
  const Bytes size = scaled(model::bytes_per_element(dtype), parameters);
  if (parameters <= 0.0 || groups.whole.ranks <= 1) {
    return;
  }
  const auto add = [&](CollectiveKind kind, Bytes bytes, ReplicaGroup of,
                       const layout::GroupPlacement& group) {
    if (group.ranks > 1) {
      const bool scatter = kind == CollectiveKind::reduce_scatter;
      add_collective(to, costing, scatter ? "gradient reduce_scatter" : "gradient all_reduce",
                     {kind, bytes, bytes, dtype, of, group});
    }
  };
  if (costing.input.layout.sharding == Sharding::none) {
    add(CollectiveKind::all_reduce, size, ReplicaGroup::whole, groups.whole);
    return;
  }
  if (costing.input.spec.fsdp.quantized_gradients) {
    add_quantised_reduction(to, costing, parameters, groups.shard);
  } else {
    add(CollectiveKind::reduce_scatter, size, ReplicaGroup::shard, groups.shard);
  }
  add(CollectiveKind::all_reduce, size / static_cast<double>(groups.shard.ranks),
      ReplicaGroup::replica, groups.replica);
}

void add_gather(ReplicaSink to, const Costing& costing, double parameters,
                const ReplicaGroups& groups) {
  add_gather_over(to, costing, parameters, groups.shard);
  const StepInput& input = costing.input;
  const bool shards =
      input.layout.sharding == Sharding::zero3 || input.layout.sharding == Sharding::hsdp;
  // The reference's; with adapters it is the model itself, which is still there unless freed.
  if (input.model.reference && shards && (!input.model.lora || input.spec.fsdp.reshard)) {
    add_gather_over(to, costing, parameters, groups.shard);
  }
}

void add_gather_again(ReplicaSink to, const Costing& costing, double parameters,
                      const ReplicaGroups& groups) {
  const auto& reshard = costing.input.spec.fsdp.reshard_group;
  add_gather_over(to, costing, parameters,
                  reshard ? first_ranks(groups.shard, *reshard) : groups.shard);
}

std::vector<ReplicaOperation> replica_operations(const Costing& costing, schedule::TaskKind kind,
                                                 const model::ShardParameters& held, bool expert) {
  const cost::Placements& places = costing.places;
  const ReplicaGroups groups =
      expert ? ReplicaGroups{places.expert_data, places.expert_shard, places.expert_replica}
             : ReplicaGroups{places.data, places.shard, places.replica};
  const bool reduces = kind == schedule::TaskKind::gradient_reduce;
  const model::ShardShare moved = reduces ? held.trained() : gathered_parameters(costing, held);
  const double parameters = expert ? moved.expert : moved.dense;
  std::vector<ReplicaOperation> all;
  if (reduces) {
    add_reduction(ReplicaSink(all), costing, parameters, groups);
  } else if (kind == schedule::TaskKind::parameter_gather) {
    add_gather(ReplicaSink(all), costing, parameters, groups);
  } else {
    add_gather_again(ReplicaSink(all), costing, parameters, groups);
  }
  return all;
}

// Tables that stand on two devices (tied, multi-token prediction) and, with two directions, whole
// stages: device d holds stages d and p - 1 - d, and so does its partner. The wire is that from the
// last device to the first: of all pairs the one that crosses most tiers.
Parts cost_copies(const Costing& costing, const layout::RankMap& map, std::int64_t device) {
  Parts parts;
  const layout::Layout& layout = costing.input.layout;
  if (layout.pipeline <= 1) {
    return parts;
  }
  const auto last_hop = [&] {
    return layout::place_hop(map, layout, layout.pipeline - 1, costing.input.cluster);
  };
  if (costing.input.spec.schedule == schedule::ScheduleKind::dualpipe) {
    const model::ShardParameters stages =
        layout::stage_shard_parameters(costing.input.model, layout, device);
    parts.add(cost_pair_sum(costing, last_hop(), stages.trained().all()));
    return parts;
  }
  const double table = copied_table(costing, device);
  if (table > 0.0 && costing.input.model.trains(&model::TrainedModules::embedding)) {
    parts.add(cost_pair_sum(costing, last_hop(), table));
  }
  return parts;
}

}  // namespace orrery::step
