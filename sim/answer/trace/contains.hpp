#pragma once

// Whether the name of a trace event contains a given part. Internal to trace/.

#include <string_view>

namespace orrery::trace {

[[nodiscard]] constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace orrery::trace
