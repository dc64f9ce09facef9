#include "tests/unit/cost/cost_fixture.hpp"

#include <utility>

#include "sim/base/check.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "tests/checkout.hpp"

namespace orrery::cost::testing {

hardware::GpuProfile gpu_profile(const std::string& name) {
  Diagnostics diagnostics;
  const std::string path = std::string(kSourceDir) + "/scenarios/profiles/gpu/" + name + ".yaml";
  auto profile = hardware::load_gpu_profile(path, {}, {}, "gpu", diagnostics);
  ORRERY_CHECK(profile.has_value(), "profile {}: {}", path, to_string(diagnostics));
  return *std::move(profile);
}

hardware::ClusterSpec cluster(const ClusterShapeText& shape) {
  hardware::ClusterSpec spec;
  spec.nodes = shape.nodes;
  spec.gpus_per_node = shape.gpus_per_node;
  spec.network.nic_rate = gigabits_per_second(shape.nic_gigabits);
  spec.network.nics_per_node = shape.nics_per_node;
  if (shape.nodes > 1) {
    spec.network.tiers = {{"leaf", shape.nodes, 1.0, shape.latency}};
  }
  return spec;
}

layout::GroupPlacement group(std::int64_t ranks, std::int64_t nodes) {
  return {.ranks = ranks,
          .nodes = nodes,
          .ranks_per_node = ranks / nodes,
          .domains = nodes,
          .ranks_per_domain = ranks / nodes,
          .sharing_node = 1,
          .tier = 0};
}

}  // namespace orrery::cost::testing
