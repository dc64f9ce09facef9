#include "sim/answer/report/picture/histogram.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery::report {

bool varies(const run::Distribution& values) {
  constexpr double kRounding = 1e-9;
  if (values.count() < 2) {
    return false;
  }
  const double least = values.least();
  const double greatest = values.greatest();
  return greatest - least > kRounding * std::max(std::abs(least), std::abs(greatest));
}

std::vector<HistogramBin> histogram(const run::Distribution& values, int bins) {
  ORRERY_CHECK(bins > 0 && values.count() > 0, "a histogram of nothing");
  const double least = values.least();
  const double greatest = values.greatest();
  if (least == greatest) {
    return {{least, greatest, 1.0}};
  }
  std::vector<HistogramBin> result;
  std::int64_t before = 0;
  for (int i = 0; i < bins; ++i) {
    const auto edge = [&](int k) { return least + (greatest - least) * k / bins; };
    const bool last = i + 1 == bins;
    const std::int64_t upto = last ? values.count() : values.count_below(edge(i + 1));
    result.push_back({edge(i), last ? greatest : edge(i + 1),
                      static_cast<double>(upto - before) / static_cast<double>(values.count())});
    before = upto;
  }
  return result;
}

std::vector<HistogramBin> band_histogram(const Evaluation& evaluation, MetricId id,
                                         const MetricBand& band, int bins) {
  constexpr double kBeyond = 0.7;
  const double width = (1.0 + 2.0 * kBeyond) * (band.high - band.low) / bins;
  const double first = band.low - kBeyond * (band.high - band.low);
  std::vector<HistogramBin> result;
  double below = share_at_most(evaluation, id, first).value_or(0.0);
  for (int i = 1; i <= bins; ++i) {
    const double upto = share_at_most(evaluation, id, first + i * width).value_or(0.0);
    result.push_back({first + (i - 1) * width, first + i * width, upto - below});
    below = upto;
  }
  return result;
}

}  // namespace orrery::report
