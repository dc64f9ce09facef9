#pragma once

// Percentages for output only: everywhere else shares are fractions. In columns one digit behind
// the point, "4.1 %"; in sentences format_percent() of format.hpp.

#include <fmt/core.h>

#include <string>

namespace orrery {

inline constexpr double kPercent = 100.0;

[[nodiscard]] inline std::string percent_cell(double share) {
  return fmt::format("{:.1f} %", kPercent * share);
}

// With its sign: "+4.1 %".
[[nodiscard]] inline std::string signed_percent_cell(double share) {
  return fmt::format("{:+.1f} %", kPercent * share);
}

}  // namespace orrery
