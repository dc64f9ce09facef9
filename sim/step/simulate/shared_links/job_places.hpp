#pragma once

// Where the ranks of a job stand on a cluster, and on which NICs. Used inside step/ only.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/step/fabric/topology.hpp"
#include "sim/step/simulate/shared_links/folded_fabric.hpp"

namespace orrery::step {

// The NICs that a group has in one node or NVLink domain, and its members there.
struct Side {
  std::vector<fabric::Port> ports;
  double members = 0.0;
};

class JobPlaces {
 public:
  JobPlaces(const hardware::ClusterSpec& cluster, const FabricJob& job)
      : cluster_(cluster), job_(job), map_(job.layout) {}

  [[nodiscard]] const layout::RankMap& map() const { return map_; }

  // Ranks of one unit reach one another without NICs.
  [[nodiscard]] std::int64_t unit_of(std::int64_t rank) const {
    return rank / std::max(job_.shape.gpus_per_node, job_.shape.nvlink_domain);
  }

  [[nodiscard]] std::int32_t node_of(std::int64_t rank) const {
    const std::int64_t node = rank / job_.shape.gpus_per_node;
    return job_.nodes.empty() ? static_cast<std::int32_t>(node)
                              : job_.nodes[static_cast<std::size_t>(node)];
  }

  // Appends the NICs of a rank that work.
  void add_ports(std::int64_t rank, std::vector<fabric::Port>& ports) const {
    const std::int64_t nics = cluster_.network.nics_per_node;
    const std::int64_t gpus = job_.shape.gpus_per_node;
    const std::int64_t gpu = rank % gpus;
    const std::int32_t node = node_of(rank);
    const std::int64_t first = gpu * nics / gpus;
    for (std::int64_t nic = first; nic < std::max(first + 1, (gpu + 1) * nics / gpus); ++nic) {
      const fabric::Port port{node, static_cast<std::int32_t>(nic)};
      const bool known = std::ranges::find(ports, port) != ports.end();
      if (nic >= down_on(node) && !known) {
        ports.push_back(port);
      }
    }
  }

  // The sides of the members that lie in one unit each, in the order of ranks.
  [[nodiscard]] std::vector<Side> sides(std::span<const RankId> members) const {
    std::vector<Side> sides;
    std::int64_t unit = -1;
    for (const RankId rank : members) {
      if (unit_of(rank.value) != unit) {
        unit = unit_of(rank.value);
        sides.emplace_back();
      }
      add_ports(rank.value, sides.back().ports);
      sides.back().members += 1.0;
      if (sides.back().ports.empty()) {  // its own NIC is down: that of a neighbour
        const std::int32_t node = node_of(rank.value);
        sides.back().ports.push_back({node, down_on(node)});
      }
    }
    return sides;
  }

  // Ranks that differ in their tensor place alone stand side by side on equal NICs, so that one of
  // them stands for all.
  [[nodiscard]] bool merges_tensor(const NetworkPath& path) const {
    const layout::Layout& layout = job_.layout;
    const bool by_position =
        path.pattern == cost::NetworkPattern::message || path.group == layout::GroupKind::context ||
        path.group == layout::GroupKind::data || path.group == layout::GroupKind::data_context ||
        path.group == layout::GroupKind::shard || path.group == layout::GroupKind::replica;
    const hardware::NetworkSpec& network = cluster_.network;
    return by_position && layout.order.front() == layout::Axis::tensor &&
           job_.shape.gpus_per_node % layout.tensor == 0 && network.faults.empty() &&
           network.links_down.empty() && network.routing != hardware::Routing::static_ecmp;
  }

  // Of `ranks` side by side, those on the NIC of the first.
  [[nodiscard]] double on_one_nic(std::int64_t ranks) const {
    const std::int64_t nics = cluster_.network.nics_per_node;
    const std::int64_t shared = (job_.shape.gpus_per_node + nics - 1) / nics;
    return static_cast<double>(std::min(ranks, std::max<std::int64_t>(shared, 1)));
  }

 private:
  [[nodiscard]] std::int32_t down_on(std::int32_t node) const {
    std::int64_t down = 0;
    for (const hardware::DownLinks& links : cluster_.network.links_down) {
      down = links.node == node ? std::max(down, links.nics) : down;
    }
    return static_cast<std::int32_t>(down);
  }

  const hardware::ClusterSpec& cluster_;
  const FabricJob& job_;
  layout::RankMap map_;
};

// Which replicas of the jobs on a cluster run alike: the coarsest equitable partition. Used inside
// step/ only.
//
//   link(l)    = hash of what tells l apart and of (path, weight, replica's class) of its loads
//   replica(r) = hash of its class and of (path, weight, link) of its loads
//   repeated until no class falls apart
//
// Then every replica of a class crosses equally many links of every kind, and every link of a kind
// carries equally many replicas of every class, so that max-min rates and hence all times are equal
// within a class: links of a kind fill together, flows of a class freeze together (induction over
// the rounds of progressive filling; Paige and Tarjan, 1987, for the refinement). Two 64-bit hashes
// are equal by chance once in 2^64 / n^2.
//
// Complexity: O(loads x rounds); nothing falls apart without a cause, so one or two rounds.

// What one replica, or all that meet in a collective of data, puts on a link by a path.
struct ReplicaLoad {
  std::uint32_t path = 0;  // of all jobs
  std::uint32_t replica = 0;
  double weight = 0.0;
};

inline constexpr std::uint32_t kAllReplicas = UINT32_MAX;

// The class of each replica, numbered by their first replicas. `apart` holds what tells replicas
// apart to begin with, `links` what tells links apart; loads are by link.
[[nodiscard]] std::vector<std::uint32_t> replica_classes(
    std::span<const std::uint64_t> apart, std::span<const std::vector<ReplicaLoad>> loads,
    std::span<const std::uint64_t> links);

}  // namespace orrery::step
