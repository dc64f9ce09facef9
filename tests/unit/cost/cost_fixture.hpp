#pragma once

// Profiles and placements for the tests of the cost model: the shipped GPU profiles, a stack that
// changes nothing, clusters and groups spelled out in one line.

#include <cstdint>
#include <string>

#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/layout/placement.hpp"

namespace orrery::cost::testing {

// A shipped profile; the test fails hard when it cannot be read.
[[nodiscard]] hardware::GpuProfile gpu_profile(const std::string& name);

// Efficiencies 1, gaps and overheads 0, source `given`.
using hardware::neutral_stack;

struct ClusterShapeText {
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 8;
  double nic_gigabits = 400.0;
  std::int64_t nics_per_node = 8;
  Seconds latency = {};  // of the lowest tier
};

[[nodiscard]] hardware::ClusterSpec cluster(const ClusterShapeText& shape);

// `ranks` spread evenly over `nodes`, one NVLink domain per node.
[[nodiscard]] layout::GroupPlacement group(std::int64_t ranks, std::int64_t nodes);

}  // namespace orrery::cost::testing
