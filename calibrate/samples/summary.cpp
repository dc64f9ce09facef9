#include "calibrate/samples/summary.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/quantile.hpp"

namespace orrery::calibrate {

Summary summarise(std::span<const double> samples) {
  ORRERY_CHECK(!samples.empty(), "a summary needs at least one sample");
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double last = static_cast<double>(sorted.size() - 1);
  Summary summary;
  summary.count = sorted.size();
  summary.median = value_at_rank(sorted, 0.5 * last);
  summary.p10 = value_at_rank(sorted, 0.1 * last);
  summary.p90 = value_at_rank(sorted, 0.9 * last);
  summary.least = sorted.front();
  const double spread = 0.5 * std::sqrt(static_cast<double>(sorted.size()));
  const double low = value_at_rank(sorted, 0.5 * last - spread);
  const double high = value_at_rank(sorted, 0.5 * last + spread);
  summary.error = summary.median > 0.0 ? 0.5 * (high - low) / summary.median : 0.0;
  return summary;
}

}  // namespace orrery::calibrate
