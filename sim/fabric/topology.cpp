#include "sim/fabric/topology.hpp"

#include <algorithm>
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

std::int32_t blocks(std::int32_t nodes, std::int32_t of) {
  return (nodes + of - 1) / of;
}

}  // namespace

Topology::Topology(const TopologySpec& spec) : spec_(spec) {
  ORRERY_CHECK(spec.nodes > 0 && spec.nics_per_node > 0 && spec.planes > 0,
               "a network of {} nodes, {} NICs and {} planes",
               spec.nodes,
               spec.nics_per_node,
               spec.planes);
  ORRERY_CHECK(!spec.tiers.empty() && blocks(spec.nodes, spec.tiers.back().nodes) == 1 &&
                   !spec.tiers.back().by_rail,
               "the last tier spans all nodes and rails");
  const BytesPerSecond port_rate = spec.nic_rate / spec.planes;
  first_nic_ =
      add_links(std::int64_t{2} * spec.nodes * spec.nics_per_node * spec.planes, port_rate);
  double taper = 1.0;
  for (std::size_t tier = 0; tier + 1 < spec.tiers.size(); ++tier) {
    const TierLayout& layout = spec.tiers[tier];
    const std::int32_t rails = layout.by_rail ? spec.nics_per_node : 1;
    const std::int32_t ports = layout.nodes * spec.nics_per_node / rails;
    taper *= layout.oversubscription;
    Level level;
    level.switches = blocks(spec.nodes, layout.nodes) * rails;
    const std::int32_t cables = layout.links > 0 ? layout.links : ports;
    level.links = spec.routing == Spreading::hashed ? cables : 1;
    level.first = add_links(std::int64_t{2} * level.switches * spec.planes * level.links,
                            ports * port_rate / taper / level.links);
    levels_.push_back(level);
  }
  const std::int64_t gpus = std::int64_t{spec.nodes} * spec.gpus_per_node;
  first_nvlink_ = add_links(spec.nvlink_rate > BytesPerSecond{} ? 2 * gpus : 0, spec.nvlink_rate);
  first_frontend_ = add_links(
      spec.frontend_rate > BytesPerSecond{} ? std::int64_t{2} * spec.nodes : 0, spec.frontend_rate);
  first_storage_ = add_links(spec.storage_rate > BytesPerSecond{} ? 2 : 0, spec.storage_rate);
}

std::int32_t Topology::add_links(std::int64_t count, BytesPerSecond capacity) {
  const auto first = static_cast<std::int64_t>(capacities_.size());
  ORRERY_CHECK(first + count <= std::numeric_limits<std::int32_t>::max(), "too many links");
  capacities_.resize(capacities_.size() + static_cast<std::size_t>(count), capacity);
  return static_cast<std::int32_t>(first);
}

LinkId Topology::nic(Port port, std::int32_t plane, Direction direction) const {
  const std::int32_t nic = port.node * spec_.nics_per_node + port.nic;
  return {first_nic_ + 2 * (nic * spec_.planes + plane) + static_cast<std::int32_t>(direction)};
}

std::int32_t Topology::switch_above(std::size_t tier, Port port) const {
  const TierLayout& layout = spec_.tiers[tier];
  const std::int32_t block = port.node / layout.nodes;
  return layout.by_rail ? block * spec_.nics_per_node + port.nic : block;
}

LinkId Topology::uplink(
    std::size_t tier, Port port, std::int32_t plane, std::int32_t link, Direction direction) const {
  const Level& level = levels_[tier];
  const std::int32_t above = switch_above(tier, port) * spec_.planes + plane;
  return {level.first + 2 * (above * level.links + link) + static_cast<std::int32_t>(direction)};
}

LinkPlace Topology::place(LinkId link) const {
  LinkPlace place;
  place.direction = link.value % 2 == 0 ? Direction::up : Direction::down;
  const std::int32_t first_above = levels_.empty() ? first_nvlink_ : levels_.front().first;
  if (link.value < first_above) {
    const std::int32_t port = (link.value - first_nic_) / 2 / spec_.planes;
    place.kind = LinkKind::nic;
    place.owner = port / spec_.nics_per_node;
    place.number = port % spec_.nics_per_node;
    return place;
  }
  for (std::size_t tier = 0; tier < levels_.size(); ++tier) {
    const Level& level = levels_[tier];
    const std::int32_t offset = (link.value - level.first) / 2;
    if (offset < level.switches * spec_.planes * level.links) {
      place.kind = LinkKind::uplink;
      place.tier = tier;
      place.owner = offset / level.links / spec_.planes;
      place.number = offset % level.links;
      return place;
    }
  }
  return place;
}

LinkId Topology::nvlink(std::int32_t gpu, Direction direction) const {
  ORRERY_CHECK(first_nvlink_ < first_frontend_, "a topology without NVLink");
  return {first_nvlink_ + 2 * gpu + static_cast<std::int32_t>(direction)};
}

LinkId Topology::frontend(std::int32_t node, Direction direction) const {
  ORRERY_CHECK(first_frontend_ < first_storage_, "a topology without frontend");
  return {first_frontend_ + 2 * node + static_cast<std::int32_t>(direction)};
}

LinkId Topology::storage(Direction direction) const {
  ORRERY_CHECK(static_cast<std::size_t>(first_storage_) < capacities_.size(),
               "a topology without storage");
  return {first_storage_ + static_cast<std::int32_t>(direction)};
}

std::size_t Topology::common_tier(Port a, Port b) const {
  std::size_t tier = 0;
  while (tier + 1 < spec_.tiers.size() && switch_above(tier, a) != switch_above(tier, b)) {
    ++tier;
  }
  return tier;
}

std::int32_t Topology::hashed_link(
    std::size_t tier, Port from, Port to, std::int32_t plane, std::int32_t path) const {
  std::uint64_t hash = mixed(spec_.seed);
  for (const std::int64_t word : {static_cast<std::int64_t>(tier),
                                  std::int64_t{from.node} * spec_.nics_per_node + from.nic,
                                  std::int64_t{to.node} * spec_.nics_per_node + to.nic,
                                  std::int64_t{path} * spec_.planes + plane}) {
    hash = mixed(hash ^ static_cast<std::uint64_t>(word));
  }
  return static_cast<std::int32_t>(hash % static_cast<std::uint64_t>(levels_[tier].links));
}

void Topology::add_route(Port from, Port to, double weight, std::vector<Hop>& hops) const {
  for (std::int32_t plane = 0; plane < spec_.planes; ++plane) {
    hops.push_back({nic(from, plane, Direction::up), weight / spec_.planes});
    hops.push_back({nic(to, plane, Direction::down), weight / spec_.planes});
  }
  add_climb(from, to, weight, hops);
}

void Topology::add_climb(Port from, Port to, double weight, std::vector<Hop>& hops) const {
  const std::size_t top = common_tier(from, to);
  const bool hashed = spec_.routing == Spreading::hashed;
  const std::int32_t paths = hashed ? spec_.paths_per_flow : 1;
  const double each = weight / spec_.planes / paths;
  for (std::size_t tier = 0; tier < top; ++tier) {
    for (std::int32_t plane = 0; plane < spec_.planes; ++plane) {
      for (std::int32_t path = 0; path < paths; ++path) {
        const std::int32_t link = hashed ? hashed_link(tier, from, to, plane, path) : 0;
        hops.push_back({uplink(tier, from, plane, link, Direction::up), each});
        hops.push_back({uplink(tier, to, plane, link, Direction::down), each});
      }
    }
  }
}

}  // namespace orrery::fabric
