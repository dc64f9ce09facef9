#include "sim/step/cost/network_use.hpp"

namespace orrery::cost {

using model::CollectiveKind;

std::optional<NetworkUse> collective_use(CollectiveKind kind, Bytes bytes_per_rank_in,
                                         Bytes bytes_total, model::Dtype dtype,
                                         const layout::GroupPlacement& group,
                                         const hardware::GpuProfile& gpu,
                                         const hardware::SoftwareProfile& software,
                                         const hardware::ClusterSpec& cluster) {
  if (group.ranks <= 1) {
    return std::nullopt;
  }
  const CollectiveTime time = collective_time(kind, bytes_per_rank_in, bytes_total, dtype, group,
                                              gpu, cluster, software.ring_nic_exponent.value());
  if (!time.crosses_nodes) {
    return std::nullopt;
  }
  NetworkUse use;
  if (kind == CollectiveKind::all_to_all || kind == CollectiveKind::send_receive) {
    use.pattern = NetworkPattern::exchange;
  } else {
    use.pattern = time.fabric_reduces ? NetworkPattern::in_switches : NetworkPattern::ring;
  }
  use.bytes = nccl_bytes(kind, bytes_per_rank_in, bytes_total) * time.crossing;
  use.alone = stack_transfer(time, kind, group, software, cluster);
  return use;
}

std::optional<NetworkUse> hierarchical_exchange_use(const ExchangeBytes& bytes,
                                                    const layout::GroupPlacement& group,
                                                    const hardware::GpuProfile& gpu,
                                                    const hardware::SoftwareProfile& software,
                                                    const hardware::ClusterSpec& cluster) {
  if (group.ranks <= 1) {
    return std::nullopt;
  }
  const CollectiveTime time = hierarchical_exchange_time(bytes, group, gpu, cluster);
  if (!time.crosses_nodes) {
    return std::nullopt;
  }
  return NetworkUse{NetworkPattern::exchange, bytes.over_network,
                    time.transfer / exchange_efficiency(time, software).value()};
}

std::optional<NetworkUse> transfer_use(Bytes bytes, const layout::HopPlacement& hop,
                                       const hardware::GpuProfile& gpu,
                                       const hardware::SoftwareProfile& software,
                                       const hardware::ClusterSpec& cluster) {
  const TransferTime time = transfer_time(bytes, hop, gpu, cluster);
  if (!time.crosses_nodes) {
    return std::nullopt;
  }
  return NetworkUse{NetworkPattern::message, bytes,
                    time.transfer / software.network_efficiency.value()};
}

}  // namespace orrery::cost
