#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/run/recovery/recovery_spec.hpp"

namespace orrery::run {

Seconds value_at(const GpuCurve& curve, double gpus) {
  ORRERY_CHECK(!curve.empty(), "a curve without points has no value at {} GPUs", gpus);
  const auto above = std::find_if(
      curve.begin(), curve.end(), [&](const GpuPoint& point) { return point.gpus >= gpus; });
  if (above == curve.begin()) {
    return curve.front().time;
  }
  if (above == curve.end()) {
    return curve.back().time;
  }
  const GpuPoint& low = *(above - 1);
  const double share = std::log(gpus / low.gpus) / std::log(above->gpus / low.gpus);
  return low.time * std::pow(above->time / low.time, share);
}

}  // namespace orrery::run
