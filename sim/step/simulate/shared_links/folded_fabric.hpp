#pragma once

// The links of a cluster as the flows of some jobs load them, as few as give the same rates. Used
// inside step/ only.
//
//   load(link, path) = sum of the routes of all groups (or pairs of ranks) of the path over it
//   capacity of a NIC = nic_rate x kNicShare; of a switch's uplinks = that of its NICs / taper
//   links with equal load / capacity for every path   -> one of them
//   a link that another one exceeds in every path     -> left out: it is never full first
//
// path (network_work.hpp) | loads                                             | weight
// ------------------------|---------------------------------------------------|-----------------
// ring, tree              | from unit to unit in the order of ranks           | 1 per group
// in_switches (SHARP)     | every unit once up and down, every switch above   | 1 per group
// exchange                | from each unit to each other one                  | by members
// message                 | from each rank of the sender to its receiver      | 1 per rank
//
// A unit is a node, or an NVLink domain of several. A rank uses the NICs beside its GPU; ranks of a
// group that share a unit use all of theirs. NICs that are down hand their traffic to the others of
// the group, or to the next one of the node.
//
// Exact while all members of a path run in lockstep: a flow is as fast as its fullest link, and
// replicas wait for one another at the reduction. With all replicas in one class it is an upper
// bound of the step's time where they drift apart; with one for each kind of replica it is exact.
// Spines are taken for trees: uplinks of a switch are one link where routing is even, and each path
// has one by its hash where it is static_ecmp.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/step/fabric/flow.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/simulate/shared_links/network_work.hpp"

namespace orrery::step {

struct FoldedLink {
  std::string name;  // "NIC 3 of node 17, out", "uplinks of leaf 2"
  std::size_t alike = 1;
};

// A change of a link's capacity, to `share` of what it has when all is well.
struct LinkChange {
  SimTime at;
  fabric::LinkId link;
  double share = 1.0;
};

// Replicas that run alike, shown by one of them.
struct ReplicaClass {
  std::size_t replica = 0;  // its number in the job
  double share = 1.0;       // of the replicas
};

struct FoldedFabric {
  std::vector<BytesPerSecond> capacities;
  std::vector<FoldedLink> links;
  std::vector<std::vector<fabric::Hop>> paths;     // of all classes of all jobs, one by one
  std::vector<LinkChange> changes;                 // by time
  std::vector<std::vector<ReplicaClass>> classes;  // by job
};

// A job on the cluster, with the nodes that its ranks stand on, in their order. A replica is the
// data-parallel ones that run in lockstep. Paths of data belong to all, and stand with those of the
// first class.
struct FabricJob {
  const layout::Layout& layout;
  const layout::ClusterShape& shape;
  std::span<const NetworkPath> paths;
  std::span<const std::int32_t> nodes = {};   // empty: the first ones
  std::int64_t lockstep = 0;                  // data-parallel replicas of one; 0: all
  std::span<const std::uint32_t> sorts = {};  // by replica, equal where alike; empty: all alike
};

[[nodiscard]] FoldedFabric fold_fabric(const hardware::ClusterSpec& cluster,
                                       std::span<const FabricJob> jobs);

}  // namespace orrery::step
