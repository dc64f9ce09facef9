#pragma once

// Summarises one track, or a block of tracks, into the pixel columns of a scanline.
//
// source | used when                                                     | exact
// -------|---------------------------------------------------------------|----------------------
// slices | a column is narrower than the finest bin, or the track is      | yes: every category has
//        | short                                                         | its share of the columns
// bins   | a column is as wide as the finest bin                         | to one bin at each edge
// blocks | rows are less than half a line high                           | bins, rows merged
//
// In both, an abnormal slice wins its column. A slice that is far narrower than a column still
// counts: `busy` is never rounded to nothing.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gui/timeline/store/slice.hpp"
#include "gui/timeline/store/store.hpp"

namespace orrery::timeline {

// Maps pixel columns to ranges of nanoseconds and back.
//
//   column x shows [edge(x), edge(x + 1)),   edge(x) = begin + floor((end - begin) x / width)
//
// Exact for ranges of 292 years: quotient and remainder scale separately. at(t) is the column of a
// moment; it is exact too (a guess in double precision, corrected on the edges).

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
  [[nodiscard]] int at(std::int64_t time) const {
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

// Slices of all tracks that the axis shows, counted on a sample of the tracks.
[[nodiscard]] double slices_in(const Store& store, const PixelAxis& axis);

class Summariser {
 public:
  // Both must outlive the summariser. `in_window`: slices_in(store, axis), where it is known.
  Summariser(const Store& store, const PixelAxis& axis, std::optional<double> in_window = {});

  // One bin per column. Slices wider than `edge_width` columns carry the edge bit where they begin.
  void track(TrackId track, std::span<RowBin> columns) const;

  // The same from the slices alone: what `track` approximates in wide views.
  void track_from_slices(TrackId track, std::span<RowBin> columns) const;

  // Tracks [first, last) merged. Reads blocks of tracks in place of tracks when `by_blocks`: then
  // every block that begins in the range is shown, and the one that holds `first` if none does.
  void tracks(TrackId first, TrackId last, bool by_blocks, std::span<BlockBin> columns);

 private:
  struct Columns {
    std::size_t first = 0;
    std::size_t last = 0;
  };

  // For the columns of the axis: the first bin of each, at one width of bins.
  [[nodiscard]] std::span<const std::uint32_t> first_bins(int shift) const;

  [[nodiscard]] Columns columns_inside() const;  // those that show any of the store's time
  [[nodiscard]] bool track_has_bins(TrackId track) const;
  [[nodiscard]] bool blocks_are_fine(int v) const;
  void blocks(int v, std::size_t first, std::size_t last, std::span<BlockBin> columns);
  void merge_tracks(TrackId first, TrackId last, std::span<BlockBin> columns);

  const Store& store_;
  const PixelAxis& axis_;
  std::vector<RowBin> row_;
  std::vector<BlockBin> merged_;
  mutable std::vector<std::vector<std::uint32_t>> first_bins_;  // by shift; filled on demand
  double in_window_ = 0.0;                                      // slices, about
};

}  // namespace orrery::timeline
