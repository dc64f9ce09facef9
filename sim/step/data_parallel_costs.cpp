#include "sim/step/data_parallel_costs.hpp"

#include "sim/layout/sharding.hpp"
#include "sim/model/parameters.hpp"

namespace orrery::step {

namespace {

using layout::Sharding;
using model::CollectiveKind;

Bytes scaled(Bytes per_parameter, double parameters) {
  return per_parameter * parameters;
}

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

}  // namespace

void add_reduction(Parts& parts,
                   const Costing& costing,
                   double parameters,
                   const layout::GroupPlacement& whole,
                   bool expert) {
  const Sharding sharding = costing.input.layout.sharding;
  const model::Dtype dtype = costing.input.spec.precision.gradient;
  const Bytes size = scaled(model::bytes_per_element(dtype), parameters);
  if (parameters <= 0.0 || whole.ranks <= 1) {
    return;
  }
  if (sharding == Sharding::none) {
    parts.add(StepCategory::exposed_data,
              costing.costs.collective(CollectiveKind::all_reduce, size, size, dtype, whole));
    return;
  }
  const layout::GroupPlacement& shard = expert ? whole : costing.places.shard;
  parts.add(StepCategory::exposed_data,
            costing.costs.collective(CollectiveKind::reduce_scatter, size, size, dtype, shard));
  if (!expert && costing.places.replica.ranks > 1) {
    const Bytes piece = size / static_cast<double>(shard.ranks);
    parts.add(StepCategory::exposed_data,
              costing.costs.collective(
                  CollectiveKind::all_reduce, piece, piece, dtype, costing.places.replica));
  }
}

void add_gather(Parts& parts,
                const Costing& costing,
                double parameters,
                const layout::GroupPlacement& group) {
  if (parameters <= 0.0 || group.ranks <= 1 || costing.input.layout.sharding == Sharding::none) {
    return;
  }
  const model::Dtype dtype = costing.input.spec.precision.parameter;
  const Bytes total = scaled(model::bytes_per_element(dtype), parameters);
  parts.add(StepCategory::exposed_data,
            costing.costs.collective(CollectiveKind::all_gather,
                                     total / static_cast<double>(group.ranks),
                                     total,
                                     dtype,
                                     group));
}

// Tables that stand on the first and the last stage (tied, multi-token prediction) and, with two
// directions, whole stages that stand on two devices. The wire is that from the last device to the
// first: of all pairs the one that crosses most tiers.
Parts cost_copies(const Costing& costing, const layout::RankMap& map, std::int64_t device) {
  Parts parts;
  const layout::Layout& layout = costing.input.layout;
  if (layout.pipeline <= 1) {
    return parts;
  }
  const layout::HopPlacement hop =
      layout::place_hop(map, layout, layout.pipeline - 1, costing.input.cluster);
  if (costing.input.spec.schedule == schedule::ScheduleKind::dualpipe) {
    const model::ShardParameters stage =
        layout::chunk_shard_parameters(costing.input.model, layout, device, 0);
    parts.add(cost_pair_sum(costing, hop, stage.dense + stage.expert));
    return parts;
  }
  const double table =
      model::shared_table_shard_parameters(costing.input.model, costing.options.shard);
  if (table > 0.0 && (device == 0 || device == layout.pipeline - 1)) {
    parts.add(cost_pair_sum(costing, hop, table));
  }
  return parts;
}

}  // namespace orrery::step
