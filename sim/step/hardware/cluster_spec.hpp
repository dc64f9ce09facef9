#pragma once

// The machines, how many, and the wires between them.
//
//   network rate of one group on one node = min(k NICs, ...) * nic_rate / sharing /
//   oversubscription
//
// Wiring and routing, where a scenario leaves them out, are those of a network without losses: any
// NIC reaches any other through its leaf switch, adaptive routing, no link down.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/step/layout/layout_spec.hpp"

namespace orrery::hardware {

struct CollectiveTables;

// How the traffic of a step meets: each collective is priced by itself and met by factors (groups),
// or collectives and messages are flows that share the links they cross, those of one replica for
// all (flows) or of every kind of replica (ranks).
enum class NetworkDetail { groups, flows, ranks };
enum class FabricKind { infiniband, roce, efa, tcpx, tcp };
enum class Routing { adaptive, spray, static_ecmp };
enum class CrossRail { leaf, pxn, spine };

// Of NCCL; `automatic` leaves the choice to it, `direct` is one message to each other rank.
enum class CollectiveAlgorithm { automatic, ring, tree, nvls, nvls_tree, pat, direct };

template <typename E>
struct NamedValue {
  std::string_view name;
  E value;
};

inline constexpr std::array<NamedValue<NetworkDetail>, 3> kNetworkDetails = {
    {{"groups", NetworkDetail::groups},
     {"flows", NetworkDetail::flows},
     {"ranks", NetworkDetail::ranks}}};
inline constexpr std::array<NamedValue<FabricKind>, 5> kFabricNames = {
    {{"infiniband", FabricKind::infiniband},
     {"roce", FabricKind::roce},
     {"efa", FabricKind::efa},
     {"tcpx", FabricKind::tcpx},
     {"tcp", FabricKind::tcp}}};
inline constexpr std::array<NamedValue<Routing>, 3> kRoutingNames = {
    {{"adaptive", Routing::adaptive},
     {"spray", Routing::spray},
     {"static_ecmp", Routing::static_ecmp}}};
inline constexpr std::array<NamedValue<CrossRail>, 3> kCrossRailNames = {
    {{"leaf", CrossRail::leaf}, {"pxn", CrossRail::pxn}, {"spine", CrossRail::spine}}};
// Those that a scenario can force.
inline constexpr std::array<NamedValue<CollectiveAlgorithm>, 5> kForcedAlgorithms = {
    {{"automatic", CollectiveAlgorithm::automatic},
     {"ring", CollectiveAlgorithm::ring},
     {"tree", CollectiveAlgorithm::tree},
     {"nvls", CollectiveAlgorithm::nvls},
     {"nvls_tree", CollectiveAlgorithm::nvls_tree}}};

// NICs of one node that do not work.
struct DownLinks {
  std::int64_t node = 0;
  std::int64_t nics = 1;
};

// What of a switch runs at a share of its rate: its links to the next level, or all its links.
enum class FaultyPart { uplinks, all };

inline constexpr std::array<NamedValue<FaultyPart>, 2> kFaultyParts = {
    {{"uplinks", FaultyPart::uplinks}, {"switch", FaultyPart::all}}};

// Links that run at `share` of their rate from a time of the step on: NICs of a node, or those of a
// switch.
struct NetworkFault {
  std::optional<std::int64_t> node = {};
  std::optional<std::int64_t> nic = {};      // of the node; absent: all of them
  std::string tier = {};                     // of the switch, where no node is stated
  std::int64_t block = 0;                    // number of that switch, from 0
  std::optional<std::int64_t> rail = {};     // its switch, where each rail has one; absent: all
  std::optional<std::int64_t> uplinks = {};  // so many of a switch; absent: all
  FaultyPart part = FaultyPart::uplinks;
  double share = 1.0;
  Seconds from = {};
  std::optional<Seconds> until = {};  // absent: to the end
};

struct NetworkTier {
  std::string name;
  std::int64_t nodes = 0;         // nodes under one switch block of this tier
  double oversubscription = 1.0;  // downlink / uplink capacity towards the next tier
  Seconds latency;                // one way, of crossing it; a message pays all tiers below, too
};

struct NetworkSpec {
  std::string preset;                            // name, or empty when spelled out
  std::optional<std::int64_t> nvlink_domain;     // absent: nvlink_gpus()
  std::optional<std::int64_t> domain_gpus = {};  // of each that the job uses: layout/domains.hpp
  BytesPerSecond nic_rate = gigabits_per_second(400.0);  // of one NIC, one direction
  std::int64_t nics_per_node = 8;
  std::vector<NetworkTier> tiers;              // lowest first
  FabricKind fabric = FabricKind::infiniband;  // of the NICs: sets their latency per crossing
  Routing routing = Routing::adaptive;         // over parallel uplinks
  CrossRail cross_rail = CrossRail::leaf;      // how bytes reach a NIC of another rail
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;  // NCCL_ALGO
  bool sharp = false;  // the fabric's switches reduce (SHARP), which NVLS and CollNet need
  std::vector<DownLinks> links_down;
  NetworkDetail detail = NetworkDetail::groups;
  std::vector<NetworkFault> faults;                // of flows alone
  BytesPerSecond storage_traffic;                  // that each node sends beside training; of flows
  std::string collectives;                         // path of a file, "none", or empty: shipped
  std::string rig;                                 // prefer tables of this rig
  std::shared_ptr<const CollectiveTables> tables;  // nullptr: NCCL's model alone
};

// The last nodes of the cluster may hold other GPUs.
struct MixedNodes {
  std::string gpu;
  std::int64_t nodes = 0;
};

struct ClusterSpec {
  std::string preset;             // name, or empty: spelled out
  std::string gpu;                // profile name or path
  std::vector<MixedNodes> mixed;  // of the last nodes, in their order
  std::int64_t nodes = 1;         // spares apart
  std::int64_t gpus_per_node = 8;
  std::optional<std::int64_t> rack_gpus =
      {};  // NVLink domain of the rack in which alone it is sold
  NetworkSpec network;
};

// GPUs of an NVLink domain: as stated, else those of its rack, else those of a host. For GPUs that
// have NVLink.
[[nodiscard]] std::int64_t nvlink_gpus(const ClusterSpec& cluster);

// Whether the switches of a tier serve one rail each, NIC i of each node.
[[nodiscard]] bool has_rail_switches(const NetworkSpec& network, std::size_t tier);

// Cables from a switch of the tier to the next level: its NICs / oversubscription of the tiers so
// far, at least 1.
[[nodiscard]] std::int64_t uplinks_of_switch(const NetworkSpec& network, std::size_t tier);

// Why the job cannot run on this network (NICs missing on several nodes, tiers out of order, a
// negative rate), or nothing. One sentence with its numbers.
[[nodiscard]] std::optional<std::string> network_problem(const ClusterSpec& cluster);

// The same network with links of its own for every group: no oversubscription, no collisions, all
// NICs up. What a transfer takes on it is the bound of its flow.
[[nodiscard]] ClusterSpec unshared(ClusterSpec cluster);

// Whether flows share the links of the network: `groups` does not ask, and a node without NICs has
// none.
[[nodiscard]] inline bool flows_share_links(const ClusterSpec& cluster) {
  return cluster.network.detail != NetworkDetail::groups && cluster.network.nics_per_node > 0;
}

// nvlink_domain is 1 on GPUs without NVLink.
[[nodiscard]] layout::ClusterShape cluster_shape(const ClusterSpec& cluster, bool has_nvlink);

}  // namespace orrery::hardware
