#include "sim/evaluate/inputs/checkpoint_input.hpp"

#include <algorithm>

namespace orrery::evaluate {

void add_checkpoint_input(const scenario::Scenario& scenario,
                          const Resolved& resolved,
                          const run::CheckpointSpec& checkpoint,
                          run::StepInput& step) {
  const layout::Layout& layout = resolved.layout;
  step.data_parallel = layout.data;
  step.state_replicas =
      std::max(1.0, static_cast<double>(layout.data) / static_cast<double>(layout.shard_group));
  if (step.state_replicas > 1.0) {
    step.replicated_bytes = checkpoint.bytes_per_parameter;
  } else if (layout.sharding == layout::Sharding::zero1 ||
             layout.sharding == layout::Sharding::zero2) {
    constexpr double kWeights = 2.0;
    step.replicated_bytes = std::min(bytes(kWeights), checkpoint.bytes_per_parameter);
  }
  const hardware::NetworkSpec& network = scenario.cluster.network;
  if (scenario.cluster.nodes > 1) {
    step.node_network = static_cast<double>(network.nics_per_node) * network.nic_rate;
  }
}

}  // namespace orrery::evaluate
