#pragma once

// Which task of a step does an operation of a schedule's list become?

#include "sim/schedule/step_graph.hpp"

namespace orrery::schedule {

[[nodiscard]] TaskKind task_kind(OpKind kind);

}  // namespace orrery::schedule
