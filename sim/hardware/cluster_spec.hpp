#pragma once

// Which machines, how many, and which wires between them?
//
//   network rate of one group on one node = min(k NICs, ...) * nic_rate / sharing /
//   oversubscription
//
// symbol           | meaning                                                 | unit   | origin
// -----------------|---------------------------------------------------------|--------|---------
// nodes            | hosts the job runs on, spares apart                     | nodes  | scenario
// gpus_per_node    | GPUs of one host                                        | GPUs   | scenario
// nvlink_domain    | GPUs that reach one another over NVLink (host or rack)  | GPUs   | scenario
// nic_rate         | line rate of one NIC, one direction                     | byte/s | scenario
// nics_per_node    | NICs of one host                                        | NICs   | scenario
// tiers            | switch levels, lowest first                             | -      | scenario
// oversubscription | downlink / uplink capacity of a tier, 1 = none          | 1      | scenario
// latency          | one-way latency added by crossing the tier; a message   | s      | scenario
//                  | pays every tier from the lowest up to the one it needs  |        |

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/layout/layout_spec.hpp"

namespace orrery::hardware {

struct NetworkTier {
  std::string name;
  std::int64_t nodes = 0;         // nodes under one switch block of this tier
  double oversubscription = 1.0;  // towards the next tier up
  Seconds latency;
};

struct NetworkSpec {
  std::string preset;                         // name, or empty when spelled out
  std::optional<std::int64_t> nvlink_domain;  // default: gpus_per_node with NVLink, else 1
  BytesPerSecond nic_rate = gigabits_per_second(400.0);
  std::int64_t nics_per_node = 8;
  std::vector<NetworkTier> tiers;
};

struct ClusterSpec {
  std::string gpu;  // profile name or path
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 8;
  NetworkSpec network;
};

struct NetworkPreset {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  NetworkSpec spec;
};

[[nodiscard]] std::span<const NetworkPreset> network_presets();
[[nodiscard]] const NetworkPreset* find_network_preset(std::string_view name);

// Why the job cannot run on this network (NICs missing on several nodes, tiers out of order, a
// negative rate), or nothing. One sentence with its numbers.
[[nodiscard]] std::optional<std::string> network_problem(const ClusterSpec& cluster);

// nvlink_domain is 1 on GPUs without NVLink.
[[nodiscard]] layout::ClusterShape cluster_shape(const ClusterSpec& cluster, bool has_nvlink);

}  // namespace orrery::hardware
