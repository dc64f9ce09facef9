#include "sim/step/fabric/folded_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/cost/link_rates.hpp"
#include "sim/fabric/topology.hpp"

namespace orrery::step {

namespace {

using cost::NetworkPattern;
using fabric::Direction;
using fabric::Port;
using layout::GroupKind;

fabric::TopologySpec topology_spec(const hardware::ClusterSpec& cluster) {
  const hardware::NetworkSpec& network = cluster.network;
  fabric::TopologySpec spec;
  spec.nodes = static_cast<std::int32_t>(cluster.nodes);
  spec.nics_per_node = static_cast<std::int32_t>(network.nics_per_node);
  spec.nic_rate = network.nic_rate * cost::kNicShare;
  spec.routing = network.routing == hardware::Routing::static_ecmp ? fabric::Spreading::hashed
                                                                   : fabric::Spreading::even;
  double taper = 1.0;
  for (const hardware::NetworkTier& tier : network.tiers) {
    if (tier.nodes >= cluster.nodes) {
      break;
    }
    taper *= tier.oversubscription;
    const double ports = static_cast<double>(tier.nodes * network.nics_per_node);
    spec.tiers.push_back(
        {.nodes = static_cast<std::int32_t>(tier.nodes),
         .oversubscription = tier.oversubscription,
         .links = static_cast<std::int32_t>(std::max(std::llround(ports / taper), 1LL))});
  }
  spec.tiers.push_back({.nodes = spec.nodes});
  return spec;
}

// The NICs that a group has in one node or NVLink domain, and its members there.
struct Side {
  std::vector<Port> ports;
  double members = 0.0;
};

struct LoadOfPath {
  std::uint32_t path = 0;
  double weight = 0.0;
};

// Where the ranks of one job stand, and on which NICs.
class JobPlaces {
 public:
  JobPlaces(const hardware::ClusterSpec& cluster, const FabricJob& job)
      : cluster_(cluster), job_(job), map_(job.layout) {}

  [[nodiscard]] const layout::RankMap& map() const {
    return map_;
  }

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
  void add_ports(std::int64_t rank, std::vector<Port>& ports) const {
    const std::int64_t nics = cluster_.network.nics_per_node;
    const std::int64_t gpus = job_.shape.gpus_per_node;
    const std::int64_t gpu = rank % gpus;
    const std::int32_t node = node_of(rank);
    const std::int64_t first = gpu * nics / gpus;
    for (std::int64_t nic = first; nic < std::max(first + 1, (gpu + 1) * nics / gpus); ++nic) {
      const Port port{node, static_cast<std::int32_t>(nic)};
      const bool known = std::find(ports.begin(), ports.end(), port) != ports.end();
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
    const bool by_position = path.pattern == NetworkPattern::message ||
                             path.group == GroupKind::context || path.group == GroupKind::data ||
                             path.group == GroupKind::data_context ||
                             path.group == GroupKind::shard || path.group == GroupKind::replica;
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

class Folder {
 public:
  explicit Folder(const hardware::ClusterSpec& cluster)
      : cluster_(cluster),
        topology_(topology_spec(cluster)),
        hashed_(topology_.spec().routing == fabric::Spreading::hashed),
        weights_(topology_.capacities().size(), 0.0),
        loads_(topology_.capacities().size()) {}

  void add(const FabricJob& job) {
    for (const std::int32_t node : job.nodes) {
      ORRERY_CHECK(node >= 0 && node < topology_.spec().nodes, "a job on node {}", node);
    }
    const JobPlaces places(cluster_, job);
    for (const NetworkPath& path : job.paths) {
      add_path(job, places, path);
      for (const std::size_t link : touched_) {
        loads_[link].push_back({paths_, weights_[link]});
        weights_[link] = 0.0;
      }
      touched_.clear();
      ++paths_;
    }
  }

  FoldedFabric fold();

 private:
  void load(fabric::LinkId link, double weight) {
    if (weights_[link.index()] == 0.0) {
      touched_.push_back(link.index());
    }
    weights_[link.index()] += weight;
  }

  void add_edge(const Side& from, const Side& to, double weight);
  void add_path(const FabricJob& job, const JobPlaces& places, const NetworkPath& path);
  void add_group(const NetworkPath& path, const std::vector<Side>& sides);
  void add_reduction(const std::vector<Side>& sides);
  [[nodiscard]] std::vector<std::size_t> links_of(const hardware::NetworkFault& fault) const;
  [[nodiscard]] std::vector<std::size_t> distinct(const std::vector<std::size_t>& apart,
                                                  std::vector<std::size_t>& alike) const;
  [[nodiscard]] bool covers(std::size_t a, std::size_t b) const;

  [[nodiscard]] double part(std::size_t link, double weight) const {
    return weight / in_bytes_per_second(topology_.capacities()[link]);
  }

  [[nodiscard]] std::string name_of(std::size_t link) const;

  const hardware::ClusterSpec& cluster_;
  fabric::Topology topology_;
  bool hashed_;
  std::uint32_t paths_ = 0;
  double on_nic_ = 1.0;          // ranks that the present one stands for, on its NIC
  double above_ = 1.0;           // and in all
  std::vector<double> weights_;  // of the present path, by link
  std::vector<std::size_t> touched_;
  std::vector<fabric::Hop> hops_;
  std::vector<std::vector<LoadOfPath>> loads_;  // by link
};

void Folder::add_edge(const Side& from, const Side& to, double weight) {
  const double sent = weight * on_nic_ / static_cast<double>(from.ports.size());
  for (const Port port : from.ports) {
    load(topology_.nic(port, 0, Direction::up), sent);
  }
  const double received = weight * on_nic_ / static_cast<double>(to.ports.size());
  for (const Port port : to.ports) {
    load(topology_.nic(port, 0, Direction::down), received);
  }
  hops_.clear();
  const std::size_t ways = hashed_ ? from.ports.size() : 1;
  for (std::size_t i = 0; i < ways; ++i) {
    topology_.add_climb(from.ports[i],
                        to.ports[i % to.ports.size()],
                        weight * above_ / static_cast<double>(ways),
                        hops_);
  }
  for (const fabric::Hop& hop : hops_) {
    load(hop.link, hop.weight);
  }
}

void Folder::add_path(const FabricJob& job, const JobPlaces& places, const NetworkPath& path) {
  const layout::Layout& layout = job.layout;
  const bool merged = places.merges_tensor(path);
  on_nic_ = merged ? places.on_one_nic(layout.tensor) : 1.0;
  above_ = merged ? static_cast<double>(layout.tensor) : 1.0;
  std::vector<bool> seen(static_cast<std::size_t>(layout.gpus), false);
  for (std::int64_t i = 0; i < layout.tensor * layout.context * layout.data; ++i) {
    const layout::RankCoordinates at{.tensor = i % layout.tensor,
                                     .context = i / layout.tensor % layout.context,
                                     .pipeline = path.device,
                                     .data = i / layout.tensor / layout.context};
    const RankId rank = places.map().rank(at);
    if ((merged && at.tensor > 0) || seen[rank.index()]) {
      continue;
    }
    if (path.pattern == NetworkPattern::message) {
      const RankId to = places.map().rank({at.tensor, at.context, path.to, at.data});
      if (places.unit_of(rank.value) != places.unit_of(to.value)) {
        add_edge(places.sides({&rank, 1}).front(), places.sides({&to, 1}).front(), 1.0);
      }
      continue;
    }
    const std::vector<RankId> members = places.map().group(path.group, rank);
    const bool cut = path.pattern == NetworkPattern::ring && path.ranks > 0;
    const std::size_t part = cut ? static_cast<std::size_t>(path.ranks) : members.size();
    for (std::size_t first = 0; first < members.size(); first += part) {
      const std::size_t count = std::min(part, members.size() - first);
      add_group(path, places.sides(std::span(members).subspan(first, count)));
    }
    for (const RankId member : members) {
      seen[member.index()] = true;
    }
  }
}

void Folder::add_group(const NetworkPath& path, const std::vector<Side>& sides) {
  if (sides.size() < 2) {
    return;
  }
  if (path.pattern == NetworkPattern::in_switches) {
    add_reduction(sides);
    return;
  }
  if (path.pattern == NetworkPattern::ring) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      add_edge(sides[i], sides[(i + 1) % sides.size()], 1.0);
    }
    return;
  }
  double members = 0.0;
  for (const Side& side : sides) {
    members += side.members;
  }
  for (const Side& from : sides) {
    for (const Side& to : sides) {
      if (&from != &to) {
        add_edge(from, to, from.members * to.members / (members - from.members));
      }
    }
  }
}

// Once up and once down at every unit, and at every switch between them and the top of the group.
void Folder::add_reduction(const std::vector<Side>& sides) {
  std::size_t top = 0;
  std::vector<std::size_t> above;
  for (const Side& side : sides) {
    const double each = on_nic_ / static_cast<double>(side.ports.size());
    for (const Port port : side.ports) {
      load(topology_.nic(port, 0, Direction::up), each);
      load(topology_.nic(port, 0, Direction::down), each);
    }
    top = std::max(top, topology_.common_tier(sides.front().ports.front(), side.ports.front()));
  }
  for (const Side& side : sides) {
    for (std::size_t tier = 0; tier < top; ++tier) {
      for (const Direction direction : {Direction::up, Direction::down}) {
        above.push_back(topology_.uplink(tier, side.ports.front(), 0, 0, direction).index());
      }
    }
  }
  std::sort(above.begin(), above.end());
  above.erase(std::unique(above.begin(), above.end()), above.end());
  for (const std::size_t link : above) {
    load({static_cast<std::int32_t>(link)}, above_);
  }
}

// One link for each load; `apart`: those that stay by themselves, ascending.
std::vector<std::size_t> Folder::distinct(const std::vector<std::size_t>& apart,
                                          std::vector<std::size_t>& alike) const {
  constexpr double kDigits = kExa * kKilo;  // a weight of 1 on 100 GB/s keeps ten digits
  std::map<std::vector<std::pair<std::uint32_t, std::int64_t>>, std::size_t> seen;
  std::vector<std::size_t> kept;
  for (std::size_t link = 0; link < loads_.size(); ++link) {
    if (loads_[link].empty()) {
      continue;
    }
    std::vector<std::pair<std::uint32_t, std::int64_t>> key;
    for (const LoadOfPath& use : loads_[link]) {
      key.emplace_back(use.path, std::llround(part(link, use.weight) * kDigits));
    }
    if (std::binary_search(apart.begin(), apart.end(), link)) {
      key.emplace_back(UINT32_MAX, static_cast<std::int64_t>(link));
    }
    const auto [known, is_new] = seen.emplace(std::move(key), kept.size());
    if (is_new) {
      kept.push_back(link);
      alike.push_back(0);
    }
    ++alike[known->second];
  }
  return kept;
}

bool Folder::covers(std::size_t a, std::size_t b) const {
  constexpr double kRounding = 1e-12;
  const auto& more = loads_[a];
  return std::all_of(loads_[b].begin(), loads_[b].end(), [&](const LoadOfPath& use) {
    const auto same = std::lower_bound(
        more.begin(), more.end(), use.path, [](const LoadOfPath& one, std::uint32_t path) {
          return one.path < path;
        });
    return same != more.end() && same->path == use.path &&
           part(a, same->weight) >= part(b, use.weight) * (1.0 - kRounding);
  });
}

FoldedFabric Folder::fold() {
  std::vector<std::vector<std::size_t>> faulty;
  std::vector<std::size_t> apart;
  for (const hardware::NetworkFault& fault : cluster_.network.faults) {
    faulty.push_back(links_of(fault));
    apart.insert(apart.end(), faulty.back().begin(), faulty.back().end());
  }
  std::sort(apart.begin(), apart.end());
  std::vector<std::size_t> alike;
  const std::vector<std::size_t> kept = distinct(apart, alike);
  const auto stays = [&](std::size_t link) {
    return std::binary_search(apart.begin(), apart.end(), link);
  };
  constexpr std::size_t kMostCompared = 2000;
  FoldedFabric folded;
  folded.paths.resize(paths_);
  std::map<std::size_t, fabric::LinkId> number;
  for (std::size_t b = 0; b < kept.size(); ++b) {
    bool covered = false;
    for (std::size_t a = 0; a < kept.size() && !covered && kept.size() < kMostCompared; ++a) {
      covered = a != b && !stays(kept[a]) && !stays(kept[b]) && covers(kept[a], kept[b]) &&
                (a < b || !covers(kept[b], kept[a]));
    }
    if (covered) {
      continue;
    }
    const fabric::LinkId id{static_cast<std::int32_t>(folded.capacities.size())};
    number.emplace(kept[b], id);
    folded.capacities.push_back(topology_.capacities()[kept[b]]);
    folded.links.push_back({name_of(kept[b]), alike[b]});
    for (const LoadOfPath& use : loads_[kept[b]]) {
      folded.paths[use.path].push_back({id, use.weight});
    }
  }
  for (std::size_t i = 0; i < faulty.size(); ++i) {
    const hardware::NetworkFault& fault = cluster_.network.faults[i];
    for (const std::size_t link : faulty[i]) {
      if (const auto known = number.find(link); known != number.end()) {
        folded.changes.push_back({to_sim_time(fault.from), known->second, fault.share});
        if (fault.until) {
          folded.changes.push_back({to_sim_time(*fault.until), known->second, 1.0});
        }
      }
    }
  }
  std::stable_sort(folded.changes.begin(), folded.changes.end(), [](const auto& a, const auto& b) {
    return a.at < b.at;
  });
  return folded;
}

std::vector<std::size_t> Folder::links_of(const hardware::NetworkFault& fault) const {
  std::vector<std::size_t> links;
  const fabric::TopologySpec& spec = topology_.spec();
  const auto add_nics = [&](std::int32_t node, std::int32_t first, std::int32_t last) {
    for (std::int32_t nic = first; nic <= last; ++nic) {
      for (const Direction direction : {Direction::up, Direction::down}) {
        links.push_back(topology_.nic({node, nic}, 0, direction).index());
      }
    }
  };
  const auto add_uplinks = [&](std::size_t tier, std::int32_t node) {
    for (std::int32_t link = 0; tier + 1 < spec.tiers.size() && link < topology_.uplinks(tier);
         ++link) {
      for (const Direction direction : {Direction::up, Direction::down}) {
        links.push_back(topology_.uplink(tier, {node, 0}, 0, link, direction).index());
      }
    }
  };
  if (fault.node) {
    const auto nic = static_cast<std::int32_t>(fault.nic.value_or(0));
    add_nics(static_cast<std::int32_t>(*fault.node), nic, fault.nic ? nic : spec.nics_per_node - 1);
    return links;
  }
  std::size_t tier = 0;
  while (cluster_.network.tiers[tier].name != fault.tier) {
    ++tier;
  }
  tier = std::min(tier, spec.tiers.size() - 1);
  const std::int32_t size = spec.tiers[tier].nodes;
  const auto begin = static_cast<std::int32_t>(fault.block * size);
  add_uplinks(tier, begin);
  if (fault.part == hardware::FaultyPart::all) {
    const std::int32_t end = std::min(begin + size, spec.nodes);
    for (std::int32_t node = begin; node < end;
         node += tier == 0 ? 1 : spec.tiers[tier - 1].nodes) {
      if (tier == 0) {
        add_nics(node, 0, spec.nics_per_node - 1);
      } else {
        add_uplinks(tier - 1, node);
      }
    }
  }
  return links;
}

std::string Folder::name_of(std::size_t link) const {
  const fabric::LinkPlace place = topology_.place({static_cast<std::int32_t>(link)});
  const bool up = place.direction == Direction::up;
  if (place.kind == fabric::LinkKind::nic) {
    return fmt::format("NIC {} of node {}, {}", place.number, place.owner, up ? "out" : "in");
  }
  const std::string& tier = cluster_.network.tiers[place.tier].name;
  return hashed_
             ? fmt::format(
                   "uplink {} of {} {}, {}", place.number, tier, place.owner, up ? "up" : "down")
             : fmt::format("uplinks of {} {}, {}", tier, place.owner, up ? "up" : "down");
}

}  // namespace

FoldedFabric fold_fabric(const hardware::ClusterSpec& cluster, std::span<const FabricJob> jobs) {
  const bool empty =
      std::all_of(jobs.begin(), jobs.end(), [](const FabricJob& job) { return job.paths.empty(); });
  if (empty) {
    return {};
  }
  Folder folder(cluster);
  for (const FabricJob& job : jobs) {
    folder.add(job);
  }
  return folder.fold();
}

}  // namespace orrery::step
