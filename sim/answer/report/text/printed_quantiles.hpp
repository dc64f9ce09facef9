#pragma once

// The quantiles of the trials that every form of a report shows, and the one value of a metric that
// text shows: the median of its trials.

#include "sim/answer/report/evaluation.hpp"

namespace orrery::report {

inline constexpr double kLowQuantile = 0.1;
inline constexpr double kMedian = 0.5;
inline constexpr double kHighQuantile = 0.9;

[[nodiscard]] inline double typical(const MetricValue& metric) {
  return metric.trials ? metric.trials->quantile(kMedian) : metric.value;
}

}  // namespace orrery::report
