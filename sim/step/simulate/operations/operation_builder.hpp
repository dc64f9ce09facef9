#pragma once

// Builds the timeline of operations of an executed step. Used inside step/ only.
//
//   1. sequences of the layers, edges, optimizer and buckets (operation_sequences.hpp)
//   2. a task is the sequences of its layers in the order of the pass; what its parts hold beyond
//      (jitter, unequal GPUs, offload) is one more entry
//   3. waits come from the attribution, messages from the edges of the graph
//
// Costs O(slices + messages); nothing of it runs unless the timeline was asked for.

#include <memory>

#include "sim/step/simulate/operations/operation_timeline.hpp"
#include "sim/step/simulate/replay/execution.hpp"

namespace orrery::step {

struct TimelineInput {
  const StepInput& input;
  const cost::CostModel& costs;
  const std::vector<std::vector<int>>& buckets;
  const schedule::StepGraph& graph;
  const StageCosts& stages;
  const Execution& run;
  std::span<const DeviceSpeed> speeds;  // by device; empty: nominal
  std::vector<DeviceWait> waits;        // of the attribution
  std::int64_t draw = 0;                // that the speeds are of
};

// Its runs are those of the tasks that take time, joins apart, in the order of their ids: the
// slices.
[[nodiscard]] std::shared_ptr<const OperationTimeline> build_operation_timeline(TimelineInput of);

}  // namespace orrery::step
