#pragma once

// Pyramid of summaries that lets wide views be drawn without touching every slice: bins at every
// scale of time, by row and by blocks of 16, 32, 64, ... neighbouring tracks.
//
//   bin i of a level covers [origin + i 2^shift, origin + (i + 1) 2^shift)
//
// Every level of a track and of a block of 16 is computed from the slices themselves, larger blocks
// from smaller ones. Tracks with few slices have no bins of their own: reading the slices is
// cheaper. Bins take at most 4 bytes per slice for tracks and 4 for blocks.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "gui/timeline/store/slice.hpp"

namespace orrery::timeline {

// Summaries of many slices that share a pixel, over time and over rows.
//
//   busy   = time in slices / width of the bin, in 1/255, at least 1 when there is any slice
//   shown  = the category with the most time in the bin (abnormal slices before all others)
//
// symbol   | meaning                                                      | unit  | origin
// ---------|--------------------------------------------------------------|-------|----------
// RowBin   | one row, one stretch of time                                 | -     | slices
// BlockBin | several rows, one stretch of time: the lowest and the         | -     | RowBins
//          | highest rank among their categories, the least and the most  |       |
//          | busy of them                                                 |       |
//
// A row that differs from its neighbours changes one of the four extremes of its block, or its
// abnormal bit (which ranks above all categories); none of them is averaged away. All four bytes
// are kept so that merging is the greater of each byte: associative, commutative, and quick.

inline constexpr std::uint8_t kFullyBusy = 255;

struct RowBin {
  static constexpr std::uint8_t kAbnormalBit = 1U << 6U;
  static constexpr std::uint8_t kEdgeBit = 1U << 7U;  // a wide slice begins here; never stored

  std::uint8_t kind = 0;
  std::uint8_t busy = 0;

  [[nodiscard]] Category category() const {
    return static_cast<Category>(kind & (kAbnormalBit - 1U));
  }

  [[nodiscard]] bool abnormal() const { return (kind & kAbnormalBit) != 0; }

  friend bool operator==(const RowBin&, const RowBin&) = default;
};

static_assert(sizeof(RowBin) == 2);

struct BlockBin {
  std::uint8_t anti_low = 0;  // 256 - lowest category; 0: nothing runs
  std::uint8_t high = 0;      // highest category, abnormal bit
  std::uint8_t idle = 0;      // 255 - busy of the least busy row
  std::uint8_t most = 0;      // busy of the busiest row

  [[nodiscard]] std::uint8_t low() const { return static_cast<std::uint8_t>(0U - anti_low); }

  [[nodiscard]] std::uint8_t least() const { return static_cast<std::uint8_t>(kFullyBusy - idle); }

  [[nodiscard]] bool abnormal() const { return (high & RowBin::kAbnormalBit) != 0; }

  friend bool operator==(const BlockBin&, const BlockBin&) = default;
};

static_assert(sizeof(BlockBin) == 4);

[[nodiscard]] inline BlockBin block_of(RowBin bin) {
  const unsigned kind = bin.kind & ~unsigned{RowBin::kEdgeBit};
  return {static_cast<std::uint8_t>(0U - (kind & (RowBin::kAbnormalBit - 1U))),
          static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(kFullyBusy - bin.busy),
          bin.busy};
}

// Of the rows, or of the stretches of time, of both.
[[nodiscard]] inline BlockBin merge(BlockBin a, BlockBin b) {
  return {std::max(a.anti_low, b.anti_low), std::max(a.high, b.high), std::max(a.idle, b.idle),
          std::max(a.most, b.most)};
}

// into[i] = merge(into[i], from[i]), or value; `from` is at least as long.
void merge_into(std::span<BlockBin> into, std::span<const BlockBin> from);
void merge_into(std::span<BlockBin> into, BlockBin value);

// Two neighbouring stretches of equal width of one row.
[[nodiscard]] inline RowBin join(RowBin a, RowBin b) {
  const bool second = a.abnormal() != b.abnormal() ? b.abnormal() : b.busy > a.busy;
  const unsigned sum = unsigned{a.busy} + b.busy;
  return {second ? b.kind : a.kind, static_cast<std::uint8_t>((sum + 1U) / 2U)};
}

// busy in 1/255; never rounds a slice away, never up to full when something is free.
[[nodiscard]] inline std::uint8_t busy_level(std::int64_t busy, std::int64_t width) {
  if (busy <= 0) {
    return 0;
  }
  if (busy >= width) {
    return kFullyBusy;
  }
  const float share = static_cast<float>(busy) / static_cast<float>(width);
  return static_cast<std::uint8_t>(std::clamp(static_cast<int>(share * 255.0F), 1, 254));
}

// Sums the slices of one bin after the other.
class BinSum {
 public:
  void add(Category category, std::int64_t time, bool abnormal) {
    auto& sum = time_[static_cast<std::size_t>(category)];
    if (sum == 0) {
      touched_[touched_count_++] = category;
    }
    sum += std::max<std::int64_t>(time, 1);
    busy_ += time;
    if (abnormal && (!abnormal_ || time > abnormal_time_)) {
      abnormal_ = true;
      abnormal_time_ = time;
      abnormal_category_ = category;
    }
  }

  [[nodiscard]] bool empty() const { return touched_count_ == 0; }

  // The bin, and starts the next one.
  RowBin take(std::int64_t width);

 private:
  std::array<std::int64_t, kCategories> time_{};
  std::array<Category, kCategories> touched_{};
  std::size_t touched_count_ = 0;
  std::int64_t busy_ = 0;
  std::int64_t abnormal_time_ = 0;
  Category abnormal_category_ = Category::none;
  bool abnormal_ = false;
};

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
