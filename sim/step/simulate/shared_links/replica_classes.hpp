#pragma once

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

#include <cstdint>
#include <span>
#include <vector>

namespace orrery::step {

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
