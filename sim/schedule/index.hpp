#pragma once

// How does a device, chunk or micro-batch become the place in a vector? Internal to schedule/.

#include <cstddef>
#include <cstdint>

#include "sim/schedule/step_graph.hpp"

namespace orrery::schedule {

inline constexpr TaskId kNoTask{kNone};

[[nodiscard]] constexpr std::size_t index(std::int32_t value) {
  return static_cast<std::size_t>(value);
}

}  // namespace orrery::schedule
