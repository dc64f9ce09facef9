#pragma once

// The links of a cluster, and the path between any two of its ports.
//
//   node --NIC--> leaf --up--> spine --up--> core, and down again; one link per direction
//
// symbol           | meaning                                                   | unit   | origin
// -----------------|-----------------------------------------------------------|--------|-------
// nodes            | hosts                                                     | nodes  | caller
// nic_rate         | one NIC, one direction                                    | byte/s | caller
// tiers            | levels of switches, lowest first; the last spans all      | -      | caller
// tier.nodes       | nodes under one switch of the tier                        | nodes  | caller
// tier.links       | parallel uplinks of a switch; 0: one per port beneath     | -      | caller
// oversubscription | capacity from below / capacity upwards of a switch        | 1      | caller
// tier.by_rail     | a switch per rail (NIC i of all its nodes), or one for all| -      | caller
// routing          | evenly over all uplinks, or hashed onto one per path      | -      | caller
// paths_per_flow   | hashed paths (queue pairs) that share a flow evenly       | -      | caller
// seed             | of the hash: another seed is another cluster              | -      | caller
//
// Adaptive routing and packet spray make the uplinks of a switch one link of their sum. Hashed, a
// flow with paths q has weight 1/q on each path's links: in order, it moves as its slowest path
// does. Uplink k of a tier leads to switch k above, so a path comes down on link k of the same
// tier. Cross-rail traffic below a tier `by_rail` climbs above it.

#include <cstdint>
#include <vector>

#include "sim/step/fabric/flow.hpp"

namespace orrery::fabric {

enum class Spreading : std::uint8_t { even, hashed };

struct TierLayout {
  std::int32_t nodes = 1;
  double oversubscription = 1.0;
  std::int32_t links = 0;
  bool by_rail = false;
};

struct TopologySpec {
  std::int32_t nodes = 1;
  std::int32_t nics_per_node = 1;
  BytesPerSecond nic_rate;
  std::vector<TierLayout> tiers;
  Spreading routing = Spreading::even;
  std::int32_t paths_per_flow = 1;
  std::uint64_t seed = 1;
};

struct Port {
  std::int32_t node = 0;
  std::int32_t nic = 0;

  friend constexpr auto operator<=>(Port a, Port b) = default;
};

enum class Direction : std::uint8_t { up, down };  // away from the node, or towards it

enum class LinkKind : std::uint8_t { nic, uplink };

// What a link is: the NIC of a node, or an uplink of a switch (towards it: Direction::down).
struct LinkPlace {
  LinkKind kind = LinkKind::nic;
  Direction direction = Direction::up;
  std::size_t tier = 0;     // of an uplink
  std::int32_t owner = 0;   // node, or number of the switch on its tier
  std::int32_t number = 0;  // of the NIC in its node, of the uplink at its switch
};

class Topology {
 public:
  explicit Topology(const TopologySpec& spec);

  [[nodiscard]] const std::vector<BytesPerSecond>& capacities() const { return capacities_; }

  [[nodiscard]] const TopologySpec& spec() const { return spec_; }

  [[nodiscard]] LinkId nic(Port port, Direction direction) const;
  // Uplink `link` of the switch of a tier above `port`.
  [[nodiscard]] LinkId uplink(std::size_t tier, Port port, std::int32_t link,
                              Direction direction) const;

  [[nodiscard]] std::int32_t uplinks(std::size_t tier) const { return levels_[tier].links; }

  [[nodiscard]] LinkPlace place(LinkId link) const;

  // The lowest tier whose switch is above both.
  [[nodiscard]] std::size_t common_tier(Port a, Port b) const;

  // From the switch above one port to the switch above the other: `weight` in all.
  void add_climb(Port from, Port to, double weight, std::vector<Hop>& hops) const;

 private:
  struct Level {
    std::int32_t first = 0;  // link id
    std::int32_t links = 1;  // ids per switch and direction
  };

  std::int32_t add_links(std::int64_t count, BytesPerSecond capacity);
  [[nodiscard]] std::int32_t switch_above(std::size_t tier, Port port) const;
  [[nodiscard]] std::int32_t hashed_link(std::size_t tier, Port from, Port to,
                                         std::int32_t path) const;

  TopologySpec spec_;
  std::vector<BytesPerSecond> capacities_;
  std::vector<Level> levels_;
};

}  // namespace orrery::fabric
