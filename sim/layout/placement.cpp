#include "sim/layout/placement.hpp"

#include <algorithm>
#include <tuple>

#include "sim/base/check.hpp"

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

GroupPlacement place_one(const std::vector<RankId>& ranks, const ClusterShape& cluster) {
  GroupPlacement placement;
  placement.ranks = static_cast<std::int64_t>(ranks.size());
  const Touch nodes = touch(ranks, cluster.gpus_per_node);
  const Touch domains = touch(ranks, cluster.nvlink_domain);
  placement.nodes = nodes.units;
  placement.ranks_per_node = nodes.smallest;
  placement.domains = domains.units;
  placement.ranks_per_domain = domains.smallest;
  const std::int64_t gpus_on_node = std::min(cluster.gpus_per_node, cluster.gpus);
  placement.sharing_node =
      nodes.units > 1 ? std::max<std::int64_t>(1, gpus_on_node / nodes.smallest) : 1;
  placement.tier = tier_between(ranks.front().value / cluster.gpus_per_node,
                                ranks.back().value / cluster.gpus_per_node,
                                cluster);
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
  ORRERY_CHECK(stride == layout.gpus,
               "rank map covers {} ranks, the layout has {} GPUs",
               stride,
               layout.gpus);
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

std::vector<RankId> RankMap::group(GroupKind kind, RankId member) const {
  const RankCoordinates at = coordinates(member);
  // Position of a rank among the tensor x context x data ranks of its pipeline device, tensor
  // fastest: the order in which expert groups are cut.
  const auto flat = [&](const RankCoordinates& c) {
    return c.tensor + layout_.tensor * (c.context + layout_.context * c.data);
  };
  const auto data_context = [&](const RankCoordinates& c) {
    return c.context + layout_.context * c.data;
  };
  const std::int64_t et = layout_.expert_tensor;
  const std::int64_t expert_block = et * layout_.expert;
  const auto is_member = [&](const RankCoordinates& c) {
    switch (kind) {
      case GroupKind::tensor:
        return c.context == at.context && c.data == at.data;
      case GroupKind::context:
        return c.tensor == at.tensor && c.data == at.data;
      case GroupKind::pipeline:
        return c.tensor == at.tensor && c.context == at.context && c.data == at.data;
      case GroupKind::data:
        return c.tensor == at.tensor && c.context == at.context;
      case GroupKind::data_context:
        return c.tensor == at.tensor;
      case GroupKind::expert:
        return flat(c) / expert_block == flat(at) / expert_block && flat(c) % et == flat(at) % et;
      case GroupKind::expert_tensor:
        return flat(c) / et == flat(at) / et;
      case GroupKind::expert_data:
        return flat(c) % expert_block == flat(at) % expert_block;
      case GroupKind::shard:
        return c.tensor == at.tensor &&
               data_context(c) / layout_.shard_group == data_context(at) / layout_.shard_group;
      case GroupKind::replica:
        return c.tensor == at.tensor &&
               data_context(c) % layout_.shard_group == data_context(at) % layout_.shard_group;
    }
    return false;
  };
  std::vector<RankId> ranks;
  if (kind == GroupKind::pipeline) {
    for (std::int64_t p = 0; p < layout_.pipeline; ++p) {
      ranks.push_back(rank({at.tensor, at.context, p, at.data}));
    }
  } else {
    for (std::int64_t d = 0; d < layout_.data; ++d) {
      for (std::int64_t c = 0; c < layout_.context; ++c) {
        for (std::int64_t t = 0; t < layout_.tensor; ++t) {
          const RankCoordinates candidate = {t, c, at.pipeline, d};
          if (is_member(candidate)) {
            ranks.push_back(rank(candidate));
          }
        }
      }
    }
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

GroupPlacement place_group(const RankMap& map,
                           const Layout& layout,
                           GroupKind kind,
                           const ClusterShape& cluster) {
  // Groups differ only by where they start against the borders of nodes and switch blocks; the
  // ranks of the first pipeline, of the last and of the middle meet every kind of border.
  GroupPlacement worst = place_one(map.group(kind, RankId{0}), cluster);
  const std::int64_t last = layout.gpus - 1;
  for (const std::int64_t probe : {last, last / 2, last / 3}) {
    const GroupPlacement other =
        place_one(map.group(kind, RankId{static_cast<std::int32_t>(probe)}), cluster);
    if (worse(other, worst)) {
      worst = other;
    }
  }
  return worst;
}

HopPlacement place_hop(const RankMap& map,
                       const Layout& layout,
                       std::int64_t from,
                       const ClusterShape& cluster) {
  const std::int64_t to = (from + 1) % layout.pipeline;
  HopPlacement worst;
  worst.sharing_node = 1;
  for (const std::int64_t d : {std::int64_t{0}, layout.data / 2, layout.data - 1}) {
    for (std::int64_t c = 0; c < layout.context; ++c) {
      for (std::int64_t t = 0; t < layout.tensor; ++t) {
        const std::int64_t a = map.rank({t, c, from, d}).value;
        const std::int64_t b = map.rank({t, c, to, d}).value;
        const std::int64_t node_a = a / cluster.gpus_per_node;
        const std::int64_t node_b = b / cluster.gpus_per_node;
        worst.same_node = worst.same_node && node_a == node_b;
        worst.same_domain =
            worst.same_domain && a / cluster.nvlink_domain == b / cluster.nvlink_domain;
        worst.tier = std::max(worst.tier, tier_between(node_a, node_b, cluster));
      }
    }
  }
  if (!worst.same_node) {
    worst.sharing_node = std::min(cluster.gpus_per_node, layout.gpus);
  }
  return worst;
}

}  // namespace orrery::layout
