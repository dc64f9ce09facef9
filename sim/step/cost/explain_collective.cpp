#include <fmt/format.h>

#include "sim/step/cost/collective.hpp"
#include "sim/step/cost/cost_model.hpp"
#include "sim/step/cost/nccl_algorithms.hpp"

namespace orrery::cost {

namespace {

std::string_view name_of(model::CollectiveKind kind) {
  switch (kind) {
    case model::CollectiveKind::all_reduce:
      return "all-reduce";
    case model::CollectiveKind::all_gather:
      return "all-gather";
    case model::CollectiveKind::reduce_scatter:
      return "reduce-scatter";
    case model::CollectiveKind::all_to_all:
      return "all-to-all";
    case model::CollectiveKind::broadcast:
      return "broadcast";
    case model::CollectiveKind::send_receive:
      break;
  }
  return "send/receive";
}

std::string table_line(model::CollectiveKind kind, Bytes size, model::Dtype dtype,
                       const NcclGraph& graph) {
  std::string line;
  for (const NcclAlgorithm& row : nccl_algorithms()) {
    for (std::size_t p = 0; p < kNcclProtocols; ++p) {
      const auto entry =
          nccl_estimate(kind, row.algorithm, static_cast<Protocol>(p), size, dtype, graph);
      if (entry) {
        line += fmt::format("  {:>8} {:<6} {:10.1f} us  ({:8.1f} us + {:6.1f} GB/s)\n",
                            to_string(entry->algorithm), to_string(entry->protocol),
                            in_microseconds(entry->time), in_microseconds(entry->latency),
                            in_gigabytes_per_second(entry->bandwidth));
      }
    }
  }
  return line;
}

}  // namespace

std::string CostModel::explain_collective(model::CollectiveKind kind, Bytes bytes_per_rank_in,
                                          Bytes bytes_total, model::Dtype dtype,
                                          const layout::GroupPlacement& group) const {
  if (group.ranks <= 1) {
    return fmt::format("{} of 1 rank: nothing to send\n", name_of(kind));
  }
  const CollectiveTime time = collective_time(kind, bytes_per_rank_in, bytes_total, dtype, group,
                                              gpu_, cluster_, software_.ring_nic_exponent.value());
  const Cost cost = collective(kind, bytes_per_rank_in, bytes_total, dtype, group);
  const Bytes size = nccl_bytes(kind, bytes_per_rank_in, bytes_total);
  const Coefficient<double>& efficiency =
      time.crosses_nodes ? software_.network_efficiency : software_.nvlink_efficiency;
  std::string text = fmt::format(
      "{} of {:.3f} MiB, ranks: {}, hosts: {} with {} ranks each, groups on one host: {}\n",
      name_of(kind), in_mebibytes(size), group.ranks, group.nodes, group.ranks_per_node,
      group.sharing_node);
  text += time.algorithm == Algorithm::direct
              ? fmt::format("direct: {}\n", time.reason)
              : fmt::format("{} with {}: {}\n", to_string(time.algorithm), to_string(time.protocol),
                            time.reason);
  text += fmt::format(
      "time {:.1f} us = call {:.1f} + latency {:.1f} + fill {:.1f} + transfer {:.1f} / {:.3f} "
      "(stack) + overhead {:.1f}\n",
      in_microseconds(cost.time), in_microseconds(time.call), in_microseconds(time.latency),
      in_microseconds(time.fill), in_microseconds(time.transfer), efficiency.value(),
      in_microseconds(software_.collective_overhead.value()));
  text += fmt::format("bandwidth {:.1f} GB/s ({:.1f} GB/s on the bus), bound by {}\n",
                      in_gigabytes_per_second(time.bandwidth),
                      in_gigabytes_per_second(time.bandwidth) * bus_factor(kind, group.ranks),
                      time.limit);
  if (time.table != nullptr) {
    text += fmt::format(
        "measured: all terms x {:.3f}; nearest table {} ({} ranks on {} nodes{}, {}, as of {}), "
        "distance {:.2f}\n",
        time.measured_ratio, time.table->rig, time.table->ranks, time.table->nodes,
        time.table->degraded ? ", degraded" : "", time.table->source.citation, time.table->as_of,
        time.table_distance);
  }
  if (time.algorithm != Algorithm::direct) {
    const GroupFabric fabric =
        group_fabric(group, gpu_, cluster_, software_.ring_nic_exponent.value());
    text += "NCCL 2.28.9 expects:\n" + table_line(kind, size, dtype, fabric.graph);
  }
  return text;
}

}  // namespace orrery::cost
