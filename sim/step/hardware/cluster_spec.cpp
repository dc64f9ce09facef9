#include "sim/step/hardware/cluster_spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace orrery::hardware {

namespace {

std::optional<std::string> tier_problem(const std::vector<NetworkTier>& tiers) {
  std::int64_t below = 0;
  for (const NetworkTier& tier : tiers) {
    if (tier.nodes <= below) {
      return fmt::format(
          "tier {} holds {} nodes, the one below it {}: list the lowest tier first, each larger",
          tier.name, tier.nodes, below);
    }
    if (!(tier.oversubscription > 0.0)) {
      return fmt::format("tier {} has an oversubscription of {}, needs more than 0 (1 is none)",
                         tier.name, tier.oversubscription);
    }
    below = tier.nodes;
  }
  return std::nullopt;
}

std::optional<std::string> down_problem(const ClusterSpec& cluster) {
  for (const DownLinks& down : cluster.network.links_down) {
    if (down.node >= cluster.nodes) {
      return fmt::format("links_down names node {}, but the nodes are 0 to {}", down.node,
                         cluster.nodes - 1);
    }
    if (cluster.nodes > 1 && down.nics >= cluster.network.nics_per_node) {
      return fmt::format("node {} has lost {} of its {} NICs and cannot take part", down.node,
                         down.nics, cluster.network.nics_per_node);
    }
  }
  return std::nullopt;
}

std::optional<std::string> switch_problem(const NetworkSpec& network, const NetworkFault& fault,
                                          std::size_t tier) {
  if (fault.rail && !has_rail_switches(network, tier)) {
    return fmt::format(
        "faults names rail {} of tier {}, but only the lowest tier has a switch per rail, with "
        "cross_rail: pxn or spine",
        *fault.rail, fault.tier);
  }
  if (fault.rail && *fault.rail >= network.nics_per_node) {
    return fmt::format("faults names rail {}, but the rails are 0 to {}", *fault.rail,
                       network.nics_per_node - 1);
  }
  if (fault.uplinks && fault.part == FaultyPart::all) {
    return "a fault of all links of a switch has no number of uplinks: part or uplinks";
  }
  const std::int64_t uplinks = uplinks_of_switch(network, tier);
  if (fault.uplinks && *fault.uplinks > uplinks) {
    return fmt::format("faults names {} uplinks of tier {}, but a switch of it has {}",
                       *fault.uplinks, fault.tier, uplinks);
  }
  return std::nullopt;
}

std::optional<std::string> place_problem(const ClusterSpec& cluster, const NetworkFault& fault) {
  const NetworkSpec& network = cluster.network;
  if (fault.node) {
    if (*fault.node >= cluster.nodes) {
      return fmt::format("faults names node {}, but the nodes are 0 to {}", *fault.node,
                         cluster.nodes - 1);
    }
    if (fault.nic && *fault.nic >= network.nics_per_node) {
      return fmt::format("faults names NIC {} of node {}, but its NICs are 0 to {}", *fault.nic,
                         *fault.node, network.nics_per_node - 1);
    }
    return std::nullopt;
  }
  const auto tier = std::ranges::find(network.tiers, fault.tier, &NetworkTier::name);
  if (tier == network.tiers.end()) {
    std::vector<std::string> names;
    for (const NetworkTier& each : network.tiers) {
      names.push_back(each.name);
    }
    return fault.tier.empty()
               ? std::string("a fault needs a place: node, or tier and block")
               : fmt::format("faults names tier {}, but the tiers are: {}", fault.tier,
                             names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }
  const std::int64_t blocks = (cluster.nodes + tier->nodes - 1) / tier->nodes;
  if (fault.block >= blocks) {
    return fmt::format("faults names block {} of tier {}, but its blocks are 0 to {}", fault.block,
                       fault.tier, blocks - 1);
  }
  return switch_problem(network, fault, static_cast<std::size_t>(tier - network.tiers.begin()));
}

std::optional<std::string> fault_problem(const ClusterSpec& cluster) {
  for (const NetworkFault& fault : cluster.network.faults) {
    if (auto problem = place_problem(cluster, fault)) {
      return problem;
    }
    if (fault.until && *fault.until <= fault.from) {
      return "a fault ends before it begins: until must be later than from";
    }
  }
  return std::nullopt;
}

}  // namespace

std::int64_t nvlink_gpus(const ClusterSpec& cluster) {
  return cluster.network.nvlink_domain.value_or(cluster.rack_gpus.value_or(cluster.gpus_per_node));
}

bool has_rail_switches(const NetworkSpec& network, std::size_t tier) {
  return tier == 0 && network.nics_per_node > 1 && network.cross_rail != CrossRail::leaf;
}

std::int64_t uplinks_of_switch(const NetworkSpec& network, std::size_t tier) {
  double taper = 1.0;
  for (std::size_t i = 0; i <= tier; ++i) {
    taper *= network.tiers[i].oversubscription;
  }
  const std::int64_t nics = has_rail_switches(network, tier) ? 1 : network.nics_per_node;
  const auto ports = static_cast<double>(network.tiers[tier].nodes * nics);
  return std::max(std::llround(ports / taper), 1LL);
}

std::optional<std::string> network_problem(const ClusterSpec& cluster) {
  const NetworkSpec& network = cluster.network;
  const bool wired = network.nics_per_node > 0 && network.nic_rate > BytesPerSecond{};
  const bool one_domain = cluster.nodes * cluster.gpus_per_node <= nvlink_gpus(cluster);
  if (cluster.nodes > 1 && !wired && !one_domain) {
    return fmt::format("{} nodes need a network, but this one has {} NICs a node of {} Gbit/s",
                       cluster.nodes, network.nics_per_node,
                       in_gigabits_per_second(network.nic_rate));
  }
  if (const auto problem = down_problem(cluster)) {
    return problem;
  }
  if (auto problem = tier_problem(network.tiers)) {
    return problem;
  }
  return fault_problem(cluster);
}

ClusterSpec unshared(ClusterSpec cluster) {
  for (NetworkTier& tier : cluster.network.tiers) {
    tier.oversubscription = 1.0;
  }
  if (cluster.network.routing == Routing::static_ecmp) {
    cluster.network.routing = Routing::adaptive;
  }
  cluster.network.links_down.clear();
  return cluster;
}

layout::ClusterShape cluster_shape(const ClusterSpec& cluster, bool has_nvlink) {
  layout::ClusterShape shape;
  shape.gpus = cluster.nodes * cluster.gpus_per_node;
  shape.gpus_per_node = cluster.gpus_per_node;
  shape.nvlink_domain = has_nvlink ? nvlink_gpus(cluster) : 1;
  shape.tier_nodes.reserve(cluster.network.tiers.size());
  for (const NetworkTier& tier : cluster.network.tiers) {
    shape.tier_nodes.push_back(tier.nodes);
  }
  return shape;
}

}  // namespace orrery::hardware
