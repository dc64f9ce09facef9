#include "sim/step/hardware/collective_tables.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery::hardware {

namespace {

double log_size(const CollectivePoint& point) { return std::log(in_bytes(point.size)); }

double line_at(const CollectiveTable& table, double size) {
  return in_seconds(table.alpha) + table.beta * size;
}

double log_residual(const CollectiveTable& table, std::size_t at) {
  const CollectivePoint& point = table.points[at];
  return std::log(in_seconds(point.time) / line_at(table, in_bytes(point.size)));
}

struct Interval {
  double width;
  double slope;
};

Interval interval(const CollectiveTable& table, std::size_t at) {
  const double width = log_size(table.points[at + 1]) - log_size(table.points[at]);
  return {width, (log_residual(table, at + 1) - log_residual(table, at)) / width};
}

// Slope of the interpolant at a point: the weighted harmonic mean of both sides, 0 at an extremum.
double slope_at(const CollectiveTable& table, std::size_t at) {
  const std::size_t last = table.points.size() - 1;
  if (at == 0 || at == last) {
    return interval(table, at == 0 ? 0 : last - 1).slope;
  }
  const Interval left = interval(table, at - 1);
  const Interval right = interval(table, at);
  if (left.slope * right.slope <= 0.0) {
    return 0.0;
  }
  const double w1 = 2.0 * right.width + left.width;
  const double w2 = right.width + 2.0 * left.width;
  return (w1 + w2) / (w1 / left.slope + w2 / right.slope);
}

}  // namespace

std::int64_t CollectiveTable::domains() const {
  return std::max<std::int64_t>((ranks + nvlink_domain - 1) / nvlink_domain, 1);
}

void finish_table(CollectiveTable& table) {
  ORRERY_CHECK(!table.points.empty(), "the table of {} has no points", table.rig);
  std::sort(table.points.begin(), table.points.end(),
            [](const CollectivePoint& a, const CollectivePoint& b) { return a.size < b.size; });
  const auto fastest = std::min_element(
      table.points.begin(), table.points.end(),
      [](const CollectivePoint& a, const CollectivePoint& b) { return a.time < b.time; });
  table.alpha = fastest->time;
  const CollectivePoint& last = table.points.back();
  table.beta = in_seconds(last.time - table.alpha) / in_bytes(last.size);
}

Seconds table_time(const CollectiveTable& table, Bytes size) {
  const std::vector<CollectivePoint>& points = table.points;
  if (size <= points.front().size) {
    return points.front().time;
  }
  if (size >= points.back().size) {
    return points.back().time;
  }
  const auto above = std::upper_bound(
      points.begin(), points.end(), size,
      [](Bytes value, const CollectivePoint& point) { return value < point.size; });
  const auto at = static_cast<std::size_t>(above - points.begin()) - 1;
  const double width = interval(table, at).width;
  const double t = (std::log(in_bytes(size)) - log_size(points[at])) / width;
  const double u = 1.0 - t;
  const double residual = (1.0 + 2.0 * t) * u * u * log_residual(table, at) +
                          t * t * (3.0 - 2.0 * t) * log_residual(table, at + 1) +
                          t * u * width * (u * slope_at(table, at) - t * slope_at(table, at + 1));
  return seconds(line_at(table, in_bytes(size)) * std::exp(residual));
}

}  // namespace orrery::hardware
