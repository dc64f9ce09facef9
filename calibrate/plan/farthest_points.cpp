#include "calibrate/plan/farthest_points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.hpp"

namespace orrery::calibrate {

namespace {

using Point = std::vector<double>;

double squared_distance(const Point& a, const Point& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return sum;
}

std::vector<Point> logarithms(std::span<const Extents> candidates) {
  std::vector<Point> points;
  points.reserve(candidates.size());
  for (const Extents& extents : candidates) {
    ORRERY_CHECK(extents.size() == candidates.front().size(),
                 "candidates of {} and {} extents",
                 extents.size(),
                 candidates.front().size());
    Point point;
    for (const std::int64_t extent : extents) {
      ORRERY_CHECK(extent > 0, "an extent of {} has no logarithm", extent);
      point.push_back(std::log(static_cast<double>(extent)));
    }
    points.push_back(std::move(point));
  }
  return points;
}

Point mean_of(const std::vector<Point>& points) {
  Point mean(points.front().size(), 0.0);
  for (const Point& point : points) {
    for (std::size_t i = 0; i < point.size(); ++i) {
      mean[i] += point[i] / static_cast<double>(points.size());
    }
  }
  return mean;
}

}  // namespace

std::vector<std::size_t> farthest_points(std::span<const Extents> candidates, std::size_t count) {
  std::vector<std::size_t> chosen;
  if (candidates.empty() || count == 0) {
    return chosen;
  }
  const std::vector<Point> points = logarithms(candidates);
  const Point mean = mean_of(points);
  std::size_t next = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (squared_distance(points[i], mean) < squared_distance(points[next], mean)) {
      next = i;
    }
  }
  std::vector<double> nearest(points.size(), std::numeric_limits<double>::infinity());
  while (chosen.size() < std::min(count, points.size())) {
    chosen.push_back(next);
    nearest[next] = -1.0;  // never again
    std::size_t farthest = next;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (nearest[i] >= 0.0) {
        nearest[i] = std::min(nearest[i], squared_distance(points[i], points[chosen.back()]));
      }
      if (nearest[i] > nearest[farthest]) {
        farthest = i;
      }
    }
    next = farthest;
  }
  return chosen;
}

}  // namespace orrery::calibrate
