#pragma once

// Schedules and step graphs that tests expect to exist, and their time in ticks (1 tick = 1 ns) by
// the runner of `orrery validate`.

#include <gtest/gtest.h>

#include <utility>
#include <variant>

#include "sim/step/schedule/schedule.hpp"
#include "sim/step/schedule/step_graph.hpp"
#include "sim/validate/rows/tick_run.hpp"

namespace orrery::schedule {

using validate::TickCosts;
using validate::TickRun;
using validate::Ticks;
using validate::uniform;

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

[[nodiscard]] inline TickRun must_run(const Schedule& schedule, P2pMode mode,
                                      const TickCosts& costs) {
  auto run = validate::run_ticks(schedule, mode, costs);
  if (const auto* deadlock = std::get_if<Deadlock>(&run)) {
    ADD_FAILURE() << deadlock->message;
    return {};
  }
  return std::get<TickRun>(std::move(run));
}

// Equal costs on all stages; backward = input + weight.
[[nodiscard]] inline TickCosts equal_costs(const Schedule& schedule, std::int64_t forward,
                                           std::int64_t input, std::int64_t weight,
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
