#pragma once

// What the execution of a step starts from and ends with. Used inside step/ only.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "sim/step/engine/replay.hpp"
#include "sim/step/schedule/step_graph.hpp"
#include "sim/step/simulate/replay/task_times.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

// What flows share, and all that they are made of. `input` and `costs` are those of the unshared
// network (unshared_step()).
struct SharedNetwork {
  const StepInput& input;
  const cost::CostModel& costs;
  const std::vector<std::vector<int>>& buckets;
  const hardware::ClusterSpec& cluster;
  bool loads = false;  // keep those of the links over time
};

struct Execution {
  TaskTimes times;
  engine::Timing timing;
  std::shared_ptr<const StepNetwork> network = nullptr;  // with a shared network only
  std::size_t replica = 0;  // whose times these are, where replicas differ
};

struct ExecutionInput {
  const schedule::StepGraph& graph;
  const StageCosts& stages;
  double slowdown = 0.0;  // of compute beside data-parallel communication
  const SharedNetwork* network = nullptr;
  // Of each replica in lockstep, where the network knows them (detail: ranks); empty: all alike.
  std::span<const std::vector<DeviceSpeed>> replicas = {};
};

// Tasks of a step graph that are shown: those that take time; joins stand for waiting only.

[[nodiscard]] constexpr bool is_pass(schedule::TaskKind kind) {
  using schedule::TaskKind;
  return kind == TaskKind::forward || kind == TaskKind::backward ||
         kind == TaskKind::backward_input || kind == TaskKind::backward_weight ||
         kind == TaskKind::overlapped;
}

[[nodiscard]] inline bool is_slice(const schedule::StepTask& task, const engine::Timing& timing,
                                   std::size_t id) {
  return task.kind != schedule::TaskKind::join && timing.end[id] > timing.start[id];
}

}  // namespace orrery::step
