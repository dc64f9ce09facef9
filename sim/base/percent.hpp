#pragma once

// How many percent are one? Shares are fractions everywhere; only what is printed is in percent.

namespace orrery {

inline constexpr double kPercent = 100.0;

}  // namespace orrery
