#include "sim/cost/collective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "sim/base/check.hpp"
#include "sim/cost/link_rates.hpp"
#include "sim/cost/measured_collectives.hpp"

namespace orrery::cost {

namespace {

using model::CollectiveKind;

constexpr double kFillPerLatency = 2.7;
constexpr double kFillMebibytes = 24.0;
constexpr Seconds kDirectBase = microseconds(8.0);          // n-1 messages inside a node
constexpr Seconds kDirectNetworkBase = microseconds(12.0);  // first message over the network
constexpr Seconds kDirectRemoteRank = microseconds(5.0);    // each rank on another node
constexpr double kMinChannelPairs = 1.0;
constexpr std::int64_t kNvlsHeads = 8;

// Groups and sizes for which logs exist; beyond them the result is flagged.
constexpr std::int64_t kMeasuredRanks = 1440;
constexpr double kMeasuredGibibytes = 16.0;

bool reduces_or_gathers(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::broadcast;
}

double as_double(std::int64_t value) {
  return static_cast<double>(value);
}

// With one GPU of every node, or with all of them, a ring enters and leaves each node through one
// rail. With some of them it comes in next to one GPU and goes out next to another: its bytes cross
// the host or the spine. For groups over several nodes.
bool crosses_rails(const layout::GroupPlacement& group, const hardware::ClusterSpec& cluster) {
  return group.ranks_per_node > 1 && group.ranks_per_node < cluster.gpus_per_node;
}

// Nodes of the group under one switch of the tier, when the group lies over all of its blocks.
double nodes_in_block(const layout::GroupPlacement& group,
                      const hardware::ClusterSpec& cluster,
                      const hardware::NetworkTier& tier) {
  const std::int64_t size = std::max<std::int64_t>(tier.nodes, 1);
  const std::int64_t blocks = std::max<std::int64_t>((cluster.nodes + size - 1) / size, 1);
  return std::max(as_double(group.nodes) / as_double(blocks), 1.0);
}

void add_tapers(const layout::GroupPlacement& group,
                const hardware::ClusterSpec& cluster,
                GroupFabric& fabric) {
  double product = 1.0;
  const std::size_t crossed = std::min(group.tier, cluster.network.tiers.size());
  for (std::size_t i = 0; i < crossed; ++i) {
    const hardware::NetworkTier& tier = cluster.network.tiers[i];
    product *= tier.oversubscription;
    const double inside = nodes_in_block(group, cluster, tier);
    const double leaving = 1.0 - inside / as_double(std::max<std::int64_t>(group.nodes, 1));
    fabric.ring_taper = std::max(fabric.ring_taper, product / inside);
    fabric.scatter_taper = std::max(fabric.scatter_taper, product * leaving);
  }
}

std::optional<Algorithm> forced_algorithm(hardware::CollectiveChoice choice) {
  switch (choice) {
    case hardware::CollectiveChoice::ring:
      return Algorithm::ring;
    case hardware::CollectiveChoice::tree:
      return Algorithm::tree;
    case hardware::CollectiveChoice::nvls:
      return Algorithm::nvls;
    case hardware::CollectiveChoice::nvls_tree:
      return Algorithm::nvls_tree;
    case hardware::CollectiveChoice::automatic:
      break;
  }
  return std::nullopt;
}

// What the GPU's links to its neighbours carry, and what NCCL's ring makes of them.
void add_links(const hardware::GpuProfile& gpu, GroupFabric& fabric) {
  if (fabric.graph.nvlink && gpu.nvlink) {
    fabric.link = gpu.nvlink->bandwidth.value();
    fabric.graph.intra = gpu.nvlink->nccl_ring_bandwidth.value() * ring_wire_share(gpu.arch);
    fabric.link_source = gpu.nvlink->nccl_ring_bandwidth.kind();
    return;
  }
  fabric.link = gpu.pcie_bandwidth.value() * kPcieShare;
  fabric.graph.intra = fabric.link;
  fabric.link_source = weaker(gpu.pcie_bandwidth.kind(), SourceKind::published);
}

struct Rate {
  BytesPerSecond bandwidth;
  std::string_view limit;
};

// The algorithm bandwidth that the choice reaches: NCCL's, except where measurements differ.
Rate reached_rate(const NcclEstimate& choice, CollectiveKind kind, const GroupFabric& fabric) {
  const NcclGraph& graph = fabric.graph;
  if (choice.algorithm == Algorithm::nvls && kind == CollectiveKind::all_reduce) {
    return {fabric.link * nvls_wire_share(graph.arch), "NVSwitch reduction"};
  }
  Rate rate{choice.bandwidth, choice.protocol == Protocol::simple ? "NVLink" : "protocol"};
  if (!graph.nvlink && graph.ranks_per_node > 1) {
    rate.limit = "PCIe";
  }
  if (graph.nodes == 1) {
    return rate;
  }
  const double n = as_double(graph.ranks);
  // Bytes that leave a node per byte of the buffer: a ring sends its whole path over one boundary,
  // two nodes of a double tree send each half up and the other down, inner nodes send twice.
  double crossing = bus_factor(kind, graph.ranks);
  if (choice.algorithm == Algorithm::nvls_tree || choice.algorithm == Algorithm::tree) {
    crossing = graph.nodes == 2 ? 1.0 : 2.0 * (n - 1.0) / n;
  }
  const BytesPerSecond network = graph.inter / crossing;
  if (network < rate.bandwidth) {
    rate = {network, "NICs"};
  } else if (choice.algorithm == Algorithm::nvls_tree) {
    rate.limit = "NVSwitch tree";
  } else if (choice.protocol == Protocol::simple && graph.inter <= graph.intra) {
    rate.limit = "NICs";
  }
  return rate;
}

std::string_view reason_of(const NcclEstimate& choice, const NcclGraph& graph) {
  switch (choice.algorithm) {
    case Algorithm::nvls:
      return "the NVLink switches reduce, each byte crosses a link once";
    case Algorithm::nvls_tree:
      return "the NVLink switches reduce inside a node, a tree joins the nodes";
    case Algorithm::pat:
      return "one rank per node: logarithmic steps";
    case Algorithm::tree:
      return "few steps beat the ring's bandwidth at this size";
    case Algorithm::ring:
      if (choice.protocol == Protocol::simple) {
        return "bandwidth-optimal at this size";
      }
      return graph.nodes == 1 ? "low latency inside a node" : "low latency at this size";
    case Algorithm::direct:
      break;
  }
  return "each rank sends to each other rank";
}

CollectiveTime nccl_collective(CollectiveKind kind,
                               Bytes size,
                               model::Dtype dtype,
                               const GroupFabric& fabric) {
  const NcclEstimate choice = nccl_choice(kind, size, dtype, fabric.graph);
  const Rate rate = reached_rate(choice, kind, fabric);
  CollectiveTime time;
  time.algorithm = choice.algorithm;
  time.protocol = choice.protocol;
  time.call = kCall;
  time.latency = choice.latency;
  const bool pipelined = choice.protocol == Protocol::simple &&
                         (fabric.graph.nodes == 1 || choice.algorithm == Algorithm::nvls_tree);
  if (pipelined) {
    const Bytes half = mebibytes(kFillMebibytes);
    time.fill = choice.latency * kFillPerLatency * (size / (size + half));
  }
  time.bandwidth = rate.bandwidth;
  time.transfer = size / rate.bandwidth;
  time.limit = rate.limit;
  time.reason = reason_of(choice, fabric.graph);
  time.nccl_time = choice.time;
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
  time.call = kCall;
  time.latency = kDirectBase;
  const BytesPerSecond link =
      graph.nvlink ? fabric.link * direct_wire_share(graph.arch) : fabric.link;
  // Without NVLink the bytes for other nodes leave over the same PCIe link as those inside.
  const double over_link = graph.nvlink ? local - 1.0 : n - 1.0;
  const Seconds inside = bytes_in * (over_link / n) / link;
  Seconds outside;
  Seconds messages;
  if (graph.nodes > 1) {
    const BytesPerSecond per_rank = fabric.nics / (local * fabric.scatter_taper);
    outside = bytes_in * ((n - local) / n) / per_rank;
    messages = kDirectNetworkBase + graph.inter_latency + kDirectRemoteRank * (n - local);
  }
  time.limit = outside > inside ? "NICs" : (graph.nvlink ? "NVLink" : "PCIe");
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
  time.call = kCall;
  time.latency = kDirectBase;
  time.bandwidth = graph.nvlink ? fabric.link * direct_wire_share(graph.arch) : fabric.link;
  time.limit = graph.nvlink ? "NVLink" : "PCIe";
  if (graph.nodes > 1) {
    time.latency += kNetworkHop + graph.inter_latency;
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

BytesPerSecond node_nic_rate(std::int64_t ranks_on_node,
                             std::int64_t sharing,
                             std::int64_t hosts_per_node,
                             const hardware::ClusterSpec& cluster,
                             double exponent) {
  const double nics = as_double(cluster.network.nics_per_node * hosts_per_node);
  const double gpus = as_double(cluster.gpus_per_node * hosts_per_node);
  const double beside = as_double(ranks_on_node) * std::max(nics / gpus, 1.0);
  const double laid = std::pow(beside, exponent);
  const double usable = std::min({laid, nics, nics / as_double(sharing)});
  return cluster.network.nic_rate * (usable * kNicShare);
}

GroupFabric group_fabric(const layout::GroupPlacement& group,
                         const hardware::GpuProfile& gpu,
                         const hardware::ClusterSpec& cluster,
                         double ring_nic_exponent) {
  GroupFabric fabric;
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
  graph.forced = forced_algorithm(cluster.network.algorithm);
  graph.ring_channels = ring_channels(gpu.arch, graph.nvlink);
  if (graph.nodes > 1) {
    const std::int64_t hosts = std::max<std::int64_t>(group.nodes / graph.nodes, 1);
    fabric.nics =
        node_nic_rate(graph.ranks_per_node, group.sharing_node, hosts, cluster, ring_nic_exponent);
    add_tapers(group, cluster, fabric);
    const double pairs =
        std::max(fabric.nics / (cluster.network.nic_rate * kNicShare), kMinChannelPairs);
    graph.ring_channels = std::min(graph.ring_channels, 2.0 * pairs);
    graph.inter = fabric.nics / fabric.ring_taper;
    graph.inter = std::min(graph.inter, graph.intra);
    if (graph.ranks_per_node == 1) {
      graph.intra = graph.inter;  // a ring of single ranks has no other wire
    }
    graph.inter_latency =
        tier_latency(cluster.network, group.tier) + fabric_latency(cluster.network.fabric);
  }
  return fabric;
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

Seconds model_total(const CollectiveQuery& query) {
  return modelled(query, 1.0).total();
}

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

CollectiveTime collective_time(CollectiveKind kind,
                               Bytes bytes_per_rank_in,
                               Bytes bytes_total,
                               model::Dtype dtype,
                               const layout::GroupPlacement& group,
                               const hardware::GpuProfile& gpu,
                               const hardware::ClusterSpec& cluster,
                               double ring_nic_exponent) {
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

Cost collective_cost(CollectiveKind kind,
                     Bytes bytes_per_rank_in,
                     Bytes bytes_total,
                     model::Dtype dtype,
                     const layout::GroupPlacement& group,
                     const hardware::GpuProfile& gpu,
                     const hardware::SoftwareProfile& software,
                     const hardware::ClusterSpec& cluster) {
  if (group.ranks <= 1) {
    return {};
  }
  const CollectiveTime time = collective_time(kind,
                                              bytes_per_rank_in,
                                              bytes_total,
                                              dtype,
                                              group,
                                              gpu,
                                              cluster,
                                              software.ring_nic_exponent.value());
  const Coefficient<double>& efficiency =
      time.crosses_nodes ? software.network_efficiency : software.nvlink_efficiency;
  const bool by_nics = time.limit == "NICs";
  const bool has_ring = gpu.nvlink.has_value() && time.limit != "PCIe";
  const SourceKind wire = by_nics    ? SourceKind::published
                          : has_ring ? gpu.nvlink->nccl_ring_bandwidth.kind()
                                     : gpu.pcie_bandwidth.kind();
  Seconds transfer = time.transfer / efficiency.value();
  if (time.crosses_nodes && reduces_or_gathers(kind) && crosses_rails(group, cluster)) {
    transfer = transfer / software.cross_rail_efficiency.value();
  }
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

}  // namespace orrery::cost
