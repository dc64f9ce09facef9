#include "sim/step/cost/transfer.hpp"

#include <algorithm>

#include "sim/step/cost/collective.hpp"
#include "sim/step/cost/fair_share.hpp"
#include "sim/step/cost/link_rates.hpp"

namespace orrery::cost {

namespace {

constexpr std::int64_t kFewNodes = 4;
constexpr double kNicsPerChannel = 2.0;

// Share of the NICs beside a GPU that one message uses and that work.
double message_nic_share(const layout::HopPlacement& hop, const hardware::ClusterSpec& cluster) {
  const double nics = static_cast<double>(cluster.network.nics_per_node);
  const double beside = std::max(nics / static_cast<double>(cluster.gpus_per_node), 1.0);
  const double channels = hop.nodes > kFewNodes ? 1.0 : 2.0;
  return std::min(1.0, channels * kNicsPerChannel / beside) * working_nic_share(cluster, beside);
}

// All NICs of a lowest block send at once; static hashing makes the fullest uplink count.
double message_taper(const layout::HopPlacement& hop, const hardware::ClusterSpec& cluster) {
  const hardware::NetworkSpec& network = cluster.network;
  const double taper = full_taper(network, hop.tier);
  if (hop.tier == 0 || network.tiers.empty() || network.routing != hardware::Routing::static_ecmp) {
    return taper;
  }
  const hardware::NetworkTier& tier = network.tiers.front();
  const auto flows = static_cast<std::size_t>(tier.nodes * network.nics_per_node);
  const double uplinks = static_cast<double>(flows) / tier.oversubscription;
  return std::max(taper,
                  expected_worst_load(flows, static_cast<std::size_t>(std::max(uplinks, 1.0))));
}

}  // namespace

TransferTime transfer_time(Bytes bytes, const layout::HopPlacement& hop,
                           const hardware::GpuProfile& gpu, const hardware::ClusterSpec& cluster) {
  const hardware::GpuCoefficients& laws = gpu.coefficients();
  TransferTime time;
  const BytesPerSecond pcie = gpu.pcie_bandwidth.value() * kPcieShare;
  if (hop.same_domain && gpu.nvlink) {
    time.bandwidth = gpu.nvlink->bandwidth.value() * (laws.direct_share * gpu.nvlink->share_of(2));
    time.latency = laws.call_time + laws.node_message;
  } else if (hop.same_node) {
    time.bandwidth = pcie;
    time.latency = laws.call_time + laws.node_message;
  } else {
    const std::int64_t sharing = std::max<std::int64_t>(hop.sharing_node, 1);
    time.crosses_nodes = true;
    time.bandwidth = node_nic_rate(1, sharing, 1, cluster) *
                     (laws.message_share / kNicShare * message_nic_share(hop, cluster) /
                      message_taper(hop, cluster));
    if (!gpu.nvlink) {  // the message leaves over the GPU's own PCIe link
      time.bandwidth = std::min(time.bandwidth, pcie);
    }
    time.latency = laws.call_time + laws.network_message + laws.network_hop +
                   tier_latency(cluster.network, hop.tier) + fabric_latency(cluster.network.fabric);
  }
  time.transfer = bytes / time.bandwidth;
  return time;
}

Cost transfer_cost(Bytes bytes, const layout::HopPlacement& hop, const hardware::GpuProfile& gpu,
                   const hardware::SoftwareProfile& software,
                   const hardware::ClusterSpec& cluster) {
  const TransferTime time = transfer_time(bytes, hop, gpu, cluster);
  const Coefficient<double>& efficiency =
      time.crosses_nodes ? software.network_efficiency : software.nvlink_efficiency;
  SourceKind wire = SourceKind::published;
  if (!time.crosses_nodes) {
    wire = weaker(wire, hop.same_domain && gpu.nvlink ? gpu.nvlink->bandwidth.kind()
                                                      : gpu.pcie_bandwidth.kind());
  }
  Cost cost = term(time.transfer / efficiency.value(), weaker(wire, efficiency.kind()));
  cost += term(time.latency, SourceKind::published);
  const Seconds overhead = software.transfer_overhead.value();
  cost += term(overhead, software.transfer_overhead.kind());
  cost.gap = overhead;
  return cost;
}

}  // namespace orrery::cost
