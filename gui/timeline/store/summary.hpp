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

#include <span>
#include <vector>

#include "gui/timeline/pixel_axis.hpp"
#include "gui/timeline/store/store.hpp"

namespace orrery::timeline {

// Slices of all tracks that the axis shows, counted on a sample of the tracks.
[[nodiscard]] double slices_in(const Store& store, const PixelAxis& axis);

class Summariser {
 public:
  // Both must outlive the summariser.
  Summariser(const Store& store, const PixelAxis& axis);

  // The same when slices_in(store, axis) is known.
  Summariser(const Store& store, const PixelAxis& axis, double in_window);

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
