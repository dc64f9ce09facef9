#include "sim/hardware/cluster_spec.hpp"

#include <fmt/core.h>

namespace orrery::hardware {

namespace {

std::optional<std::string> tier_problem(const std::vector<NetworkTier>& tiers) {
  std::int64_t below = 0;
  for (const NetworkTier& tier : tiers) {
    if (tier.nodes <= below) {
      return fmt::format(
          "tier {} holds {} nodes, the one below it {}: list the lowest tier first, each larger",
          tier.name,
          tier.nodes,
          below);
    }
    if (!(tier.oversubscription > 0.0)) {
      return fmt::format("tier {} has an oversubscription of {}, needs more than 0 (1 is none)",
                         tier.name,
                         tier.oversubscription);
    }
    below = tier.nodes;
  }
  return std::nullopt;
}

std::optional<std::string> down_problem(const ClusterSpec& cluster) {
  for (const DownLinks& down : cluster.network.links_down) {
    if (down.node >= cluster.nodes) {
      return fmt::format(
          "links_down names node {}, but the nodes are 0 to {}", down.node, cluster.nodes - 1);
    }
    if (cluster.nodes > 1 && down.nics >= cluster.network.nics_per_node) {
      return fmt::format("node {} has lost {} of its {} NICs and cannot take part",
                         down.node,
                         down.nics,
                         cluster.network.nics_per_node);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> network_problem(const ClusterSpec& cluster) {
  const NetworkSpec& network = cluster.network;
  const bool wired = network.nics_per_node > 0 && network.nic_rate > BytesPerSecond{};
  const std::int64_t domain = network.nvlink_domain.value_or(cluster.gpus_per_node);
  const bool one_domain = cluster.nodes * cluster.gpus_per_node <= domain;
  if (cluster.nodes > 1 && !wired && !one_domain) {
    return fmt::format("{} nodes need a network, but this one has {} NICs a node of {} Gbit/s",
                       cluster.nodes,
                       network.nics_per_node,
                       in_gigabits_per_second(network.nic_rate));
  }
  if (const auto problem = down_problem(cluster)) {
    return problem;
  }
  return tier_problem(network.tiers);
}

layout::ClusterShape cluster_shape(const ClusterSpec& cluster, bool has_nvlink) {
  layout::ClusterShape shape;
  shape.gpus = cluster.nodes * cluster.gpus_per_node;
  shape.gpus_per_node = cluster.gpus_per_node;
  shape.nvlink_domain =
      has_nvlink ? cluster.network.nvlink_domain.value_or(cluster.gpus_per_node) : 1;
  shape.tier_nodes.reserve(cluster.network.tiers.size());
  for (const NetworkTier& tier : cluster.network.tiers) {
    shape.tier_nodes.push_back(tier.nodes);
  }
  return shape;
}

}  // namespace orrery::hardware
