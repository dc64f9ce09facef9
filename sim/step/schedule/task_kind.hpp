#pragma once

// The task of a step graph that an operation of a schedule's list becomes.

#include "sim/step/schedule/step_graph.hpp"

namespace orrery::schedule {

[[nodiscard]] TaskKind task_kind(OpKind kind);

}  // namespace orrery::schedule
