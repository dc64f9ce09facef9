#include "sim/step/cost/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/step/cost/cost.hpp"
#include "sim/step/cost/cost_model.hpp"
#include "sim/step/cost/measured_collectives.hpp"
#include "sim/step/cost/nccl_model.hpp"

namespace orrery::cost {

namespace {

using model::CollectiveKind;

constexpr double kFillRanks = 8.0;  // of one host

// Groups and sizes for which logs exist; beyond them the result is flagged.
constexpr std::int64_t kMeasuredRanks = 1440;
constexpr double kMeasuredGibibytes = 16.0;

bool reduces_or_gathers(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::broadcast;
}

// With one GPU of every node, or with all of them, a ring enters and leaves each node through one
// rail. With some of them it comes in next to one GPU and goes out next to another: its bytes cross
// the host or the spine. For groups over several nodes.
bool crosses_rails(const layout::GroupPlacement& group, const hardware::ClusterSpec& cluster) {
  return group.ranks_per_node > 1 && group.ranks_per_node < cluster.gpus_per_node;
}

// Three or more domains that are larger than a host of eight.
bool spans_racks(const NcclGraph& graph) {
  return graph.nvls && graph.nodes > 2 && as_double(graph.ranks_per_node) > kFillRanks;
}

struct Rate {
  BytesPerSecond bandwidth;
  std::string_view limit;
};

// Bytes that the busiest node of NCCL's two binary trees sends per byte of the buffer. Each tree
// carries half of it up and down. Of two nodes each is the root of one tree and the leaf of the
// other; over three the trees are chains, and the inner node of one is an end of the other; over
// more, an inner node has two children.
double tree_crossing(const NcclGraph& graph) {
  const double n = as_double(graph.ranks);
  return graph.nodes == 2 ? 1.0 : graph.nodes == 3 ? 1.5 : 2.0 * (n - 1.0) / n;
}

// Bytes that leave a node per byte of the buffer: a ring sends its whole path over one boundary,
// switches that reduce get every byte once.
double node_crossing(const NcclAlgorithm& row, CollectiveKind kind, const NcclGraph& graph) {
  if (row.tree) {
    return tree_crossing(graph);
  }
  return row.in_switches ? 1.0 : bus_factor(kind, graph.ranks);
}

// The algorithm bandwidth that the choice reaches: NCCL's, except where measurements differ.
Rate reached_rate(const NcclEstimate& choice, CollectiveKind kind, const GroupFabric& fabric) {
  const NcclGraph& graph = fabric.graph;
  const NcclAlgorithm& row = nccl_algorithm(choice.algorithm);
  if (row.in_switches && kind == CollectiveKind::all_reduce && graph.nodes == 1) {
    return {fabric.link * fabric.laws->nvls_share, "NVSwitch reduction"};
  }
  Rate rate{choice.bandwidth,
            choice.protocol == Protocol::simple ? link_name(graph.arch) : "protocol"};
  if (!graph.nvlink && graph.ranks_per_node > 1) {
    rate.limit = "PCIe";
  }
  if (graph.nodes == 1) {
    return rate;
  }
  if (row.in_switches && !row.tree) {  // up and down once: what the table says of the NICs
    rate.limit = "SHARP switches";
    return rate;
  }
  const double crossing = node_crossing(row, kind, graph);
  if (choice.protocol == Protocol::simple) {
    rate.bandwidth = rate.bandwidth / row.discount;
  }
  if (row.tree && spans_racks(graph)) {  // over the links of the switches as over the NICs
    rate.bandwidth = std::min(rate.bandwidth, fabric.link * (fabric.laws->nvls_share / crossing));
    rate.limit = "NVSwitch tree";
  }
  const BytesPerSecond network = graph.inter / crossing;
  if (network < rate.bandwidth) {
    rate = {network, "NICs"};
  } else if (row.tree && (row.in_switches || spans_racks(graph))) {
    rate.limit = "NVSwitch tree";
  } else if (choice.protocol == Protocol::simple && graph.inter <= graph.intra) {
    rate.limit = "NICs";
  }
  return rate;
}

CollectiveTime nccl_collective(CollectiveKind kind, Bytes size, model::Dtype dtype,
                               const GroupFabric& fabric) {
  const NcclEstimate choice = nccl_choice(kind, size, dtype, fabric.graph);
  const Rate rate = reached_rate(choice, kind, fabric);
  CollectiveTime time;
  time.algorithm = choice.algorithm;
  time.protocol = choice.protocol;
  time.call = fabric.laws->call_time;
  time.latency = choice.latency;
  const NcclGraph& graph = fabric.graph;
  const NcclAlgorithm& row = nccl_algorithm(choice.algorithm);
  const bool pipelined =
      choice.protocol == Protocol::simple &&
      (graph.nodes == 1 || (row.tree && (row.in_switches || spans_racks(graph))));
  if (pipelined) {
    const Bytes half = fabric.laws->fill_bytes;
    double levels = fabric.laws->fill_per_latency;
    if (row.tree && row.in_switches) {  // chunks of all ranks of a domain in turn
      levels *= std::max(
          std::pow(as_double(graph.ranks_per_node) / kFillRanks, fabric.laws->fill_exponent), 1.0);
    }
    time.fill = choice.latency * levels * (size / (size + half));
  }
  time.crossing = node_crossing(row, kind, graph);
  time.fabric_reduces = row.in_switches && !row.tree;
  time.bandwidth = rate.bandwidth;
  time.transfer = size / rate.bandwidth;
  time.limit = rate.limit;
  time.reason = row.reason(choice.protocol, graph);
  return time;
}

// Every rank sends bytes_in / n to every other rank, in and out of the node at the same time.
CollectiveTime direct_exchange(Bytes bytes_in, const GroupFabric& fabric) {
  const NcclGraph& graph = fabric.graph;
  const double n = as_double(graph.ranks);
  const double local = as_double(graph.ranks_per_node);
  CollectiveTime time;
  time.algorithm = Algorithm::direct;
  time.reason = "each rank sends to each other rank";
  time.call = fabric.laws->call_time;
  time.latency = fabric.laws->direct_base;
  const BytesPerSecond link = graph.nvlink ? fabric.link * fabric.laws->direct_share : fabric.link;
  // Without NVLink the bytes for other nodes leave over the same PCIe link as those inside.
  double over_link = graph.nvlink ? local - 1.0 : n - 1.0;
  if (graph.nvlink && fabric.pxn) {  // to the local GPU on the rail of the receiver first
    over_link += (n - local) * (local - 1.0) / local;
  }
  const Seconds inside = bytes_in * (over_link / n) / link;
  Seconds outside;
  Seconds messages;
  if (graph.nodes > 1) {
    const BytesPerSecond per_rank = fabric.nics / (local * fabric.scatter_taper);
    time.crossing = (n - local) / n;
    outside = bytes_in * time.crossing / per_rank;
    messages =
        graph.inter_latency + fabric.cross_rail_latency + fabric.laws->remote_rank * (n - local);
    if (graph.nvlink && fabric.pxn) {
      messages += fabric.laws->rail_hop;
    }
  }
  time.limit = outside > inside ? "NICs" : (graph.nvlink ? link_name(graph.arch) : "PCIe");
  const Seconds longest = std::max(inside, outside);
  time.transfer = longest;
  // Sending overlaps with the set-up of later messages: root of the sum of squares.
  time.latency += seconds(std::hypot(in_seconds(longest), in_seconds(messages))) - longest;
  time.bandwidth = longest > Seconds() ? bytes_in / longest : link;
  return time;
}

// A pair of ranks: the collective form of a message, in the direction of the slowest wire.
CollectiveTime pair_exchange(Bytes bytes_in, const GroupFabric& fabric) {
  const NcclGraph& graph = fabric.graph;
  CollectiveTime time;
  time.algorithm = Algorithm::direct;
  time.reason = "one message";
  time.call = fabric.laws->call_time;
  time.latency = fabric.laws->direct_base;
  time.bandwidth = graph.nvlink ? fabric.peer_link * fabric.laws->direct_share : fabric.peer_link;
  time.limit = graph.nvlink ? link_name(graph.arch) : "PCIe";
  if (graph.nodes > 1) {
    time.crossing = 1.0;
    time.latency += fabric.laws->network_hop + graph.inter_latency;
    const BytesPerSecond network =
        fabric.nics / (as_double(graph.ranks_per_node) * fabric.scatter_taper);
    if (network < time.bandwidth) {
      time.bandwidth = network;
      time.limit = "NICs";
    }
  }
  time.transfer = bytes_in / time.bandwidth;
  return time;
}

}  // namespace

double bus_factor(CollectiveKind kind, std::int64_t ranks) {
  const double n = as_double(ranks);
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2.0 * (n - 1.0) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
      return (n - 1.0) / n;
    case CollectiveKind::broadcast:
    case CollectiveKind::send_receive:
      break;
  }
  return 1.0;
}

Bytes nccl_bytes(CollectiveKind kind, Bytes bytes_per_rank_in, Bytes bytes_total) {
  return kind == CollectiveKind::all_to_all || kind == CollectiveKind::send_receive
             ? bytes_per_rank_in
             : std::max(bytes_per_rank_in, bytes_total);
}

namespace {

// Without tables. `ring_nic_exponent` matters to rings; messages leave through the nearest NIC.
CollectiveTime modelled(const CollectiveQuery& query, double ring_nic_exponent) {
  const bool ring = reduces_or_gathers(query.kind);
  const GroupFabric fabric =
      group_fabric(query.group, query.gpu, query.cluster, ring ? ring_nic_exponent : 1.0);
  CollectiveTime time;
  if (query.kind == CollectiveKind::all_to_all) {
    time = direct_exchange(query.size, fabric);
  } else if (query.kind == CollectiveKind::send_receive) {
    time = pair_exchange(query.size, fabric);
  } else {
    ORRERY_CHECK(ring, "unknown collective {}", static_cast<int>(query.kind));
    time = nccl_collective(query.kind, query.size, query.dtype, fabric);
  }
  time.crosses_nodes = fabric.graph.nodes > 1;
  return time;
}

Seconds model_total(const CollectiveQuery& query) { return modelled(query, 1.0).total(); }

// Measurements near the query scale every term alike.
void apply_tables(const CollectiveQuery& query, CollectiveTime& time) {
  const MeasuredRatio measured = measured_ratio(query, model_total);
  time.extrapolated =
      time.extrapolated || (measured.tables_of_class &&
                            (measured.nearest == nullptr || measured.distance > kFarFromTables));
  if (measured.nearest == nullptr) {
    return;
  }
  time.call = time.call * measured.ratio;
  time.latency = time.latency * measured.ratio;
  time.fill = time.fill * measured.ratio;
  time.transfer = time.transfer * measured.ratio;
  time.bandwidth = time.bandwidth / measured.ratio;
  time.measured_ratio = measured.ratio;
  time.table = measured.nearest;
  time.table_distance = measured.distance;
}

}  // namespace

CollectiveTime collective_time(CollectiveKind kind, Bytes bytes_per_rank_in, Bytes bytes_total,
                               model::Dtype dtype, const layout::GroupPlacement& group,
                               const hardware::GpuProfile& gpu,
                               const hardware::ClusterSpec& cluster, double ring_nic_exponent) {
  CollectiveTime time;
  if (group.ranks <= 1) {
    time.reason = "a group of one rank has nothing to send";
    return time;
  }
  const CollectiveQuery query{.kind = kind,
                              .size = nccl_bytes(kind, bytes_per_rank_in, bytes_total),
                              .dtype = dtype,
                              .group = group,
                              .gpu = gpu,
                              .cluster = cluster};
  time = modelled(query, ring_nic_exponent);
  time.extrapolated = group.ranks > kMeasuredRanks || query.size > gibibytes(kMeasuredGibibytes);
  apply_tables(query, time);
  return time;
}

namespace {

const Coefficient<double>& stack_efficiency(const CollectiveTime& time,
                                            const hardware::SoftwareProfile& software) {
  return time.crosses_nodes ? software.network_efficiency : software.nvlink_efficiency;
}

}  // namespace

Seconds stack_transfer(const CollectiveTime& time, CollectiveKind kind,
                       const layout::GroupPlacement& group,
                       const hardware::SoftwareProfile& software,
                       const hardware::ClusterSpec& cluster) {
  const Seconds transfer = time.transfer / stack_efficiency(time, software).value();
  const bool by_other_rails =
      time.crosses_nodes && reduces_or_gathers(kind) && crosses_rails(group, cluster);
  return by_other_rails ? transfer / software.cross_rail_efficiency.value() : transfer;
}

Cost collective_cost(CollectiveKind kind, Bytes bytes_per_rank_in, Bytes bytes_total,
                     model::Dtype dtype, const layout::GroupPlacement& group,
                     const hardware::GpuProfile& gpu, const hardware::SoftwareProfile& software,
                     const hardware::ClusterSpec& cluster) {
  if (group.ranks <= 1) {
    return {};
  }
  const CollectiveTime time = collective_time(kind, bytes_per_rank_in, bytes_total, dtype, group,
                                              gpu, cluster, software.ring_nic_exponent.value());
  const Coefficient<double>& efficiency = stack_efficiency(time, software);
  const bool by_nics = time.limit == "NICs";
  const bool has_ring = gpu.nvlink.has_value() && time.limit != "PCIe";
  const SourceKind wire = by_nics    ? SourceKind::published
                          : has_ring ? gpu.nvlink->nccl_ring_bandwidth.kind()
                                     : gpu.pcie_bandwidth.kind();
  const Seconds transfer = stack_transfer(time, kind, group, software, cluster);
  const SourceKind published = SourceKind::published;
  Cost cost = term(transfer, weaker(weaker(wire, published), efficiency.kind()));
  cost += term(time.call + time.latency + time.fill, published);
  const Seconds overhead = software.collective_overhead.value();
  cost += term(overhead, software.collective_overhead.kind());
  cost.gap = overhead;
  if (time.extrapolated) {
    cost.extrapolated = cost.time;
  }
  return cost;
}

namespace {

std::string_view name_of(model::CollectiveKind kind) {
  static constexpr std::string_view kNames[] = {"all-reduce", "all-gather", "reduce-scatter",
                                                "all-to-all", "broadcast",  "send/receive"};
  return kNames[static_cast<std::size_t>(kind)];
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
