#pragma once

// Pyramid of summaries that lets wide views be drawn without touching every slice: bins at every
// scale of time, by row and by blocks of 16, 32, 64, ... neighbouring tracks.
//
//   bin i of a level covers [origin + i 2^shift, origin + (i + 1) 2^shift)
//
// symbol | meaning                                                         | unit | origin
// -------|-----------------------------------------------------------------|------|-----------
// shift  | log2 of the width of the finest bin; widths double by level     | -    | slices
// track  | slices of one row that do not overlap, sorted by time           | -    | store
// block  | 2^v neighbouring tracks, v >= 4                                 | -    | this file
//
// Every level of a track and of a block of 16 is computed from the slices themselves, larger blocks
// from smaller ones. Tracks with few slices have no bins of their own: reading the slices is
// cheaper. Bins take at most 4 bytes per slice for tracks and 4 for blocks.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "gui/timeline/store/bins.hpp"

namespace orrery::timeline {

// Slices of one row that do not overlap: [first, first + count) of the store's slices.
struct Track {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t row = 0;
};

// What a pyramid is made of; the spans outlive the call only.
struct SliceTable {
  std::span<const Slice> slices;
  std::span<const std::int64_t> long_durations;
  std::span<const Track> tracks;
  TimeRange range;

  [[nodiscard]] std::int64_t end_of(const Slice& slice) const {
    const std::int64_t duration = slice.is(kLong) ? long_durations[slice.stored_duration()]
                                                  : std::int64_t{slice.stored_duration()};
    return slice.begin() + duration;
  }
};

// All bins of one level of one track or block.
template <typename Bin>
struct BinLevel {
  std::span<const Bin> bins;
  int shift = 0;
};

// Levels of bins, each twice as wide as the one before, one behind the other in memory.
struct BinLayout {
  std::size_t first = 0;
  std::uint32_t bins = 0;  // of the finest level; 0: there are none
  int shift = 0;

  [[nodiscard]] int levels() const;
  [[nodiscard]] std::size_t total() const;  // bins of all levels
  [[nodiscard]] std::size_t offset(int level) const;
  [[nodiscard]] std::uint32_t count(int level) const;

  // The coarsest level whose bins are not wider than `width`, at least the finest one.
  [[nodiscard]] int level_for(std::int64_t width) const;
};

using Progress = std::function<void(double share)>;

class Pyramid {
 public:
  // Empty after a stop request.
  static Pyramid build(const SliceTable& table, std::stop_token stop, const Progress& progress);

  [[nodiscard]] bool has_bins(std::size_t track) const { return tracks_[track].bins > 0; }

  [[nodiscard]] const BinLayout& layout(std::size_t track) const { return tracks_[track]; }

  [[nodiscard]] BinLevel<RowBin> track_level(std::size_t track, std::int64_t width) const;

  // Blocks of 2^v tracks exist for first_block() <= v < end_of_blocks().
  [[nodiscard]] static constexpr int first_block() { return 4; }

  [[nodiscard]] int end_of_blocks() const {
    return first_block() + static_cast<int>(blocks_.size());
  }

  [[nodiscard]] BinLevel<BlockBin> block_level(int v, std::size_t block, std::int64_t width) const;
  [[nodiscard]] std::int64_t finest_block_bin(int v) const;

  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Blocks {
    std::size_t count = 0;
    BinLayout layout;  // of block 0; block i follows at i * layout.total()
    std::vector<BlockBin> bins;
  };

  bool build_tracks(const SliceTable& table, std::stop_token stop, const Progress& progress);
  bool build_blocks(const SliceTable& table, std::stop_token stop, const Progress& progress);
  bool build_first_blocks(const SliceTable& table, std::size_t most_bins, std::stop_token stop,
                          const Progress& progress);
  void double_blocks(const TimeRange& range, std::size_t most_bins);

  std::vector<BinLayout> tracks_;
  std::vector<RowBin> track_bins_;
  std::vector<Blocks> blocks_;
};

// The bins of one track at one width, from its slices: the definition of what a bin holds.
void bin_track(const SliceTable& table, const Track& track, int shift, std::span<RowBin> bins);

}  // namespace orrery::timeline
