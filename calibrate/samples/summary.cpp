#include "calibrate/samples/summary.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/check.hpp"

namespace orrery::calibrate {

namespace {

// Rank from 0 to n - 1, linear between samples.
double at_rank(const std::vector<double>& sorted, double rank) {
  const double last = static_cast<double>(sorted.size() - 1);
  const double place = std::clamp(rank, 0.0, last);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = place - static_cast<double>(below);
  return sorted[below] + (sorted[above] - sorted[below]) * share;
}

}  // namespace

Summary summarise(std::span<const double> samples) {
  ORRERY_CHECK(!samples.empty(), "a summary needs at least one sample");
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double last = static_cast<double>(sorted.size() - 1);
  Summary summary;
  summary.count = sorted.size();
  summary.median = at_rank(sorted, 0.5 * last);
  summary.p10 = at_rank(sorted, 0.1 * last);
  summary.p90 = at_rank(sorted, 0.9 * last);
  summary.least = sorted.front();
  const double spread = 0.5 * std::sqrt(static_cast<double>(sorted.size()));
  const double low = at_rank(sorted, 0.5 * last - spread);
  const double high = at_rank(sorted, 0.5 * last + spread);
  summary.error = summary.median > 0.0 ? 0.5 * (high - low) / summary.median : 0.0;
  return summary;
}

}  // namespace orrery::calibrate
