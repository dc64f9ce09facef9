#include "sim/step/layout/placement.hpp"

#include <algorithm>
#include <tuple>

#include "sim/base/check.hpp"
#include "sim/step/layout/sharding.hpp"

namespace orrery::layout {

namespace {

std::int64_t degree(const Layout& layout, Axis axis) {
  switch (axis) {
    case Axis::tensor:
      return layout.tensor;
    case Axis::context:
      return layout.context;
    case Axis::pipeline:
      return layout.pipeline;
    case Axis::data:
      return layout.data;
  }
  return 1;
}

// Lowest tier whose switch block holds both nodes; tier_nodes.size() is the core above all tiers.
std::size_t tier_between(std::int64_t node_a, std::int64_t node_b, const ClusterShape& cluster) {
  for (std::size_t tier = 0; tier < cluster.tier_nodes.size(); ++tier) {
    if (node_a / cluster.tier_nodes[tier] == node_b / cluster.tier_nodes[tier]) {
      return tier;
    }
  }
  return cluster.tier_nodes.size();
}

struct Touch {
  std::int64_t units = 0;     // nodes or domains touched
  std::int64_t smallest = 0;  // fewest members in one of them
};

// Members per block of `size` consecutive ranks; `ranks` ascend.
Touch touch(const std::vector<RankId>& ranks, std::int64_t size) {
  Touch result;
  std::size_t begin = 0;
  while (begin < ranks.size()) {
    std::size_t end = begin;
    while (end < ranks.size() && ranks[end].value / size == ranks[begin].value / size) {
      ++end;
    }
    const auto members = static_cast<std::int64_t>(end - begin);
    result.smallest = result.units == 0 ? members : std::min(result.smallest, members);
    ++result.units;
    begin = end;
  }
  return result;
}

// The same for ranks at equal distances, without looking at each of them.
Touch touch(const RankRun& run, std::int64_t size) {
  const std::int64_t last = run.first + (run.count - 1) * run.stride;
  if (run.first / size == last / size) {
    return {1, run.count};
  }
  if (size % run.stride != 0) {
    // Too far apart to share a block, or an uneven pattern: members in every full block vary.
    if (run.stride >= size) {
      return {run.count, 1};
    }
    Touch result{0, run.count};
    for (std::int64_t i = 0; i < run.count;) {
      const std::int64_t at = run.first + i * run.stride;
      const std::int64_t left = (at / size + 1) * size - at;
      const std::int64_t members = std::min((left + run.stride - 1) / run.stride, run.count - i);
      result.smallest = std::min(result.smallest, members);
      ++result.units;
      i += members;
    }
    return result;
  }
  const std::int64_t in_block = size / run.stride;
  const std::int64_t in_first = (size - run.first % size + run.stride - 1) / run.stride;
  const std::int64_t in_last = last % size / run.stride + 1;
  return {last / size - run.first / size + 1, std::min({in_block, in_first, in_last})};
}

// Runs that repeat at whole blocks, each in blocks of its own; nothing where they share some.
std::optional<Touch> touch(const RankLattice& ranks, std::int64_t size) {
  const RankRun& run = ranks.run;
  const std::int64_t last = run.first + (run.count - 1) * run.stride;
  const std::int64_t stride = ranks.repeat_stride;
  if (stride % size != 0 || last / size - run.first / size >= stride / size) {
    return std::nullopt;
  }
  const Touch once = touch(run, size);
  return Touch{once.units * ranks.repeats, once.smallest};
}

GroupPlacement place_one(const Touch& nodes, const Touch& domains, std::int64_t first,
                         std::int64_t last, const ClusterShape& cluster) {
  GroupPlacement placement;
  placement.nodes = nodes.units;
  placement.ranks_per_node = nodes.smallest;
  placement.domains = domains.units;
  placement.ranks_per_domain = domains.smallest;
  const std::int64_t gpus_on_node = std::min(cluster.gpus_per_node, cluster.gpus);
  placement.sharing_node =
      nodes.units > 1 ? std::max<std::int64_t>(1, gpus_on_node / nodes.smallest) : 1;
  placement.tier =
      tier_between(first / cluster.gpus_per_node, last / cluster.gpus_per_node, cluster);
  return placement;
}

GroupPlacement place_one(const RankMap& map, GroupKind kind, std::int64_t member,
                         const ClusterShape& cluster) {
  const RankId id{static_cast<std::int32_t>(member)};
  const std::int64_t per_node = cluster.gpus_per_node;
  const std::int64_t per_domain = cluster.nvlink_domain;
  GroupPlacement placement;
  if (const std::optional<RankRun> run = map.run(kind, id)) {
    const std::int64_t last = run->first + (run->count - 1) * run->stride;
    placement =
        place_one(touch(*run, per_node), touch(*run, per_domain), run->first, last, cluster);
    placement.ranks = run->count;
    return placement;
  }
  if (const std::optional<RankLattice> lattice = map.lattice(kind, id)) {
    const std::optional<Touch> nodes = touch(*lattice, per_node);
    const std::optional<Touch> domains = touch(*lattice, per_domain);
    if (nodes && domains) {
      const RankRun& run = lattice->run;
      const std::int64_t last = run.first + (run.count - 1) * run.stride +
                                (lattice->repeats - 1) * lattice->repeat_stride;
      placement = place_one(*nodes, *domains, run.first, last, cluster);
      placement.ranks = run.count * lattice->repeats;
      return placement;
    }
  }
  const std::vector<RankId> ranks = map.group(kind, id);
  placement = place_one(touch(ranks, per_node), touch(ranks, per_domain), ranks.front().value,
                        ranks.back().value, cluster);
  placement.ranks = static_cast<std::int64_t>(ranks.size());
  return placement;
}

bool worse(const GroupPlacement& a, const GroupPlacement& b) {
  return std::tuple(a.domains, a.nodes, a.tier) > std::tuple(b.domains, b.nodes, b.tier);
}

}  // namespace

RankMap::RankMap(const Layout& layout) : layout_(layout) {
  std::int64_t stride = 1;
  for (const Axis axis : layout.order) {
    stride_[static_cast<std::size_t>(axis)] = stride;
    stride *= degree(layout, axis);
  }
  ORRERY_CHECK(stride == layout.gpus, "rank map covers {} ranks, the layout has {} GPUs", stride,
               layout.gpus);
  find_digits();
}

// Tensor, context and data, where axes whose strides continue one another make one digit.
void RankMap::find_digits() {
  std::int64_t weight = 1;
  for (const Axis axis : {Axis::tensor, Axis::context, Axis::data}) {
    const std::int64_t size = degree(layout_, axis);
    const std::int64_t stride = stride_[static_cast<std::size_t>(axis)];
    if (size > 1) {
      Digit* const before = digits_.empty() ? nullptr : &digits_.back();
      if (before != nullptr && stride == before->stride * before->size) {
        before->size *= size;
      } else {
        digits_.push_back({weight, size, stride});
      }
    }
    weight *= size;
  }
}

RankId RankMap::rank(const RankCoordinates& at) const {
  const std::int64_t value = at.tensor * stride_[static_cast<std::size_t>(Axis::tensor)] +
                             at.context * stride_[static_cast<std::size_t>(Axis::context)] +
                             at.pipeline * stride_[static_cast<std::size_t>(Axis::pipeline)] +
                             at.data * stride_[static_cast<std::size_t>(Axis::data)];
  return {static_cast<std::int32_t>(value)};
}

RankCoordinates RankMap::coordinates(RankId rank) const {
  const auto along = [&](Axis axis) {
    return rank.value / stride_[static_cast<std::size_t>(axis)] % degree(layout_, axis);
  };
  return {along(Axis::tensor), along(Axis::context), along(Axis::pipeline), along(Axis::data)};
}

// The members' positions on the pipeline device of `at`.
RankRun RankMap::positions(GroupKind kind, const RankCoordinates& at) const {
  const std::int64_t tensor = layout_.tensor;
  const std::int64_t data_context = at.context + layout_.context * at.data;
  const std::int64_t position = at.tensor + tensor * data_context;
  const std::int64_t ranks = layout_.context * layout_.data;  // of data x context
  const std::int64_t et = layout_.expert_tensor;
  const std::int64_t experts = et * layout_.expert;
  const std::int64_t shard = layout_.shard_group;
  switch (kind) {
    case GroupKind::tensor:
      return {position - at.tensor, 1, tensor};
    case GroupKind::context:
      return {position - tensor * at.context, tensor, layout_.context};
    case GroupKind::data:
      return {at.tensor + tensor * at.context, tensor * layout_.context, layout_.data};
    case GroupKind::data_context:
      return {at.tensor, tensor, ranks};
    case GroupKind::expert:
      return {position / experts * experts + position % et, et, layout_.expert};
    case GroupKind::expert_tensor:
      return {position / et * et, 1, et};
    case GroupKind::expert_data:
      return {position % experts, experts, tensor * ranks / experts};
    case GroupKind::expert_shard: {
      const ExpertShard split = expert_shard(layout_);
      const std::int64_t first = position / experts / split.ranks * split.ranks;
      return {position % experts + first * experts, experts, split.ranks};
    }
    case GroupKind::expert_replica: {
      const ExpertShard split = expert_shard(layout_);
      const std::int64_t first = position / experts % split.ranks;
      return {position % experts + first * experts, experts * split.ranks, split.replicas};
    }
    case GroupKind::shard:
      return {at.tensor + tensor * (data_context / shard * shard), tensor, shard};
    case GroupKind::replica:
      return {at.tensor + tensor * (data_context % shard), tensor * shard, ranks / shard};
    case GroupKind::pipeline:
      break;
  }
  return {position, 1, 1};
}

std::int64_t RankMap::rank_at(std::int64_t position, std::int64_t device) const {
  return rank({.tensor = position % layout_.tensor,
               .context = position / layout_.tensor % layout_.context,
               .pipeline = device,
               .data = position / (layout_.tensor * layout_.context)})
      .value;
}

std::vector<RankId> RankMap::group(GroupKind kind, RankId member) const {
  const RankCoordinates at = coordinates(member);
  std::vector<RankId> ranks;
  if (kind == GroupKind::pipeline) {
    for (std::int64_t p = 0; p < layout_.pipeline; ++p) {
      ranks.push_back(rank({at.tensor, at.context, p, at.data}));
    }
    return ranks;
  }
  const RankRun run = positions(kind, at);
  for (std::int64_t i = 0; i < run.count; ++i) {
    const std::int64_t value = rank_at(run.first + i * run.stride, at.pipeline);
    ranks.push_back({static_cast<std::int32_t>(value)});
  }
  std::ranges::sort(ranks);
  return ranks;
}

std::optional<RankRun> RankMap::run(GroupKind kind, RankId member) const {
  const RankCoordinates at = coordinates(member);
  if (kind == GroupKind::pipeline) {
    const std::int64_t first = rank({at.tensor, at.context, 0, at.data}).value;
    return RankRun{first, stride_[static_cast<std::size_t>(Axis::pipeline)], layout_.pipeline};
  }
  const RankRun run = positions(kind, at);
  const std::int64_t first = rank_at(run.first, at.pipeline);
  if (run.count == 1) {
    return RankRun{first, 1, 1};
  }
  const std::int64_t last = run.first + (run.count - 1) * run.stride;
  for (const Digit& digit : digits_) {
    const std::int64_t block = digit.weight * digit.size;
    if (run.stride % digit.weight == 0 && run.first / block == last / block) {
      return RankRun{first, run.stride / digit.weight * digit.stride, run.count};
    }
  }
  return std::nullopt;
}

std::optional<RankLattice> RankMap::lattice(GroupKind kind, RankId member) const {
  if (kind == GroupKind::pipeline) {
    return std::nullopt;
  }
  const RankCoordinates at = coordinates(member);
  const RankRun run = positions(kind, at);
  for (std::size_t i = 0; i + 1 < digits_.size(); ++i) {
    const Digit& digit = digits_[i];
    const Digit& next = digits_[i + 1];
    const std::int64_t step = run.stride / digit.weight;
    if (run.stride % digit.weight != 0 || step >= digit.size || digit.size % step != 0) {
      continue;
    }
    // All values of one digit, then some of the next.
    const std::int64_t inner = digit.size / step;
    const std::int64_t repeats = run.count / inner;
    const bool from_the_start = run.first / digit.weight % digit.size < step;
    if (!from_the_start || run.count % inner != 0 ||
        run.first / next.weight % next.size + repeats > next.size) {
      continue;
    }
    const std::int64_t first = rank_at(run.first, at.pipeline);
    const std::int64_t stride = step * digit.stride;
    if (stride < next.stride) {
      return RankLattice{{first, stride, inner}, next.stride, repeats};
    }
    return RankLattice{{first, next.stride, repeats}, stride, inner};
  }
  return std::nullopt;
}

GroupPlacement place_group(const RankMap& map, const Layout& layout, GroupKind kind,
                           const ClusterShape& cluster) {
  // Groups differ only by where they start against the borders of nodes and switch blocks; the
  // ranks of the first pipeline, of the last and of the middle meet every kind of border.
  GroupPlacement worst = place_one(map, kind, 0, cluster);
  const std::int64_t last = layout.gpus - 1;
  for (const std::int64_t probe : {last, last / 2, last / 3}) {
    const GroupPlacement other = place_one(map, kind, probe, cluster);
    if (worse(other, worst)) {
      worst = other;
    }
  }
  return worst;
}

HopPlacement place_hop(const RankMap& map, const Layout& layout, std::int64_t from,
                       const ClusterShape& cluster) {
  const std::int64_t to = (from + 1) % layout.pipeline;
  const std::int64_t gpus_on_node = std::min(cluster.gpus_per_node, layout.gpus);
  HopPlacement worst;
  worst.sharing_node = 1;
  const auto look = [&](std::int64_t a, std::int64_t b) {
    const std::int64_t node_a = a / cluster.gpus_per_node;
    const std::int64_t node_b = b / cluster.gpus_per_node;
    worst.same_node = worst.same_node && node_a == node_b;
    worst.same_domain = worst.same_domain && a / cluster.nvlink_domain == b / cluster.nvlink_domain;
    worst.tier = std::max(worst.tier, tier_between(node_a, node_b, cluster));
  };
  const bool side_by_side = layout.order.size() > 1 && layout.order[0] == Axis::tensor &&
                            (layout.order[1] == Axis::context || layout.context == 1);
  for (const std::int64_t d : {std::int64_t{0}, layout.data / 2, layout.data - 1}) {
    if (side_by_side) {
      // Consecutive ranks: nothing changes before the next border of a node or domain.
      const std::int64_t a = map.rank({0, 0, from, d}).value;
      const std::int64_t b = map.rank({0, 0, to, d}).value;
      for (std::int64_t i = 0; i < layout.tensor * layout.context;) {
        look(a + i, b + i);
        const std::int64_t node = cluster.gpus_per_node;
        const std::int64_t domain = cluster.nvlink_domain;
        i += std::min({node - (a + i) % node, node - (b + i) % node, domain - (a + i) % domain,
                       domain - (b + i) % domain});
      }
      continue;
    }
    for (std::int64_t c = 0; c < layout.context; ++c) {
      for (std::int64_t t = 0; t < layout.tensor; ++t) {
        look(map.rank({t, c, from, d}).value, map.rank({t, c, to, d}).value);
      }
    }
  }
  worst.nodes = worst.same_node ? 1 : std::min(layout.pipeline, layout.gpus / gpus_on_node);
  if (!worst.same_node) {
    worst.sharing_node = std::min(cluster.gpus_per_node, layout.gpus);
  }
  return worst;
}

}  // namespace orrery::layout
