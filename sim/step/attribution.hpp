#pragma once

// Where did the step go? Books every nanosecond of every pipeline device to one category.
//
//   busy time of a compute task -> its own parts
//   waiting before a task       -> [end of the task before, ready) bubble (pipeline) or idle (no
//                                  pipeline), [ready, start) exposed communication
//   after the last task         -> idle (the others still finish)
//
// symbol   | meaning                                                           | unit | origin
// ---------|-------------------------------------------------------------------|------|------------
// ready(t) | end of the latest compute that task t waited for: its own end for | ns   | computed
//          | compute; the maximum over its predecessors for a message, a       |      |
//          | collective or a join                                              |      |
// parts    | composition of a task, adds up to its duration                    | ns   | stage costs
// stretch  | time a compute task lost to communication on the same GPU         | ns   | slow-down
//
// The kind of exposed communication is that of the predecessor which arrived last. A message that
// its sender copies itself occupies the sender, but is no compute to those who wait for it.

#include <array>
#include <span>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/schedule/step_graph.hpp"
#include "sim/step/operation_timeline.hpp"
#include "sim/step/step_result.hpp"

namespace orrery::step {

// A duration with its composition, in integer nanoseconds: total == sum of parts.
struct TaskParts {
  SimTime total;
  std::array<SimTime, kStepCategories> parts{};
};

struct AttributionInput {
  const schedule::StepGraph& graph;
  const engine::Timing& timing;
  std::span<const SimTime> delays;
  std::span<const TaskParts* const> parts;  // by TaskId; communication and joins may be null
  std::span<const SimTime> stretch;         // by TaskId; empty: none
  std::int64_t devices = 1;
  std::int64_t gpus_per_device = 1;          // GPUs of one pipeline device
  std::vector<DeviceWait>* waits = nullptr;  // where to list what devices waited for, if anywhere
};

// One ledger per pipeline device; each adds up to gpus_per_device * makespan exactly.
[[nodiscard]] std::vector<StepLedger> attribute_step(const AttributionInput& input);

}  // namespace orrery::step
