#pragma once

// One step whose flows share links: from the times of its tasks to its timing. Used inside step/
// only.

#include "sim/step/simulate/replay/execution.hpp"

namespace orrery::step {

// Replays `times`, or those of every kind of replica where `of` has their speeds and the network
// knows ranks; then with the times of the replica that ends last.
[[nodiscard]] Execution share_links(const ExecutionInput& of, TaskTimes times);

// The input and the costs of a step whose transfers have links of their own: what flows start from.
struct UnsharedStep {
  StepInput input;
  cost::CostModel costs;
};

// Nothing where collectives are priced by themselves (cluster.network.detail: groups).
[[nodiscard]] std::optional<UnsharedStep> unshared_step(const StepInput& input,
                                                        const cost::CostModel& costs);

}  // namespace orrery::step
