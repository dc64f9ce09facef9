#pragma once

// One step whose flows share links: from the times of its tasks to its timing. Used inside step/
// only.

#include "sim/step/replay/execution.hpp"

namespace orrery::step {

// Replays `run.times`; leaves timing, stretch and what sharing cost in `run`.
void share_links(const ExecutionInput& of, Execution& run);

// The input and the costs of a step whose transfers have links of their own: what flows start from.
struct UnsharedStep {
  StepInput input;
  cost::CostModel costs;
};

// Nothing where collectives are priced by themselves (cluster.network.detail: groups).
[[nodiscard]] std::optional<UnsharedStep> unshared_step(const StepInput& input,
                                                        const cost::CostModel& costs);

}  // namespace orrery::step
