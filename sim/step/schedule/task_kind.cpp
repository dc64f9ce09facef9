#include "sim/step/schedule/task_kind.hpp"

namespace orrery::schedule {

TaskKind task_kind(OpKind kind) {
  switch (kind) {
    case OpKind::forward:
      return TaskKind::forward;
    case OpKind::backward:
      return TaskKind::backward;
    case OpKind::backward_input:
      return TaskKind::backward_input;
    case OpKind::backward_weight:
      return TaskKind::backward_weight;
  }
  return TaskKind::forward;
}

}  // namespace orrery::schedule
