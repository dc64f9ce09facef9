#include "sim/report/picture/roofline.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "sim/base/text/format.hpp"
#include "sim/report/picture/step_flame.hpp"

namespace orrery::report {

namespace {

constexpr double kMargin = 2.0;  // of the roofs beyond the points, as a factor

double ratio(Seconds part, Seconds whole) {
  return whole > Seconds{} ? part / whole : 0.0;
}

RooflineRoof roof_of(const ComputeRoof& compute,
                     BytesPerSecond memory,
                     const std::vector<RooflinePoint>& points) {
  RooflineRoof roof;
  roof.name = fmt::format("{} peak {}", compute.dtype, format_flop_rate(compute.peak));
  roof.peak = compute.peak;
  roof.ridge = in_flop_per_second(compute.peak) / in_bytes_per_second(memory);
  double low = roof.ridge;
  double high = roof.ridge;
  for (const RooflinePoint& point : points) {
    low = std::min(low, point.intensity);
    high = std::max(high, point.intensity);
  }
  low /= kMargin;
  high *= kMargin;
  roof.intensity = {low, roof.ridge, high};
  roof.rate = {compute.peak * (low / roof.ridge), compute.peak, compute.peak};
  return roof;
}

}  // namespace

Roofline roofline(const Evaluation& evaluation) {
  Roofline result;
  const std::int64_t stages = stage_count(evaluation);
  const Seconds whole = to_seconds(evaluation.step.step_time) * static_cast<double>(stages);
  for (const step::OperationNode& node : operation_sums(evaluation)) {
    const Seconds time = to_seconds(node.time + node.hidden);
    if (node.flop > 0.0 && node.bytes > Bytes{} && time > Seconds{}) {
      result.points.push_back({.name = node.name,
                               .kind = node.kind,
                               .intensity = node.flop / in_bytes(node.bytes),
                               .achieved = flop(node.flop) / time,
                               .time = SimTime{node.time.ns / stages},
                               .share = ratio(to_seconds(node.time), whole)});
    }
  }
  if (!result.points.empty() && evaluation.echo.memory_bandwidth > BytesPerSecond{}) {
    for (const ComputeRoof& compute : evaluation.echo.compute_roofs) {
      result.roofs.push_back(roof_of(compute, evaluation.echo.memory_bandwidth, result.points));
    }
  }
  return result;
}

}  // namespace orrery::report
