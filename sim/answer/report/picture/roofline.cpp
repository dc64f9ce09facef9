#include "sim/answer/report/picture/roofline.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "sim/answer/report/picture/step_flame.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::report {

namespace {

constexpr double kMargin = 2.0;  // of the roofs beyond the points, as a factor

double ratio(Seconds part, Seconds whole) { return whole > Seconds{} ? part / whole : 0.0; }

RooflineRoof roof_of(const ComputeRoof& compute, BytesPerSecond memory,
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
  for (RooflinePoint& point : result.points) {
    const RooflineRoof* roof = result.roofs.empty() ? nullptr : &result.roofs.front();
    for (const RooflineRoof& other : result.roofs) {
      roof = other.peak >= point.achieved && other.peak < roof->peak ? &other : roof;
    }
    if (roof != nullptr) {
      const bool by_memory = point.intensity < roof->ridge;
      point.roof = by_memory ? roof->peak * (point.intensity / roof->ridge) : roof->peak;
      point.limit = by_memory ? std::string("memory") : roof->name;
    }
  }
  return result;
}

std::string roofline_text(const Evaluation& evaluation) {
  constexpr double kShown = 0.01;
  const Roofline all = roofline(evaluation);
  std::string text =
      "roofline: what limits the operations of a step\n"
      "  roof(x) = min(x * memory bandwidth, dense peak), x = FLOP / bytes\n";
  for (const RooflineRoof& roof : all.roofs) {
    text += fmt::format("  {}, reached from {:.0f} FLOP per byte on at {} of memory\n", roof.name,
                        roof.ridge, format_bandwidth(evaluation.echo.memory_bandwidth));
  }
  text += fmt::format("  {:<32} {:>6} {:>9} {:>13} {:>8}  {}\n", "operation", "step", "FLOP/B",
                      "reached", "of roof", "limited by");
  double rest = 0.0;
  for (const RooflinePoint& point : all.points) {
    if (point.limit.empty() || point.share < kShown) {
      rest += point.share;
      continue;
    }
    text +=
        fmt::format("  {:<32} {:>6} {:>9.0f} {:>13} {:>8}  {}\n", point.name,
                    percent_cell(point.share), point.intensity, format_flop_rate(point.achieved),
                    percent_cell(point.achieved / point.roof), point.limit);
  }
  text += fmt::format(
      "  smaller ones: {} of the step; all: orrery export --format csv --what "
      "roofline\n",
      percent_cell(rest));
  return text;
}

}  // namespace orrery::report
