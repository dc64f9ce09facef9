#pragma once

// The quantiles of the trials that every form of a report shows.

namespace orrery::report {

inline constexpr double kLowQuantile = 0.1;
inline constexpr double kMedian = 0.5;
inline constexpr double kHighQuantile = 0.9;

}  // namespace orrery::report
