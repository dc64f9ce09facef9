#pragma once

// Books every nanosecond of every pipeline device of a step to one category.
//
//   busy time of a compute task -> its own parts; a message that its sender copies ->
//                                  exposed_pipeline; stretch -> exposed_data
//   waiting of a device         -> its causes, found by replays (wait_causes.hpp)
//
// symbol   | meaning                                                           | unit | origin
// ---------|-------------------------------------------------------------------|------|------------
// parts    | composition of a task, adds up to its duration                    | ns   | stage costs
// stretch  | time a compute task lost to communication on the same GPU         | ns   | slow-down
// ready(t) | end of the latest compute that task t waited for: its own end for | ns   | computed
//          | compute; the maximum over its predecessors for a message, a       |      |
//          | collective or a join                                              |      |
//
// How long a device waits for which cause is known of the step, not of a moment. For the timeline
// its waits are divided so that their sums are those of the ledger: before a task, [end of the task
// before, ready) is waiting for other stages as long as there is some left, and [ready, start) for
// the communication that arrived last; what is left over is distributed in the order of the
// categories.

#include <span>
#include <vector>

#include "sim/step/simulate/replay/wait_causes.hpp"

namespace orrery::step {

struct AttributionInput {
  ExecutedStep step;
  std::int64_t gpus_per_device = 1;          // GPUs of one pipeline device
  std::vector<DeviceWait>* waits = nullptr;  // where to list what devices waited for, if anywhere
};

struct Attribution {
  // One per pipeline device; each adds up to gpus_per_device * makespan exactly.
  std::vector<StepLedger> ledgers;
  SimTime without_communication;  // what the step would take (wait_causes.hpp)
};

[[nodiscard]] Attribution attribute_step(const AttributionInput& input);

}  // namespace orrery::step
