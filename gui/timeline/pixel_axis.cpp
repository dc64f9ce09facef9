#include "gui/timeline/pixel_axis.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery::timeline {

PixelAxis::PixelAxis(TimeRange range, int width) {
  ORRERY_CHECK(width >= 1 && range.length() >= width, "{} columns cannot show {} ns", width,
               range.length());
  const std::int64_t quotient = range.length() / width;
  const std::int64_t remainder = range.length() % width;
  edges_.resize(static_cast<std::size_t>(width) + 1);
  for (std::int64_t x = 0; x <= width; ++x) {
    edges_[static_cast<std::size_t>(x)] = range.begin + quotient * x + remainder * x / width;
  }
  set_scale();
}

PixelAxis::PixelAxis(const PixelAxis& outer, std::int64_t offset, TimeRange range) {
  const TimeRange shown{std::max(outer.range().begin - offset, range.begin),
                        std::min(outer.range().end - offset, range.end)};
  if (shown.length() <= 0) {
    edges_ = {0};
    return;
  }
  first_column_ = outer.at(shown.begin + offset);
  const int last = outer.at(shown.end + offset - 1);
  edges_.clear();
  for (int x = first_column_; x <= last + 1; ++x) {
    edges_.push_back(std::clamp(outer.edge(x) - offset, shown.begin, shown.end));
  }
  set_scale();
  scale_ = outer.scale_;
  pixel_ = outer.pixel_;
}

void PixelAxis::set_scale() {
  const double length = static_cast<double>(range().length());
  scale_ = static_cast<double>(width()) / length;
  pixel_ = std::max<std::int64_t>(range().length() / width(), 1);
}

int PixelAxis::at(std::int64_t time) const {
  const double guess = static_cast<double>(time - edges_.front()) * scale_;
  int column = std::clamp(static_cast<int>(guess), 0, width() - 1);
  while (column > 0 && time < edge(column)) {
    --column;
  }
  while (column < width() - 1 && time >= edge(column + 1)) {
    ++column;
  }
  return column;
}

double PixelAxis::position(std::int64_t time) const {
  constexpr double kFar = 1'000'000.0;
  // Exact to a fraction of a column even when both are far from the origin.
  const double distance = static_cast<double>(time - edges_.front());
  return std::clamp(distance * scale_, -kFar, kFar);
}

}  // namespace orrery::timeline
