#include "sim/step/fabric/topology.hpp"

#include <limits>

#include "sim/base/check.hpp"

namespace orrery::fabric {

namespace {

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): every bit of the input reaches every bit.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

std::int32_t blocks(std::int32_t nodes, std::int32_t of) { return (nodes + of - 1) / of; }

}  // namespace

Topology::Topology(const TopologySpec& spec) : spec_(spec) {
  ORRERY_CHECK(spec.nodes > 0 && spec.nics_per_node > 0, "a network of {} nodes and {} NICs",
               spec.nodes, spec.nics_per_node);
  ORRERY_CHECK(!spec.tiers.empty() && blocks(spec.nodes, spec.tiers.back().nodes) == 1 &&
                   !spec.tiers.back().by_rail,
               "the last tier spans all nodes and rails");
  (void)add_links(std::int64_t{2} * spec.nodes * spec.nics_per_node, spec.nic_rate);
  double taper = 1.0;
  for (std::size_t tier = 0; tier + 1 < spec.tiers.size(); ++tier) {
    const TierLayout& layout = spec.tiers[tier];
    const std::int32_t rails = layout.by_rail ? spec.nics_per_node : 1;
    const std::int32_t ports = layout.nodes * spec.nics_per_node / rails;
    taper *= layout.oversubscription;
    Level level;
    const std::int32_t switches = blocks(spec.nodes, layout.nodes) * rails;
    const std::int32_t cables = layout.links > 0 ? layout.links : ports;
    level.links = spec.routing == Spreading::hashed ? cables : 1;
    level.first = add_links(std::int64_t{2} * switches * level.links,
                            ports * spec.nic_rate / taper / level.links);
    levels_.push_back(level);
  }
}

std::int32_t Topology::add_links(std::int64_t count, BytesPerSecond capacity) {
  const auto first = static_cast<std::int64_t>(capacities_.size());
  ORRERY_CHECK(first + count <= std::numeric_limits<std::int32_t>::max(), "too many links");
  capacities_.resize(capacities_.size() + static_cast<std::size_t>(count), capacity);
  return static_cast<std::int32_t>(first);
}

LinkId Topology::nic(Port port, Direction direction) const {
  const std::int32_t nic = port.node * spec_.nics_per_node + port.nic;
  return {2 * nic + static_cast<std::int32_t>(direction)};
}

std::int32_t Topology::switch_above(std::size_t tier, Port port) const {
  const TierLayout& layout = spec_.tiers[tier];
  const std::int32_t block = port.node / layout.nodes;
  return layout.by_rail ? block * spec_.nics_per_node + port.nic : block;
}

LinkId Topology::uplink(std::size_t tier, Port port, std::int32_t link, Direction direction) const {
  const Level& level = levels_[tier];
  const std::int32_t above = switch_above(tier, port);
  return {level.first + 2 * (above * level.links + link) + static_cast<std::int32_t>(direction)};
}

LinkPlace Topology::place(LinkId link) const {
  LinkPlace place;
  place.direction = link.value % 2 == 0 ? Direction::up : Direction::down;
  const std::int32_t port = link.value / 2;
  if (port < spec_.nodes * spec_.nics_per_node) {
    place.owner = port / spec_.nics_per_node;
    place.number = port % spec_.nics_per_node;
    return place;
  }
  place.kind = LinkKind::uplink;
  while (place.tier + 1 < levels_.size() && link.value >= levels_[place.tier + 1].first) {
    ++place.tier;
  }
  const Level& level = levels_[place.tier];
  const std::int32_t offset = (link.value - level.first) / 2;
  place.owner = offset / level.links;
  place.number = offset % level.links;
  return place;
}

std::size_t Topology::common_tier(Port a, Port b) const {
  std::size_t tier = 0;
  while (tier + 1 < spec_.tiers.size() && switch_above(tier, a) != switch_above(tier, b)) {
    ++tier;
  }
  return tier;
}

std::int32_t Topology::hashed_link(std::size_t tier, Port from, Port to, std::int32_t path) const {
  std::uint64_t hash = mixed(spec_.seed);
  for (const std::int64_t word :
       {static_cast<std::int64_t>(tier), std::int64_t{from.node} * spec_.nics_per_node + from.nic,
        std::int64_t{to.node} * spec_.nics_per_node + to.nic, std::int64_t{path}}) {
    hash = mixed(hash ^ static_cast<std::uint64_t>(word));
  }
  return static_cast<std::int32_t>(hash % static_cast<std::uint64_t>(levels_[tier].links));
}

void Topology::add_climb(Port from, Port to, double weight, std::vector<Hop>& hops) const {
  const std::size_t top = common_tier(from, to);
  const bool hashed = spec_.routing == Spreading::hashed;
  const std::int32_t paths = hashed ? spec_.paths_per_flow : 1;
  for (std::size_t tier = 0; tier < top; ++tier) {
    for (std::int32_t path = 0; path < paths; ++path) {
      const std::int32_t link = hashed ? hashed_link(tier, from, to, path) : 0;
      hops.push_back({uplink(tier, from, link, Direction::up), weight / paths});
      hops.push_back({uplink(tier, to, link, Direction::down), weight / paths});
    }
  }
}

}  // namespace orrery::fabric
