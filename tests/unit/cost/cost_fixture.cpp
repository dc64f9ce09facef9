#include "tests/unit/cost/cost_fixture.hpp"

#include <utility>

#include "sim/base/check.hpp"
#include "sim/hardware/profile_reader.hpp"

namespace orrery::cost::testing {

namespace {

Source neutral() {
  return {SourceKind::given, "neutral stack of the tests"};
}

template <typename Q>
Coefficient<Q> given(Q value) {
  return {value, neutral()};
}

}  // namespace

hardware::GpuProfile gpu_profile(const std::string& name) {
  Diagnostics diagnostics;
  const std::string path =
      std::string(ORRERY_SOURCE_DIR) + "/scenarios/profiles/gpu/" + name + ".yaml";
  auto profile = hardware::load_gpu_profile(path, {}, {}, "gpu", diagnostics);
  ORRERY_CHECK(profile.has_value(), "profile {}: {}", path, to_string(diagnostics));
  return *std::move(profile);
}

hardware::SoftwareProfile neutral_stack() {
  return {.name = "neutral",
          .version = "1",
          .file = "",
          .gemm_efficiency = given(1.0),
          .memory_efficiency = given(1.0),
          .attention_efficiency = given(1.0),
          .kernel_gap = given(Seconds()),
          .host_layer_time = given(Seconds()),
          .score_passes = given(0.0),
          .nvlink_efficiency = given(1.0),
          .network_efficiency = given(1.0),
          .collective_overhead = given(Seconds()),
          .transfer_overhead = given(Seconds()),
          .tensor_exposed = given(1.0),
          .communication_slowdown = given(0.0),
          .loss_bytes_per_logit = given(bytes(16.0)),
          .optimizer_traffic = given(bytes(30.0)),
          .fixed_step_time = given(Seconds()),
          .jitter_per_doubling = given(0.0),
          .memory_overhead = given(Bytes()),
          .fragmentation = given(0.0)};
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
