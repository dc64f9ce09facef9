#include "sim/step/simulate/shared_links/folded_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/step/cost/link_rates.hpp"
#include "sim/step/fabric/topology.hpp"
#include "sim/step/simulate/shared_links/job_places.hpp"

namespace orrery::step {

namespace {

using cost::NetworkPattern;
using fabric::Direction;
using fabric::Port;

fabric::TopologySpec topology_spec(const hardware::ClusterSpec& cluster) {
  const hardware::NetworkSpec& network = cluster.network;
  fabric::TopologySpec spec;
  spec.nodes = static_cast<std::int32_t>(cluster.nodes);
  spec.nics_per_node = static_cast<std::int32_t>(network.nics_per_node);
  spec.nic_rate = network.nic_rate * cost::kNicShare;
  spec.routing = network.routing == hardware::Routing::static_ecmp ? fabric::Spreading::hashed
                                                                   : fabric::Spreading::even;
  for (std::size_t i = 0; i < network.tiers.size(); ++i) {
    const hardware::NetworkTier& tier = network.tiers[i];
    if (tier.nodes >= cluster.nodes) {
      break;
    }
    spec.tiers.push_back(
        {.nodes = static_cast<std::int32_t>(tier.nodes),
         .oversubscription = tier.oversubscription,
         .links = static_cast<std::int32_t>(hardware::uplinks_of_switch(network, i)),
         .by_rail = hardware::has_rail_switches(network, i)});
  }
  spec.tiers.push_back({.nodes = spec.nodes});
  return spec;
}

class Folder {
 public:
  explicit Folder(const hardware::ClusterSpec& cluster)
      : cluster_(cluster),
        topology_(topology_spec(cluster)),
        hashed_(topology_.spec().routing == fabric::Spreading::hashed),
        rails_(topology_.spec().tiers.front().by_rail),
        capacities_(topology_.capacities()),
        weights_(capacities_.size(), 0.0),
        loads_(capacities_.size()) {
    take_storage_traffic();
  }

  void add(const FabricJob& job) {
    for (const std::int32_t node : job.nodes) {
      ORRERY_CHECK(node >= 0 && node < topology_.spec().nodes, "a job on node {}", node);
    }
    const JobPlaces places(cluster_, job);
    for (const NetworkPath& path : job.paths) {
      add_path(job, places, path);
      ++paths_;
    }
    const std::int64_t replicas = replicas_of(job);
    for (std::int64_t replica = 0; replica < replicas; ++replica) {
      const auto sort = job.sorts.empty() ? 0 : job.sorts[static_cast<std::size_t>(replica)];
      apart_.push_back((jobs_.size() << 32U) + sort);
    }
    jobs_.push_back({&job, apart_.size() - static_cast<std::size_t>(replicas)});
  }

  FoldedFabric fold();

 private:
  void load(fabric::LinkId link, double weight) {
    if (weights_[link.index()] == 0.0) {
      touched_.push_back(link.index());
    }
    weights_[link.index()] += weight;
  }

  [[nodiscard]] static std::int64_t replicas_of(const FabricJob& job) {
    return job.lockstep > 0 ? (job.layout.data + job.lockstep - 1) / job.lockstep : 1;
  }

  // Books what has been loaded to a replica, by its number among those of all jobs.
  void take_loads(std::uint32_t replica) {
    for (const std::size_t link : touched_) {
      loads_[link].push_back({paths_, replica, weights_[link]});
      weights_[link] = 0.0;
    }
    touched_.clear();
  }

  void take_storage_traffic();
  void sort_replicas(std::span<const std::size_t> apart, FoldedFabric& folded);
  void drop_wide_uplinks(std::span<const std::size_t> apart);
  void add_edge(const Side& from, const Side& to, double weight, bool exchange);
  void add_path(const FabricJob& job, const JobPlaces& places, const NetworkPath& path);
  void add_group(const NetworkPath& path, const std::vector<Side>& sides);
  void add_reduction(const std::vector<Side>& sides);
  [[nodiscard]] std::vector<std::size_t> links_of(const hardware::NetworkFault& fault) const;
  [[nodiscard]] double share_of(const hardware::NetworkFault& fault) const;
  [[nodiscard]] std::size_t tier_of(const hardware::NetworkFault& fault) const;
  [[nodiscard]] std::vector<std::size_t> distinct(const std::vector<std::size_t>& apart,
                                                  std::vector<std::size_t>& alike) const;
  [[nodiscard]] bool covers(std::size_t a, std::size_t b) const;

  [[nodiscard]] double part(std::size_t link, double weight) const {
    return weight / in_bytes_per_second(capacities_[link]);
  }

  [[nodiscard]] std::string name_of(std::size_t link) const;

  const hardware::ClusterSpec& cluster_;
  fabric::Topology topology_;
  bool hashed_;
  bool rails_;  // a leaf per rail
  std::vector<BytesPerSecond> capacities_;
  std::uint32_t paths_ = 0;
  double on_nic_ = 1.0;          // ranks that the present one stands for, on its NIC
  double above_ = 1.0;           // and in all
  std::vector<double> weights_;  // of the present path, by link
  std::vector<std::size_t> touched_;
  std::vector<fabric::Hop> hops_;
  std::vector<std::vector<ReplicaLoad>> loads_;  // by link; in the end by path and class

  struct PlacedJob {
    const FabricJob* of = nullptr;
    std::size_t first_replica = 0;
  };

  std::vector<PlacedJob> jobs_;
  std::vector<std::uint64_t> apart_;  // what tells replicas apart, of all jobs
};

// A steady flow below its fair share has all that it asks for: the rest is for training.
void Folder::take_storage_traffic() {
  const BytesPerSecond traffic = cluster_.network.storage_traffic;
  const fabric::TopologySpec& spec = topology_.spec();
  for (std::size_t link = 0; traffic > BytesPerSecond{} && link < capacities_.size(); ++link) {
    const fabric::LinkPlace place = topology_.place({static_cast<std::int32_t>(link)});
    if (place.direction == Direction::down) {
      continue;
    }
    const double nodes = place.kind == fabric::LinkKind::nic
                             ? 1.0 / spec.nics_per_node
                             : static_cast<double>(spec.tiers[place.tier].nodes) /
                                   topology_.uplinks(place.tier) /
                                   (spec.tiers[place.tier].by_rail ? spec.nics_per_node : 1);
    capacities_[link] = std::max(capacities_[link] - nodes * traffic, 0.5 * capacities_[link]);
  }
}

// Rings and messages go from NIC to NIC of the same place; an exchange goes to every NIC, which on
// rails is by NVLink in front of the NIC (pxn) or through the switches above (spine).
void Folder::add_edge(const Side& from, const Side& to, double weight, bool exchange) {
  const double sent = weight * on_nic_ / static_cast<double>(from.ports.size());
  for (const Port port : from.ports) {
    load(topology_.nic(port, Direction::up), sent);
  }
  const double received = weight * on_nic_ / static_cast<double>(to.ports.size());
  for (const Port port : to.ports) {
    load(topology_.nic(port, Direction::down), received);
  }
  hops_.clear();
  const std::size_t ways = hashed_ || rails_ ? from.ports.size() : 1;
  const bool pxn = cluster_.network.cross_rail == hardware::CrossRail::pxn;
  const std::size_t ends = rails_ && exchange && !pxn ? to.ports.size() : 1;
  for (std::size_t i = 0; i < ways; ++i) {
    for (std::size_t j = 0; j < ends; ++j) {
      const Port enters = to.ports[(i + j) % to.ports.size()];
      const Port leaves{from.ports[i].node, rails_ && pxn ? enters.nic : from.ports[i].nic};
      topology_.add_climb(leaves, enters, weight * above_ / static_cast<double>(ways * ends),
                          hops_);
    }
  }
  for (const fabric::Hop& hop : hops_) {
    load(hop.link, hop.weight);
  }
}

void Folder::add_path(const FabricJob& job, const JobPlaces& places, const NetworkPath& path) {
  const layout::Layout& layout = job.layout;
  const bool merged = places.merges_tensor(path);
  on_nic_ = merged ? places.on_one_nic(layout.tensor) : 1.0;
  above_ = merged && !rails_ ? static_cast<double>(layout.tensor) : on_nic_;
  std::vector<bool> seen(static_cast<std::size_t>(layout.gpus), false);
  const auto first = static_cast<std::uint32_t>(apart_.size());
  const std::int64_t lockstep = job.lockstep > 0 && !path.data ? job.lockstep : layout.data;
  std::int64_t data = 0;  // replica of the ranks so far
  for (std::int64_t i = 0; i < layout.tensor * layout.context * layout.data; ++i) {
    const layout::RankCoordinates at{.tensor = i % layout.tensor,
                                     .context = i / layout.tensor % layout.context,
                                     .pipeline = path.device,
                                     .data = i / layout.tensor / layout.context};
    if (at.data / lockstep != data / lockstep) {
      take_loads(first + static_cast<std::uint32_t>(data / lockstep));
    }
    data = at.data;
    const RankId rank = places.map().rank(at);
    if ((merged && at.tensor > 0) || seen[rank.index()]) {
      continue;
    }
    if (path.pattern == NetworkPattern::message) {
      const RankId to = places.map().rank({at.tensor, at.context, path.to, at.data});
      if (places.unit_of(rank.value) != places.unit_of(to.value)) {
        add_edge(places.sides({&rank, 1}).front(), places.sides({&to, 1}).front(), 1.0, false);
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
  take_loads(path.data ? kAllReplicas : first + static_cast<std::uint32_t>(data / lockstep));
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
      add_edge(sides[i], sides[(i + 1) % sides.size()], 1.0, false);
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
        add_edge(from, to, from.members * to.members / (members - from.members), true);
      }
    }
  }
}

// Once up and once down at every unit, and at every switch between them and the top of the group;
// on rails each with its share.
void Folder::add_reduction(const std::vector<Side>& sides) {
  const Port first = sides.front().ports.front();
  std::size_t top = 0;
  std::map<std::size_t, double> above;
  for (const Side& side : sides) {
    const double each = on_nic_ / static_cast<double>(side.ports.size());
    for (const Port port : side.ports) {
      load(topology_.nic(port, Direction::up), each);
      load(topology_.nic(port, Direction::down), each);
    }
    top = std::max(top, topology_.common_tier(first, {side.ports.front().node, first.nic}));
  }
  for (const Side& side : sides) {
    const std::size_t ways = rails_ ? side.ports.size() : 1;
    for (std::size_t i = 0; i < ways * top; ++i) {
      for (const Direction direction : {Direction::up, Direction::down}) {
        const auto link = topology_.uplink(i / ways, side.ports[i % ways], 0, direction);
        above.insert_or_assign(link.index(), above_ / static_cast<double>(ways));
      }
    }
  }
  for (const auto& [link, weight] : above) {
    load({static_cast<std::int32_t>(link)}, weight);
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
    for (const ReplicaLoad& use : loads_[link]) {
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
  return std::ranges::all_of(loads_[b], [&](const ReplicaLoad& use) {
    const auto same = std::lower_bound(
        more.begin(), more.end(), use.path,
        [](const ReplicaLoad& one, std::uint32_t path) { return one.path < path; });
    return same != more.end() && same->path == use.path &&
           part(a, same->weight) >= part(b, use.weight) * (1.0 - kRounding);
  });
}

// Without tapers the uplinks of a switch hold all that its NICs can send: they never fill first.
void Folder::drop_wide_uplinks(std::span<const std::size_t> apart) {
  for (std::size_t link = 0; link < loads_.size(); ++link) {
    const fabric::LinkPlace place = topology_.place({static_cast<std::int32_t>(link)});
    bool wide = place.kind == fabric::LinkKind::uplink && !hashed_ &&
                !std::binary_search(apart.begin(), apart.end(), link);
    for (std::size_t tier = 0; wide && tier <= place.tier; ++tier) {
      wide = topology_.spec().tiers[tier].oversubscription == 1.0;
    }
    if (wide) {
      loads_[link].clear();
    }
  }
}

// Finds the classes of replicas, and turns loads by replica into loads by class: the paths of each
// class of each job one behind the other, collectives of data with those of the first.
void Folder::sort_replicas(std::span<const std::size_t> apart, FoldedFabric& folded) {
  std::vector<std::uint32_t> classes(apart_.size(), 0);
  if (apart_.size() > jobs_.size()) {
    drop_wide_uplinks(apart);
    std::vector<std::uint64_t> links;
    for (std::size_t link = 0; link < loads_.size(); ++link) {
      const bool alone = std::binary_search(apart.begin(), apart.end(), link);
      links.push_back(alone ? link
                            : std::bit_cast<std::uint64_t>(in_bytes_per_second(capacities_[link])));
    }
    classes = replica_classes(apart_, loads_, links);
  }
  std::vector<std::uint32_t> first_path;  // by path of the jobs, in the first class
  std::vector<std::uint32_t> shift(apart_.size(), 0);
  std::uint32_t paths = 0;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const auto count = static_cast<std::uint32_t>(jobs_[j].of->paths.size());
    for (std::uint32_t path = 0; path < count; ++path) {
      first_path.push_back(paths + path);
    }
    const std::size_t end = j + 1 < jobs_.size() ? jobs_[j + 1].first_replica : apart_.size();
    std::map<std::uint32_t, std::size_t> known;
    std::vector<ReplicaClass>& own = folded.classes.emplace_back();
    for (std::size_t replica = jobs_[j].first_replica; replica < end; ++replica) {
      const auto [found, is_new] = known.emplace(classes[replica], own.size());
      if (is_new) {
        own.push_back({replica - jobs_[j].first_replica, 0.0});
      }
      own[found->second].share += 1.0 / static_cast<double>(end - jobs_[j].first_replica);
      shift[replica] = static_cast<std::uint32_t>(found->second) * count;
    }
    paths += count * static_cast<std::uint32_t>(own.size());
  }
  folded.paths.resize(paths);
  for (std::vector<ReplicaLoad>& loads : loads_) {
    for (ReplicaLoad& load : loads) {
      load.path = first_path[load.path] + (load.replica == kAllReplicas ? 0 : shift[load.replica]);
    }
    std::ranges::stable_sort(loads, {}, &ReplicaLoad::path);
    std::size_t kept = 0;
    for (const ReplicaLoad& load : loads) {
      if (kept > 0 && loads[kept - 1].path == load.path) {
        loads[kept - 1].weight += load.weight;
      } else {
        loads[kept++] = load;
      }
    }
    loads.resize(kept);
  }
}

FoldedFabric Folder::fold() {
  std::vector<std::vector<std::size_t>> faulty;
  std::vector<std::size_t> apart;
  for (const hardware::NetworkFault& fault : cluster_.network.faults) {
    faulty.push_back(links_of(fault));
    apart.insert(apart.end(), faulty.back().begin(), faulty.back().end());
  }
  std::ranges::sort(apart);
  FoldedFabric folded;
  sort_replicas(apart, folded);
  std::vector<std::size_t> alike;
  const std::vector<std::size_t> kept = distinct(apart, alike);
  const auto stays = [&](std::size_t link) {
    return std::binary_search(apart.begin(), apart.end(), link);
  };
  constexpr std::size_t kMostCompared = 2000;
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
    folded.capacities.push_back(capacities_[kept[b]]);
    folded.links.push_back({name_of(kept[b]), alike[b]});
    for (const ReplicaLoad& use : loads_[kept[b]]) {
      folded.paths[use.path].push_back({id, use.weight});
    }
  }
  for (std::size_t i = 0; i < faulty.size(); ++i) {
    const hardware::NetworkFault& fault = cluster_.network.faults[i];
    for (const std::size_t link : faulty[i]) {
      if (const auto known = number.find(link); known != number.end()) {
        folded.changes.push_back({to_sim_time(fault.from), known->second, share_of(fault)});
        if (fault.until) {
          folded.changes.push_back({to_sim_time(*fault.until), known->second, 1.0});
        }
      }
    }
  }
  std::ranges::stable_sort(folded.changes,
                           [](const auto& a, const auto& b) { return a.at < b.at; });
  return folded;
}

// Above all nodes there are no uplinks: that tier stands for those beyond it.
std::size_t Folder::tier_of(const hardware::NetworkFault& fault) const {
  std::size_t tier = 0;
  while (cluster_.network.tiers[tier].name != fault.tier) {
    ++tier;
  }
  return std::min(tier, topology_.spec().tiers.size() - 1);
}

// Even routing makes the uplinks of a switch one link, of which some are slow.
double Folder::share_of(const hardware::NetworkFault& fault) const {
  if (!fault.uplinks || hashed_) {
    return fault.share;
  }
  const double all = topology_.spec().tiers[tier_of(fault)].links;
  return all == 0.0 ? 1.0 : 1.0 - static_cast<double>(*fault.uplinks) / all * (1.0 - fault.share);
}

std::vector<std::size_t> Folder::links_of(const hardware::NetworkFault& fault) const {
  std::vector<std::size_t> links;
  const fabric::TopologySpec& spec = topology_.spec();
  const auto add = [&links](fabric::LinkId up, fabric::LinkId down) {
    links.push_back(up.index());
    links.push_back(down.index());
  };
  const auto add_nics = [&](std::int32_t node, std::int32_t first, std::int32_t last) {
    for (std::int32_t nic = first; nic <= last; ++nic) {
      add(topology_.nic({node, nic}, Direction::up), topology_.nic({node, nic}, Direction::down));
    }
  };
  const auto add_uplinks = [&](std::size_t tier, std::int32_t node, std::int32_t most) {
    const bool top = tier + 1 == spec.tiers.size();
    const std::int32_t rails = !top && spec.tiers[tier].by_rail ? spec.nics_per_node : 1;
    for (std::int32_t rail = 0; !top && rail < rails; ++rail) {
      for (std::int32_t i = 0; i < std::min(most, topology_.uplinks(tier)); ++i) {
        if (fault.rail.value_or(rail) == rail) {
          add(topology_.uplink(tier, {node, rail}, i, Direction::up),
              topology_.uplink(tier, {node, rail}, i, Direction::down));
        }
      }
    }
  };
  const std::int32_t last = spec.nics_per_node - 1;
  if (fault.node) {
    const auto nic = static_cast<std::int32_t>(fault.nic.value_or(0));
    add_nics(static_cast<std::int32_t>(*fault.node), nic, fault.nic ? nic : last);
    return links;
  }
  const std::size_t tier = tier_of(fault);
  const std::int32_t size = spec.tiers[tier].nodes;
  const auto begin = static_cast<std::int32_t>(fault.block * size);
  add_uplinks(tier, begin, static_cast<std::int32_t>(fault.uplinks.value_or(INT32_MAX)));
  if (fault.part != hardware::FaultyPart::all) {
    return links;
  }
  const auto rail = static_cast<std::int32_t>(fault.rail.value_or(0));
  const std::int32_t end = std::min(begin + size, spec.nodes);
  for (std::int32_t node = begin; node < end; node += tier == 0 ? 1 : spec.tiers[tier - 1].nodes) {
    if (tier == 0) {
      add_nics(node, rail, fault.rail ? rail : last);
    } else {
      add_uplinks(tier - 1, node, INT32_MAX);
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
  const bool by_rail = topology_.spec().tiers[place.tier].by_rail;
  const std::int32_t nics = by_rail ? topology_.spec().nics_per_node : 1;
  return fmt::format(
      "{} of {} {}{}, {}", hashed_ ? fmt::format("uplink {}", place.number) : "uplinks",
      cluster_.network.tiers[place.tier].name, place.owner / nics,
      by_rail ? fmt::format(" rail {}", place.owner % nics) : "", up ? "up" : "down");
}

}  // namespace

FoldedFabric fold_fabric(const hardware::ClusterSpec& cluster, std::span<const FabricJob> jobs) {
  Folder folder(cluster);
  for (const FabricJob& job : jobs) {
    folder.add(job);
  }
  return folder.fold();
}

}  // namespace orrery::step
