#include <algorithm>
#include <cmath>

#include "sim/step/cost/collective.hpp"
#include "sim/step/cost/cost.hpp"
#include "sim/step/cost/fair_share.hpp"
#include "sim/step/cost/link_rates.hpp"

namespace orrery::cost {

namespace {

constexpr double kMinChannelPairs = 1.0;
constexpr std::int64_t kNvlsHeads = 8;
constexpr std::int64_t kMostHashedFlows = 65'536;  // beyond, the fullest uplink has its mean

// Nodes of the group under one switch of the tier, when the group lies over all of its blocks.
double nodes_in_block(const layout::GroupPlacement& group, const hardware::ClusterSpec& cluster,
                      const hardware::NetworkTier& tier) {
  const std::int64_t size = std::max<std::int64_t>(tier.nodes, 1);
  const std::int64_t blocks = std::max<std::int64_t>((cluster.nodes + size - 1) / size, 1);
  return std::max(as_double(group.nodes) / as_double(blocks), 1.0);
}

// Flows of one NIC's rate on the fullest uplink of a lowest block when `flows` of them leave it.
double hashed_load(const hardware::ClusterSpec& cluster, double flows) {
  const hardware::NetworkTier& tier = cluster.network.tiers.front();
  const double nics = as_double(tier.nodes * cluster.network.nics_per_node);
  const std::int64_t uplinks =
      std::max<std::int64_t>(std::llround(nics / tier.oversubscription), 1);
  const std::int64_t count = std::clamp<std::int64_t>(std::llround(flows), 1, kMostHashedFlows);
  return expected_worst_load(static_cast<std::size_t>(count), static_cast<std::size_t>(uplinks)) *
         (flows / as_double(count));
}

// Static hashing: each of the flows that leave a lowest block picks one uplink for good.
void add_collisions(const hardware::ClusterSpec& cluster, double inside, double leaving,
                    GroupFabric& fabric) {
  const hardware::NetworkTier& tier = cluster.network.tiers.front();
  const double nics = as_double(tier.nodes * cluster.network.nics_per_node);
  fabric.ring_taper = std::max(fabric.ring_taper, hashed_load(cluster, nics / inside));
  const double peers = std::max(leaving * as_double(fabric.graph.ranks), 1.0);
  // Every NIC sends a small flow to each peer beyond the block: many flows, better spread.
  fabric.scatter_taper =
      std::max(fabric.scatter_taper, hashed_load(cluster, nics * peers) * leaving / peers);
}

void add_tapers(const layout::GroupPlacement& group, const hardware::ClusterSpec& cluster,
                GroupFabric& fabric) {
  const hardware::NetworkSpec& network = cluster.network;
  if (network.tiers.empty()) {
    return;
  }
  double product = 1.0;
  const std::size_t crossed = std::min(group.tier, network.tiers.size());
  for (std::size_t i = 0; i < crossed; ++i) {
    const hardware::NetworkTier& tier = network.tiers[i];
    product *= tier.oversubscription;
    const double inside = nodes_in_block(group, cluster, tier);
    const double leaving = 1.0 - inside / as_double(std::max<std::int64_t>(group.nodes, 1));
    fabric.ring_taper = std::max(fabric.ring_taper, product / inside);
    fabric.scatter_taper = std::max(fabric.scatter_taper, product * leaving);
  }
  const double rails = as_double(std::min(network.nics_per_node, cluster.gpus_per_node));
  const bool by_spine = network.cross_rail == hardware::CrossRail::spine && rails > 1.0;
  const double inside =
      crossed > 0 ? nodes_in_block(group, cluster, network.tiers.front()) : as_double(group.nodes);
  double leaving = 1.0 - inside / as_double(std::max<std::int64_t>(group.nodes, 1));
  if (by_spine) {  // of the bytes that stay in the block, those for other rails leave the leaf too
    leaving += (1.0 - leaving) * (1.0 - 1.0 / rails);
    fabric.scatter_taper =
        std::max(fabric.scatter_taper, network.tiers.front().oversubscription * leaving);
  }
  if (network.routing == hardware::Routing::static_ecmp && (crossed > 0 || by_spine)) {
    add_collisions(cluster, inside, leaving, fabric);
    if (crossed == 0) {
      fabric.ring_taper = 1.0;  // rings stay on their rail
    }
  }
}

// What the GPU's links to its neighbours carry, and what NCCL's ring makes of them.
void add_links(const hardware::GpuProfile& gpu, GroupFabric& fabric) {
  if (fabric.graph.nvlink && gpu.nvlink) {
    const double share = gpu.nvlink->share_of(fabric.graph.ranks_per_node);
    fabric.link = gpu.nvlink->bandwidth.value() * share;
    fabric.peer_link = gpu.nvlink->bandwidth.value() * gpu.nvlink->share_of(2);
    fabric.graph.intra =
        gpu.nvlink->nccl_ring_bandwidth.value() * (gpu.coefficients().ring_share * share);
    fabric.link_source = gpu.nvlink->nccl_ring_bandwidth.kind();
    return;
  }
  fabric.link = gpu.pcie_bandwidth.value() * kPcieShare;
  fabric.peer_link = fabric.link;
  fabric.graph.intra = fabric.link;
  fabric.link_source = weaker(gpu.pcie_bandwidth.kind(), SourceKind::published);
}

}  // namespace

double full_taper(const hardware::NetworkSpec& network, std::size_t tier) {
  double product = 1.0;
  for (std::size_t i = 0; i < std::min(tier, network.tiers.size()); ++i) {
    product *= network.tiers[i].oversubscription;
  }
  return product;
}

Seconds tier_latency(const hardware::NetworkSpec& network, std::size_t tier) {
  Seconds sum;
  for (std::size_t i = 0; i < std::min(tier + 1, network.tiers.size()); ++i) {
    sum += network.tiers[i].latency;
  }
  return sum;
}

BytesPerSecond node_nic_rate(std::int64_t ranks_on_node, std::int64_t sharing,
                             std::int64_t hosts_per_node, const hardware::ClusterSpec& cluster,
                             double exponent) {
  const double nics = as_double(cluster.network.nics_per_node * hosts_per_node);
  const double gpus = as_double(cluster.gpus_per_node * hosts_per_node);
  const double beside = as_double(ranks_on_node) * std::max(nics / gpus, 1.0);
  const double laid = std::pow(beside, exponent);
  const double usable = std::min({laid, nics, nics / as_double(sharing)});
  return cluster.network.nic_rate * (usable * kNicShare);
}

double working_nic_share(const hardware::ClusterSpec& cluster, double nics) {
  std::int64_t worst = 0;
  for (const hardware::DownLinks& down : cluster.network.links_down) {
    worst = std::max(worst, down.nics);
  }
  const double down = as_double(worst);
  if (worst == 0) {
    return 1.0;
  }
  constexpr double kWithNeighbour = 0.5;
  return nics > down ? (nics - down) / nics : kWithNeighbour;
}

GroupFabric group_fabric(const layout::GroupPlacement& group, const hardware::GpuProfile& gpu,
                         const hardware::ClusterSpec& cluster, double ring_nic_exponent) {
  GroupFabric fabric;
  fabric.laws = &gpu.coefficients();
  NcclGraph& graph = fabric.graph;
  graph.arch = gpu.arch;
  graph.ranks = group.ranks;
  // NCCL's node is the larger of host and NVLink domain; a host with several domains talks PCIe.
  const bool domains_span_hosts = group.domains <= group.nodes;
  graph.nodes = domains_span_hosts ? group.domains : group.nodes;
  graph.ranks_per_node = domains_span_hosts ? group.ranks_per_domain : group.ranks_per_node;
  graph.ranks_per_node = std::clamp<std::int64_t>(graph.ranks_per_node, 1, graph.ranks);
  graph.nvlink = gpu.nvlink.has_value() && domains_span_hosts;
  add_links(gpu, fabric);
  graph.nvls = graph.nvlink && gpu.nvlink->nvls;
  const std::int64_t heads = std::min(graph.ranks_per_node, kNvlsHeads);
  graph.nvls_heads = as_double(heads);
  if (graph.nvls) {
    graph.nvls_speed = nccl_nvls_speed(gpu.arch, fabric.link, heads);
  }
  graph.forced = cluster.network.algorithm;
  graph.ring_channels = ring_channels(gpu.arch, graph.nvlink);
  if (graph.nodes > 1) {
    const std::int64_t hosts = std::max<std::int64_t>(group.nodes / graph.nodes, 1);
    fabric.nics =
        node_nic_rate(graph.ranks_per_node, group.sharing_node, hosts, cluster, ring_nic_exponent);
    add_tapers(group, cluster, fabric);
    const double pairs =
        std::max(fabric.nics / (cluster.network.nic_rate * kNicShare), kMinChannelPairs);
    graph.ring_channels = std::min(graph.ring_channels, 2.0 * pairs);
    const double ring_nics = fabric.nics / (cluster.network.nic_rate * kNicShare);
    const double rank_nics = as_double(cluster.network.nics_per_node) /
                             as_double(std::max<std::int64_t>(cluster.gpus_per_node, 1));
    fabric.scatter_taper /= working_nic_share(cluster, rank_nics);
    graph.inter = fabric.nics * (working_nic_share(cluster, ring_nics) / fabric.ring_taper);
    graph.inter = std::min(graph.inter, graph.intra);
    if (graph.ranks_per_node == 1) {
      graph.intra = graph.inter;  // a ring of single ranks has no other wire
    }
    graph.inter_latency =
        tier_latency(cluster.network, group.tier) + fabric_latency(cluster.network.fabric);
    graph.sharp = cluster.network.sharp;
    const bool by_spine = cluster.network.cross_rail == hardware::CrossRail::spine;
    if (by_spine && group.tier == 0) {
      fabric.cross_rail_latency =
          tier_latency(cluster.network, 1) - tier_latency(cluster.network, 0);
    }
    fabric.pxn = cluster.network.cross_rail == hardware::CrossRail::pxn;
  }
  return fabric;
}

}  // namespace orrery::cost
