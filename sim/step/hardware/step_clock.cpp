#include "sim/step/hardware/step_clock.hpp"

namespace orrery::hardware {

bool follows_clock(kernels::Operation operation) {
  return !kernels::is_memory_bound(operation) && !kernels::is_collective(operation);
}

Seconds at_step_clock(kernels::Operation operation, Seconds median, std::optional<double> clock,
                      std::optional<double> step_clock) {
  return clock && step_clock && follows_clock(operation) ? median * (*clock / *step_clock) : median;
}

}  // namespace orrery::hardware
