#include "sim/base/quantile.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/base/check.hpp"

namespace orrery {

double value_at_rank(std::span<const double> sorted, double rank) {
  ORRERY_CHECK(!sorted.empty(), "rank {} of no values", rank);
  const double place = std::clamp(rank, 0.0, static_cast<double>(sorted.size() - 1));
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

double quantile_of_sorted(std::span<const double> sorted, double q) {
  return value_at_rank(sorted, (static_cast<double>(sorted.size()) - 1.0) * q);
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return quantile_of_sorted(values, 0.5);
}

}  // namespace orrery
