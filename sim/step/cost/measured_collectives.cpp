#include "sim/step/cost/measured_collectives.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "sim/step/cost/cost.hpp"

namespace orrery::cost {

namespace {

using hardware::CollectiveTable;
using model::CollectiveKind;

constexpr double kLeastDistance = 0.03;
constexpr double kModelDistance = 1.2;
constexpr double kPerNodeDoubling = 0.5;
constexpr double kPerRankDoubling = 1.0;
constexpr double kPerRateDoubling = 1.0;
constexpr double kOtherFabric = 1.0;
constexpr double kOtherGpu = 0.3;
constexpr double kOtherRig = 0.4;
constexpr double kPerSizeDoubling = 0.2;
constexpr double kSameRate = 0.05;    // classes of links agree within this share
constexpr double kLeastShare = 0.02;  // tables of less weight than this of the nearest are left out
constexpr std::size_t kMostTables = 6;

double doublings(double a, double b) { return std::abs(std::log2(a / b)); }

BytesPerSecond rate_per_gpu(BytesPerSecond nic_rate, std::int64_t nics, double gpus) {
  return nic_rate * (as_double(nics) / gpus);
}

bool same_links(const CollectiveQuery& query, const CollectiveTable& table) {
  if (!query.gpu.nvlink) {
    return table.nvlink == BytesPerSecond() && table.gpu == query.gpu.name;
  }
  const double ratio = table.nvlink / query.gpu.nvlink->bandwidth.value();
  return table.arch == query.gpu.arch && std::abs(ratio - 1.0) < kSameRate;
}

bool same_way(const CollectiveQuery& query, const CollectiveTable& table) {
  const hardware::NetworkSpec& network = query.cluster.network;
  if (table.degraded && table.rig != network.rig) {
    return false;
  }
  if (query.kind != CollectiveKind::all_reduce) {
    return true;
  }
  const bool nvls = query.gpu.nvlink && query.gpu.nvlink->nvls;
  return table.algorithm == network.algorithm && table.narrow == is_narrow(query.dtype) &&
         table.nvls == nvls && table.sharp == network.sharp;
}

// Distance of a table but for its size, or nothing when it says nothing about the query.
std::optional<double> fabric_distance(const CollectiveQuery& query, const CollectiveTable& table) {
  const layout::GroupPlacement& group = query.group;
  const std::int64_t domains = std::min(group.domains, group.nodes);
  const std::int64_t table_domains = std::min(table.domains(), table.nodes);
  if ((domains > 1) != (table_domains > 1)) {
    return std::nullopt;
  }
  double distance = table.gpu == query.gpu.name ? 0.0 : kOtherGpu;
  const hardware::NetworkSpec& network = query.cluster.network;
  if (!network.rig.empty() && network.rig != table.rig) {
    distance += kOtherRig;
  }
  distance += kPerRankDoubling * doublings(as_double(group.ranks) / as_double(domains),
                                           as_double(table.ranks) / as_double(table_domains));
  if (domains > 1) {
    distance += kPerNodeDoubling * doublings(as_double(domains), as_double(table_domains));
    distance += network.fabric == table.fabric ? 0.0 : kOtherFabric;
    const double on_node = as_double(table.ranks) / as_double(table.nodes);
    const BytesPerSecond here = rate_per_gpu(network.nic_rate, network.nics_per_node,
                                             as_double(query.cluster.gpus_per_node));
    const BytesPerSecond there = rate_per_gpu(table.nic_rate, table.nics_per_node, on_node);
    if (here > BytesPerSecond() && there > BytesPerSecond()) {
      distance += kPerRateDoubling * doublings(here / there, 1.0);
    }
  }
  return distance;
}

double size_distance(Bytes size, const CollectiveTable& table) {
  const Bytes inside = std::clamp(size, table.points.front().size, table.points.back().size);
  return kPerSizeDoubling * doublings(std::max(size / inside, 1e-12), 1.0);
}

// log(measured / model) of a table at the size asked for, or at its nearer end.
double log_ratio(const CollectiveQuery& query, const CollectiveTable& table, ModelTime model) {
  const Bytes size = std::clamp(query.size, table.points.front().size, table.points.back().size);
  const std::int64_t domains = std::min(table.domains(), table.nodes);
  const std::int64_t per_node = std::max<std::int64_t>(table.ranks / table.nodes, 1);
  const layout::GroupPlacement group{
      .ranks = table.ranks,
      .nodes = table.nodes,
      .ranks_per_node = per_node,
      .domains = table.domains(),
      .ranks_per_domain = std::max<std::int64_t>(table.ranks / table.domains(), 1),
      .sharing_node = 1,
      .tier = 0};
  hardware::ClusterSpec cluster;
  cluster.nodes = table.nodes;
  cluster.gpus_per_node = per_node;
  cluster.network.nic_rate = table.nic_rate;
  cluster.network.nics_per_node = table.nics_per_node;
  cluster.network.fabric = table.fabric;
  cluster.network.algorithm = table.algorithm;
  cluster.network.sharp = table.sharp;
  if (domains == 1) {
    cluster.network.nvlink_domain = table.nvlink_domain;
  }
  const Seconds modelled = model({.kind = query.kind,
                                  .size = size,
                                  .dtype = query.dtype,
                                  .group = group,
                                  .gpu = query.gpu,
                                  .cluster = cluster});
  return std::log(hardware::table_time(table, size) / modelled);
}

struct NearTable {
  const CollectiveTable* table = nullptr;
  double distance = 0.0;
};

struct Nearest {
  std::array<NearTable, kMostTables> near{};  // ascending in distance
  std::size_t count = 0;
  bool of_class = false;
};

void insert(Nearest& nearest, NearTable candidate) {
  std::size_t at = nearest.count;
  while (at > 0 && nearest.near[at - 1].distance > candidate.distance) {
    --at;
  }
  if (at >= kMostTables) {
    return;
  }
  nearest.count = std::min(nearest.count + 1, kMostTables);
  for (std::size_t i = nearest.count - 1; i > at; --i) {
    nearest.near[i] = nearest.near[i - 1];
  }
  nearest.near[at] = candidate;
}

Nearest find_nearest(const CollectiveQuery& query) {
  Nearest nearest;
  for (const CollectiveTable& table : query.cluster.network.tables->tables) {
    if (table.operation != query.kind || !same_links(query, table)) {
      continue;
    }
    nearest.of_class = true;
    if (!same_way(query, table)) {
      continue;
    }
    if (const auto distance = fabric_distance(query, table)) {
      const double sum = *distance + size_distance(query.size, table);
      insert(nearest, {&table, std::max(sum, kLeastDistance)});
    }
  }
  return nearest;
}

}  // namespace

MeasuredRatio measured_ratio(const CollectiveQuery& query, ModelTime model) {
  MeasuredRatio result;
  if (!query.cluster.network.tables || !(query.size > Bytes())) {
    return result;
  }
  const Nearest nearest = find_nearest(query);
  result.tables_of_class = nearest.of_class;
  if (nearest.count == 0) {
    return result;
  }
  double weights = 1.0 / (kModelDistance * kModelDistance);
  double sum = 0.0;
  const double best = nearest.near[0].distance;
  for (std::size_t i = 0; i < nearest.count; ++i) {
    const NearTable& near = nearest.near[i];
    const double weight = 1.0 / (near.distance * near.distance);
    if (weight * best * best < kLeastShare) {
      break;
    }
    const double value = log_ratio(query, *near.table, model);
    sum += weight * value;
    weights += weight;
  }
  result.ratio = std::exp(sum / weights);
  result.nearest = nearest.near[0].table;
  result.distance = best;
  return result;
}

}  // namespace orrery::cost
