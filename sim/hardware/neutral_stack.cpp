#include "sim/hardware/neutral_stack.hpp"

namespace orrery::hardware {

namespace {

template <typename Q>
Coefficient<Q> given(Q value) {
  return {value, {SourceKind::given, "a benchmark of the bare library"}};
}

}  // namespace

SoftwareProfile neutral_stack() {
  return {.name = "bare library",
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

}  // namespace orrery::hardware
