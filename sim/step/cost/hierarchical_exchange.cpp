#include "sim/step/cost/hierarchical_exchange.hpp"

#include <algorithm>

#include "sim/step/cost/cost.hpp"

namespace orrery::cost {

CollectiveTime hierarchical_exchange_time(const ExchangeBytes& bytes,
                                          const layout::GroupPlacement& group,
                                          const hardware::GpuProfile& gpu,
                                          const hardware::ClusterSpec& cluster) {
  CollectiveTime time;
  if (group.ranks <= 1) {
    time.reason = "a group of one rank has nothing to send";
    return time;
  }
  const GroupFabric fabric = group_fabric(group, gpu, cluster);
  const NcclGraph& graph = fabric.graph;
  const hardware::GpuCoefficients& laws = gpu.coefficients();
  time.algorithm = Algorithm::direct;
  time.reason = "one copy per node over the network, handed on inside it";
  time.call = laws.call_time;
  time.latency = laws.exchange_base;
  time.crosses_nodes = graph.nodes > 1;
  const BytesPerSecond link = graph.nvlink ? fabric.link * laws.direct_share : fabric.link;
  const Seconds inside = bytes.over_links / link;
  Seconds outside;
  if (graph.nodes > 1) {
    const double local = as_double(graph.ranks_per_node);
    outside = bytes.over_network / (fabric.nics / (local * fabric.scatter_taper));
    time.latency += laws.exchange_network + graph.inter_latency +
                    laws.exchange_node * (as_double(graph.nodes) - 1.0);
  }
  const bool by_network = outside > inside;
  time.limit = by_network ? "NICs" : (graph.nvlink ? link_name(graph.arch) : "PCIe");
  time.transfer = std::max(inside, outside);
  time.bandwidth = time.transfer > Seconds()
                       ? (by_network ? bytes.over_network : bytes.over_links) / time.transfer
                       : link;
  return time;
}

const Coefficient<double>& exchange_efficiency(const CollectiveTime& time,
                                               const hardware::SoftwareProfile& software) {
  return time.limit == "NICs" ? software.network_efficiency : software.nvlink_efficiency;
}

Cost hierarchical_exchange_cost(const ExchangeBytes& bytes, const layout::GroupPlacement& group,
                                const hardware::GpuProfile& gpu,
                                const hardware::SoftwareProfile& software,
                                const hardware::ClusterSpec& cluster) {
  if (group.ranks <= 1) {
    return {};
  }
  const CollectiveTime time = hierarchical_exchange_time(bytes, group, gpu, cluster);
  const Coefficient<double>& efficiency = exchange_efficiency(time, software);
  const SourceKind published = SourceKind::published;
  Cost cost = term(time.transfer / efficiency.value(), weaker(published, efficiency.kind()));
  cost += term(time.call + time.latency, published);
  const Seconds overhead = software.collective_overhead.value();
  cost += term(overhead, software.collective_overhead.kind());
  cost.gap = overhead;
  return cost;
}

namespace {

// Expected number of different ones among `places` that hold one of a token's experts.
double distinct_places(const Routing& routing, double places) {
  const double experts = as_double(routing.experts);
  const double elsewhere = experts - experts / places;
  double missed = 1.0;  // no chosen expert lies in one given place: C(elsewhere, k) / C(experts, k)
  for (std::int64_t i = 0; i < routing.top_k; ++i) {
    const double left = experts - as_double(i);
    missed *= left > 0.0 ? std::max(elsewhere - as_double(i), 0.0) / left : 0.0;
  }
  return places * (1.0 - missed);
}

// The nodes that one token may be sent to, and the experts there.
Routing within_limit(Routing routing) {
  routing.nodes = std::max<std::int64_t>(routing.nodes, 1);
  const std::int64_t most = routing.node_limit.value_or(routing.nodes);
  if (most < routing.nodes) {
    routing.experts = routing.experts * most / routing.nodes;
    routing.nodes = most;
  }
  return routing;
}

}  // namespace

double distinct_nodes(const Routing& routing) {
  const Routing reached = within_limit(routing);
  return distinct_places(reached, as_double(reached.nodes));
}

ExchangeBytes routed_bytes(double tokens, Bytes token_bytes, const Routing& routing,
                           std::int64_t ranks_per_node) {
  const Routing reached = within_limit(routing);
  const double nodes = as_double(std::max<std::int64_t>(routing.nodes, 1));
  const double local = as_double(std::max<std::int64_t>(ranks_per_node, 1));
  const Bytes once = token_bytes * tokens;
  const double ranks = distinct_places(reached, as_double(reached.nodes) * local);
  return {.over_network = once * (distinct_nodes(routing) * (nodes - 1.0) / nodes),
          .over_links = once * (ranks * (local - 1.0) / local)};
}

}  // namespace orrery::cost
