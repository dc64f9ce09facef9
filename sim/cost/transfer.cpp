#include "sim/cost/transfer.hpp"

#include <algorithm>

#include "sim/cost/collective.hpp"
#include "sim/cost/link_rates.hpp"

namespace orrery::cost {

namespace {

constexpr Seconds kNodeLatency = microseconds(4.0);
constexpr Seconds kNetworkBase = microseconds(8.4);
constexpr double kMessageShare = 0.86 / kNicShare;  // of what collectives reach on a NIC

}  // namespace

TransferTime transfer_time(Bytes bytes,
                           const layout::HopPlacement& hop,
                           const hardware::GpuProfile& gpu,
                           const hardware::ClusterSpec& cluster) {
  TransferTime time;
  const BytesPerSecond pcie = gpu.pcie_bandwidth.value() * kPcieShare;
  if (hop.same_domain && gpu.nvlink) {
    time.bandwidth = gpu.nvlink->bandwidth.value() * direct_wire_share(gpu.arch);
    time.latency = kCall + kNodeLatency;
  } else if (hop.same_node) {
    time.bandwidth = pcie;
    time.latency = kCall + kNodeLatency;
  } else {
    const std::int64_t sharing = std::max<std::int64_t>(hop.sharing_node, 1);
    time.crosses_nodes = true;
    time.bandwidth = node_nic_rate(1, sharing, 1, cluster) *
                     (kMessageShare / full_taper(cluster.network, hop.tier));
    if (!gpu.nvlink) {  // the message leaves over the GPU's own PCIe link
      time.bandwidth = std::min(time.bandwidth, pcie);
    }
    time.latency = kCall + kNetworkBase + kNetworkHop + tier_latency(cluster.network, hop.tier) +
                   fabric_latency(cluster.network.fabric);
  }
  time.transfer = bytes / time.bandwidth;
  return time;
}

Cost transfer_cost(Bytes bytes,
                   const layout::HopPlacement& hop,
                   const hardware::GpuProfile& gpu,
                   const hardware::SoftwareProfile& software,
                   const hardware::ClusterSpec& cluster) {
  const TransferTime time = transfer_time(bytes, hop, gpu, cluster);
  const Coefficient<double>& efficiency =
      time.crosses_nodes ? software.network_efficiency : software.nvlink_efficiency;
  SourceKind wire = SourceKind::published;
  if (!time.crosses_nodes) {
    wire = weaker(
        wire,
        hop.same_domain && gpu.nvlink ? gpu.nvlink->bandwidth.kind() : gpu.pcie_bandwidth.kind());
  }
  Cost cost = term(time.transfer / efficiency.value(), weaker(wire, efficiency.kind()));
  cost += term(time.latency, SourceKind::published);
  const Seconds overhead = software.transfer_overhead.value();
  cost += term(overhead, software.transfer_overhead.kind());
  cost.gap = overhead;
  return cost;
}

Cost host_copy_cost(Bytes bytes, const hardware::GpuProfile& gpu) {
  Cost cost = term(bytes / gpu.host_bandwidth.value(), gpu.host_bandwidth.kind());
  cost += term(gpu.launch_latency.value(), gpu.launch_latency.kind());
  return cost;
}

}  // namespace orrery::cost
