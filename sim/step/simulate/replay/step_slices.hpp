#pragma once

// Tasks of a step graph that are shown: those that take time; joins stand for waiting only.

#include <cstddef>

#include "sim/step/engine/replay.hpp"
#include "sim/step/schedule/step_graph.hpp"

namespace orrery::step {

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
