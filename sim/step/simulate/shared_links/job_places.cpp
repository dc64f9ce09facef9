#include "sim/step/simulate/shared_links/job_places.hpp"

#include <cmath>
#include <cstddef>
#include <unordered_map>

#include "sim/base/units.hpp"

namespace orrery::step {

namespace {

// SplitMix64 (Steele, Lea and Flood, 2014).
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31U);
}

// Weights that differ in their last bits are sums of the same terms in another order.
std::uint64_t of_load(const ReplicaLoad& load) {
  return mix(load.path ^ mix(static_cast<std::uint64_t>(std::llround(load.weight * kGiga))));
}

// Numbers equal values by the first that has each; how many there are.
std::size_t number(std::span<const std::uint64_t> values, std::vector<std::uint32_t>& classes) {
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  classes.clear();
  for (const std::uint64_t value : values) {
    classes.push_back(known.emplace(value, static_cast<std::uint32_t>(known.size())).first->second);
  }
  return known.size();
}

}  // namespace

std::vector<std::uint32_t> replica_classes(std::span<const std::uint64_t> apart,
                                           std::span<const std::vector<ReplicaLoad>> loads,
                                           std::span<const std::uint64_t> links) {
  std::vector<std::uint32_t> classes;
  std::size_t count = number(apart, classes);
  std::vector<std::uint64_t> of_replica(apart.size());
  for (std::size_t before = 0; before < count && count < apart.size();) {
    before = count;
    for (std::size_t replica = 0; replica < apart.size(); ++replica) {
      of_replica[replica] = mix(classes[replica]);
    }
    for (std::size_t link = 0; link < loads.size(); ++link) {
      std::uint64_t of_link = mix(links[link]);
      for (const ReplicaLoad& load : loads[link]) {  // sums: the order of loads does not count
        const bool all = load.replica == kAllReplicas;
        of_link += mix(of_load(load) + (all ? 0 : classes[load.replica] + 1));
      }
      of_link = mix(of_link);
      for (const ReplicaLoad& load : loads[link]) {
        if (load.replica != kAllReplicas) {
          of_replica[load.replica] += mix(of_load(load) ^ of_link);
        }
      }
    }
    count = number(of_replica, classes);
  }
  return classes;
}

}  // namespace orrery::step
