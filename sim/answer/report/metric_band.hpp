#pragma once

// The band of a figure that eight of ten cases lie in, from the error of the step time and the luck
// of the run together.
//
//   x = x_t exp(+-e),  e ~ Laplace(0, b)      F(x) = mean over t of L(ln(x / x_t) / b)
//   low, high: F = 0.1, 0.9
//
// symbol | meaning                                                         | unit | origin
// -------|-----------------------------------------------------------------|------|---------------
// x_t    | value in trial t; the one value of a metric without luck        | -    | run/, step/
// e      | ln(true step time / predicted); + or - as the metric follows it | 1    | Follows
// b      | ln(high / low) / (2 ln 5) of the step time's own band           | 1    | StepBand
// L      | cumulative distribution of Laplace(0, 1)                        | 1    | computed
//
// A date moves as the time to finish does. The share of the cases up to a bound is F(bound).

#include <optional>

#include "sim/answer/report/evaluation.hpp"

namespace orrery::report {

struct MetricBand {
  double low = 0.0;  // base units of the metric
  double high = 0.0;
};

// Nothing where the step has no band, or the metric is absent or does not follow the step.
[[nodiscard]] std::optional<MetricBand> metric_band(const Evaluation& evaluation, MetricId id);

// Whether the metric moves as the step time does: longer steps make it larger or smaller.
[[nodiscard]] bool follows_step(const Evaluation& evaluation, MetricId id);

// Whether figures that differ by `lead`, larger / smaller - 1, do so by more than predictions err.
[[nodiscard]] constexpr bool told_apart(double lead, double error) { return lead > error; }

// Two positive figures that differ, but are not told apart; an error of 0 tells all.
[[nodiscard]] bool is_within_error(double first, double other, double error);

// Nothing where the metric has no band.
[[nodiscard]] std::optional<double> share_at_most(const Evaluation& evaluation, MetricId id,
                                                  double bound);

// The quantiles of the trials that every form of a report shows, and the one value of a metric that
// text shows: the median of its trials.

inline constexpr double kLowQuantile = 0.1;
inline constexpr double kMedian = 0.5;
inline constexpr double kHighQuantile = 0.9;

[[nodiscard]] inline double typical(const MetricValue& metric) {
  return metric.trials ? metric.trials->quantile(kMedian) : metric.value;
}

}  // namespace orrery::report
