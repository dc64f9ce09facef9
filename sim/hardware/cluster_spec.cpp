#include "sim/hardware/cluster_spec.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace orrery::hardware {

namespace {

// Extra one-way latency of a message that leaves its leaf switch: the differences of the 64-byte
// latencies in arXiv 2505.09343 (InfiniBand 2.8 us under one leaf, 3.7 us across leaves; RoCE 3.6
// and 5.6 us). The same step is taken again for every further level.
constexpr Seconds kInfinibandHop = microseconds(0.9);
constexpr Seconds kRoceHop = microseconds(2.0);

NetworkSpec flat(std::string name,
                 double nic_gigabits,
                 std::int64_t nics,
                 FabricKind fabric = FabricKind::infiniband) {
  NetworkSpec spec;
  spec.fabric = fabric;
  spec.preset = std::move(name);
  spec.nic_rate = gigabits_per_second(nic_gigabits);
  spec.nics_per_node = nics;
  return spec;
}

// Racks of 2 servers under one switch, pods of 192 racks = 384 servers at full bisection, 1:7 from
// the pods to the core.
NetworkSpec clos_400g() {
  NetworkSpec spec = flat("clos-400g", 400.0, 8, FabricKind::roce);
  spec.tiers = {
      {"rack", 2, 1.0, Seconds{}}, {"pod", 384, 7.0, kRoceHop}, {"core", 3072, 1.0, kRoceHop}};
  return spec;
}

NetworkSpec infiniband_400g() {
  NetworkSpec spec = flat("infiniband-400g", 400.0, 8);
  spec.tiers = {{"scalable unit", 32, 1.0, Seconds{}},
                {"spine", 256, 1.0, kInfinibandHop},
                {"core", 2048, 1.0, kInfinibandHop}};
  return spec;
}

NetworkSpec infiniband_200g() {
  NetworkSpec spec = flat("infiniband-200g", 200.0, 8);
  spec.tiers = {{"scalable unit", 20, 1.0, Seconds{}}, {"superpod", 140, 1.0, kInfinibandHop}};
  return spec;
}

// A rack of 18 trays with 4 GPUs and 4 NICs each is one NVLink domain of 72 GPUs.
NetworkSpec nvl72() {
  NetworkSpec spec = flat("nvl72", 400.0, 4);
  spec.nvlink_domain = 72;
  spec.tiers = {{"rack", 18, 1.0, Seconds{}}, {"scalable unit", 144, 1.0, kInfinibandHop}};
  return spec;
}

NetworkSpec single_node() {
  NetworkSpec spec;
  spec.preset = "single-node";
  spec.nic_rate = BytesPerSecond{};
  spec.nics_per_node = 0;
  return spec;
}

std::vector<NetworkPreset> make_presets() {
  return {
      {"clos-400g",
       "Meta's RoCE fabric of Llama 3: 400 Gbit/s per GPU, 2 servers a rack, pods of 3,072 GPUs "
       "at full bisection, 1:7 above",
       "Llama 3 (arXiv 2407.21783, section 3.3.1); latencies arXiv 2505.09343",
       clos_400g()},
      {"infiniband-400g",
       "NDR InfiniBand, eight 400 Gbit/s rails a node, fat tree without oversubscription",
       "NVIDIA DGX SuperPOD reference architecture (H100: RA-11333; leaf, spine and core counts of "
       "the B200 edition); latencies arXiv 2505.09343",
       infiniband_400g()},
      {"infiniband-200g",
       "HDR InfiniBand as in Selene, eight 200 Gbit/s rails a node, seven scalable units of 20 "
       "nodes",
       "NVIDIA DGX SuperPOD A100 reference architecture (RA-09950); latencies arXiv 2505.09343",
       infiniband_200g()},
      {"infiniband-hdr-8x200",
       "eight 200 Gbit/s InfiniBand ports a node under one full-bisection fabric",
       "Azure ND A100 v4 documentation (200 Gbit/s HDR per GPU); levels not stated there",
       flat("infiniband-hdr-8x200", 200.0, 8)},
      {"ethernet-100g",
       "one 100 Gbit/s Ethernet port a node, one switch",
       "line rate of 100GBASE Ethernet (IEEE 802.3)",
       flat("ethernet-100g", 100.0, 1, FabricKind::roce)},
      {"ethernet-25g",
       "one 25 Gbit/s Ethernet port a node, one switch",
       "line rate of 25GBASE Ethernet (IEEE 802.3)",
       flat("ethernet-25g", 25.0, 1, FabricKind::roce)},
      {"omnipath-100g-4",
       "four 100 Gbit/s Omni-Path links a node, as in Jean Zay's A100 nodes",
       "BLOOM (arXiv 2211.05100): four Omni-Path 100 Gbit/s links a node, enhanced hypercube",
       flat("omnipath-100g-4", 100.0, 4)},
      {"aws-efa-p4d",
       "AWS p4d.24xlarge: 400 Gbit/s EFA a node over four network cards",
       "AWS EC2 P4 instance page (400 Gbit/s); placement groups are full bisection by assumption",
       flat("aws-efa-p4d", 100.0, 4, FabricKind::efa)},
      {"aws-efa-p5",
       "AWS p5.48xlarge: 3,200 Gbit/s EFA a node over 32 network cards",
       "AWS EC2 user guide, EFA for P5 (32 network cards, 3,200 Gbit/s); placement groups are full "
       "bisection by assumption",
       flat("aws-efa-p5", 100.0, 32, FabricKind::efa)},
      {"nvl72",
       "GB200 NVL72: 72 GPUs in one NVLink domain (18 trays of 4), four 400 Gbit/s NICs a tray, "
       "units of eight racks",
       "NVIDIA DGX GB200 SuperPOD reference architecture; latencies arXiv 2505.09343",
       nvl72()},
      {"roce-8x400g",
       "eight 400 Gbit/s RoCE NICs a node, one beside each GPU, under one full-bisection fabric",
       "ROCm documentation: MI300X to MI355X nodes with eight ConnectX-7, Pollara 400 or Thor 2 "
       "NICs, one per GPU; levels not stated there",
       flat("roce-8x400g", 400.0, 8, FabricKind::roce)},
      {"gaudi2-roce",
       "Gaudi 2: three 100 Gbit/s scale-out ports a card, 24 a node of eight, one full-bisection "
       "fabric",
       "Intel Gaudi documentation, Network Configuration; levels not stated there",
       flat("gaudi2-roce", 100.0, 24, FabricKind::roce)},
      {"gaudi3-roce",
       "Gaudi 3: three 200 Gbit/s scale-out ports a card, 24 a node of eight, one full-bisection "
       "fabric",
       "Intel Gaudi documentation, Network Configuration; levels not stated there",
       flat("gaudi3-roce", 200.0, 24, FabricKind::roce)},
      {"single-node", "no network: the job stays in one node", "by definition", single_node()},
  };
}

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

}  // namespace

std::span<const NetworkPreset> network_presets() {
  static const std::vector<NetworkPreset> presets = make_presets();
  return presets;
}

const NetworkPreset* find_network_preset(std::string_view name) {
  const std::span<const NetworkPreset> presets = network_presets();
  const auto found = std::find_if(
      presets.begin(), presets.end(), [name](const NetworkPreset& p) { return p.name == name; });
  return found == presets.end() ? nullptr : &*found;
}

namespace {

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
