#pragma once

// Maps pixel columns to ranges of nanoseconds and back.
//
//   column x shows [edge(x), edge(x + 1)),   edge(x) = begin + floor((end - begin) x / width)
//
// symbol | meaning                                             | unit  | origin
// -------|-----------------------------------------------------|-------|--------
// begin  | left edge of the picture                            | ns    | view
// width  | columns; end - begin >= width, so none is empty     | pixel | widget
//
// Exact for ranges of 292 years: quotient and remainder scale separately. at(t) is the column of a
// moment; it is exact too (a guess in double precision, corrected on the edges).

#include <cstdint>
#include <span>
#include <vector>

#include "gui/timeline/store/slice.hpp"

namespace orrery::timeline {

class PixelAxis {
 public:
  PixelAxis() = default;
  PixelAxis(TimeRange range, int width);

  // Columns [first, last) of another axis on a clock that is `offset` behind, cut to `range`: the
  // part of the picture on which a timeline embedded at `offset` is shown.
  PixelAxis(const PixelAxis& outer, std::int64_t offset, TimeRange range);

  [[nodiscard]] int width() const { return static_cast<int>(edges_.size()) - 1; }

  // Column of the outer axis on which this one begins.
  [[nodiscard]] int first_column() const { return first_column_; }

  [[nodiscard]] TimeRange range() const { return {edges_.front(), edges_.back()}; }

  [[nodiscard]] std::int64_t edge(int column) const {
    return edges_[static_cast<std::size_t>(column)];
  }

  [[nodiscard]] std::span<const std::int64_t> edges() const { return edges_; }

  // Of a moment within range().
  [[nodiscard]] int at(std::int64_t time) const;

  // Of any moment, beyond the picture as well, within +-10^6 columns; for lines and text.
  [[nodiscard]] double position(std::int64_t time) const;

  // Nanoseconds of one column, rounded down, at least 1.
  [[nodiscard]] std::int64_t pixel() const { return pixel_; }

 private:
  void set_scale();

  std::vector<std::int64_t> edges_ = {0, 1};
  double scale_ = 1.0;  // columns per nanosecond
  std::int64_t pixel_ = 1;
  int first_column_ = 0;
};

}  // namespace orrery::timeline
