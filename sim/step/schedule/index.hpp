#pragma once

// Conversion of devices, chunks and micro-batches to indices of vectors. Internal to schedule/.

#include <cstddef>
#include <cstdint>

#include "sim/step/schedule/step_graph.hpp"

namespace orrery::schedule {

inline constexpr TaskId kNoTask{kNone};

[[nodiscard]] constexpr std::size_t index(std::int32_t value) {
  return static_cast<std::size_t>(value);
}

}  // namespace orrery::schedule
