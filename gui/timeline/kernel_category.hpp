#pragma once

// Categories of measured work, the same as those of the simulated work it is compared with.

#include "gui/timeline/category.hpp"
#include "sim/answer/trace/group_rules.hpp"
#include "sim/answer/trace/kernel_rules.hpp"

namespace orrery::timeline {

// Of communication.
[[nodiscard]] constexpr Category category_of(trace::Axis axis, trace::Operation operation) {
  switch (axis) {
    case trace::Axis::tensor:
      return Category::tensor;
    case trace::Axis::context:
      return Category::context;
    case trace::Axis::expert:
      return Category::expert;
    case trace::Axis::pipeline:
      return Category::pipeline;
    default:
      break;
  }
  const bool gathers =
      operation == trace::Operation::all_gather || operation == trace::Operation::broadcast;
  return gathers ? Category::data_gather : Category::data_reduce;
}

// Of everything else.
[[nodiscard]] constexpr Category category_of(trace::Work work) {
  switch (work) {
    case trace::Work::optimizer:
      return Category::optimizer;
    case trace::Work::copy:
      return Category::copy;
    default:
      return Category::kernel;
  }
}

}  // namespace orrery::timeline
