#pragma once

// Histograms for bar charts: of the values of the trials, and of a metric with its band.
//
//   share(bin) = trials with low <= x < high / all trials;  the last bin holds its upper end too
//
// Equal values in all trials give one bin without width.

#include <vector>

#include "sim/answer/report/metric_band.hpp"
#include "sim/run/distribution.hpp"

namespace orrery::report {

struct HistogramBin {
  double low = 0.0;  // bins are equal parts of the range from least to greatest
  double high = 0.0;
  double share = 0.0;  // adds up to 1 over the bins
};

// Whether the trials differ by more than the rounding of their sums, 1 part in 10^9.
[[nodiscard]] bool varies(const run::Distribution& values);

// Needs at least one value and one bin.
[[nodiscard]] std::vector<HistogramBin> histogram(const run::Distribution& values, int bins);

// Of a metric with a band: luck and the error of the step together, as far as seven tenths of the
// band beyond it, so that the shares add up to a little less than 1.
[[nodiscard]] std::vector<HistogramBin> band_histogram(const Evaluation& evaluation, MetricId id,
                                                       const MetricBand& band, int bins);

}  // namespace orrery::report
