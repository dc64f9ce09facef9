#pragma once

// Runs a schedule through its step graph and the engine with costs in ticks (1 tick = 1 ns), and
// collects the quantities in which the reference cases and closed forms are stated.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/schedule/step_graph.hpp"

namespace orrery::schedule {

using Ticks = std::vector<std::int64_t>;

struct TickCosts {
  Ticks forward;   // by virtual stage
  Ticks backward;  // full
  Ticks input;     // empty where no backward is split
  Ticks weight;
  std::int64_t overlapped = 0;
  std::int64_t message = 0;
};

struct TickRun {
  std::int64_t makespan = 0;
  std::int64_t span = 0;  // largest (last end - first start) of a device
  Ticks busy;             // by device, as everything below
  Ticks idle;             // makespan - busy
  Ticks inner_idle;       // last end - first start - busy
  Ticks first_start;
  Ticks last_end;
  Ticks blocked;  // rendezvous: in communication, until the last transfer has ended

  friend bool operator==(const TickRun&, const TickRun&) = default;
};

[[nodiscard]] inline std::vector<std::int64_t> uniform(int count, std::int64_t ticks) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(count), ticks);
}

[[nodiscard]] inline std::int64_t ticks_of(const Schedule& schedule,
                                           const StepTask& task,
                                           const TickCosts& costs) {
  if (task.kind == TaskKind::send_receive) {
    return costs.message;
  }
  const int stage = virtual_stage(schedule.stage_map(), {task.device, task.chunk});
  const auto g = static_cast<std::size_t>(stage);
  switch (task.kind) {
    case TaskKind::forward:
      return costs.forward[g];
    case TaskKind::backward:
      return costs.backward[g];
    case TaskKind::backward_input:
      return costs.input[g];
    case TaskKind::backward_weight:
      return costs.weight[g];
    case TaskKind::overlapped:
      return costs.overlapped;
    default:
      ADD_FAILURE() << "no ticks for this kind of task";
      return 0;
  }
}

[[nodiscard]] inline engine::Timing replay_ticks(const Schedule& schedule,
                                                 const StepGraph& graph,
                                                 const TickCosts& costs) {
  std::vector<SimTime> durations;
  for (const StepTask& task : graph.tasks) {
    durations.push_back({ticks_of(schedule, task, costs)});
  }
  const std::vector<SimTime> delays(graph.messages.size(), SimTime{costs.message});
  engine::Timing timing;
  engine::replay_linear(graph.graph, durations, delays, timing);
  return timing;
}

[[nodiscard]] inline TickRun summarize(const Schedule& schedule,
                                       const StepGraph& graph,
                                       const engine::Timing& timing) {
  const auto devices = static_cast<std::size_t>(schedule.devices);
  TickRun run;
  Ticks left(devices, 0);  // when the device leaves its last task or transfer
  run.busy.assign(devices, 0);
  run.first_start.assign(devices, INT64_MAX);
  run.last_end.assign(devices, 0);
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const StepTask& task = graph.tasks[i];
    const auto device = static_cast<std::size_t>(task.device);
    const std::int64_t end = timing.end[i].ns;
    left[device] = std::max(left[device], end);
    if (task.kind == TaskKind::send_receive) {
      const Message& message = graph.messages[static_cast<std::size_t>(task.message)];
      std::int64_t& receiver = left[static_cast<std::size_t>(message.to)];
      receiver = std::max(receiver, end);
      continue;
    }
    run.busy[device] += end - timing.start[i].ns;
    run.first_start[device] = std::min(run.first_start[device], timing.start[i].ns);
    run.last_end[device] = std::max(run.last_end[device], end);
  }
  run.makespan = *std::max_element(run.last_end.begin(), run.last_end.end());
  for (std::size_t d = 0; d < devices; ++d) {
    const std::int64_t own = run.last_end[d] - run.first_start[d];
    run.span = std::max(run.span, own);
    run.idle.push_back(run.makespan - run.busy[d]);
    run.inner_idle.push_back(own - run.busy[d]);
    run.blocked.push_back(left[d] - run.busy[d]);
  }
  return run;
}

[[nodiscard]] inline Schedule generated(const ScheduleRequest& request) {
  auto made = generate(request);
  if (const auto* refusal = std::get_if<ScheduleRefusal>(&made)) {
    ADD_FAILURE() << to_string(request.kind) << " p=" << request.devices << " v=" << request.chunks
                  << " m=" << request.micro_batches << ": " << refusal->message;
    return {};
  }
  return std::get<Schedule>(std::move(made));
}

[[nodiscard]] inline StepGraph built(const Schedule& schedule, const StepGraphOptions& options) {
  auto graph = build_step_graph(schedule, options);
  if (const auto* deadlock = std::get_if<Deadlock>(&graph)) {
    ADD_FAILURE() << deadlock->message;
    return {};
  }
  return std::get<StepGraph>(std::move(graph));
}

[[nodiscard]] inline TickRun run_ticks(const Schedule& schedule,
                                       P2pMode mode,
                                       const TickCosts& costs) {
  StepGraphOptions options;
  options.p2p = mode;
  const StepGraph graph = built(schedule, options);
  return summarize(schedule, graph, replay_ticks(schedule, graph, costs));
}

// Equal costs on all stages; backward = input + weight.
[[nodiscard]] inline TickCosts equal_costs(const Schedule& schedule,
                                           std::int64_t forward,
                                           std::int64_t input,
                                           std::int64_t weight,
                                           std::int64_t message = 0) {
  const int stages = stage_count(schedule.stage_map());
  return {.forward = uniform(stages, forward),
          .backward = uniform(stages, input + weight),
          .input = uniform(stages, input),
          .weight = uniform(stages, weight),
          .overlapped = forward + input + weight,
          .message = message};
}

}  // namespace orrery::schedule
