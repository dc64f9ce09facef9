#include "gui/timeline/store/pyramid.hpp"

#include <bit>
#include <cstring>
#include <mutex>

#include "sim/base/parallel.hpp"

namespace orrery::timeline {

namespace {

// The greater of each byte, sixteen at a time.
void greater_bytes(std::uint8_t* into, const std::uint8_t* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    into[i] = std::max(into[i], from[i]);
  }
}

}  // namespace

void merge_into(std::span<BlockBin> into, std::span<const BlockBin> from) {
  greater_bytes(reinterpret_cast<std::uint8_t*>(into.data()),
                reinterpret_cast<const std::uint8_t*>(from.data()), into.size_bytes());
}

void merge_into(std::span<BlockBin> into, BlockBin value) {
  // In a register of its own: bytes that are written apart and read together stall.
  using Words [[gnu::vector_size(16)]] = std::uint32_t;
  using Bytes [[gnu::vector_size(16)]] = std::uint8_t;
  const auto same = reinterpret_cast<Bytes>(Words{} + std::bit_cast<std::uint32_t>(value));
  constexpr std::size_t kAtOnce = sizeof(Bytes) / sizeof(BlockBin);
  std::size_t i = 0;
  for (; i + kAtOnce <= into.size(); i += kAtOnce) {
    auto* const place = reinterpret_cast<std::uint8_t*>(&into[i]);
    Bytes bytes;
    std::memcpy(&bytes, place, sizeof(bytes));
    bytes = bytes > same ? bytes : same;
    std::memcpy(place, &bytes, sizeof(bytes));
  }
  for (; i < into.size(); ++i) {
    into[i] = merge(into[i], value);
  }
}

RowBin BinSum::take(std::int64_t width) {
  if (touched_count_ == 0) {
    return {};
  }
  Category best = touched_[0];
  for (std::size_t i = 0; i < touched_count_; ++i) {
    const Category category = touched_[i];
    auto& sum = time_[static_cast<std::size_t>(category)];
    const std::int64_t most = time_[static_cast<std::size_t>(best)];
    if (sum > most) {
      best = category;
    }
  }
  for (std::size_t i = 0; i < touched_count_; ++i) {
    time_[static_cast<std::size_t>(touched_[i])] = 0;
  }
  RowBin bin;
  bin.kind = static_cast<std::uint8_t>(abnormal_ ? abnormal_category_ : best);
  if (abnormal_) {
    bin.kind = static_cast<std::uint8_t>(bin.kind | RowBin::kAbnormalBit);
  }
  bin.busy = std::max<std::uint8_t>(busy_level(busy_, width), 1);
  touched_count_ = 0;
  busy_ = 0;
  abnormal_ = false;
  abnormal_time_ = 0;
  return bin;
}

namespace {

constexpr std::uint32_t kFewBins = 256;  // a coarser level is not worth it
constexpr std::uint32_t kFewSlices = 2048;
constexpr std::uint32_t kMostBlockBins = 8192;
constexpr double kBlockBytesPerSlice = 3.0;
constexpr double kLevelsPerFinest = 2.0;
constexpr std::size_t kFewBlocks = 4;
constexpr double kTrackShare = 0.4;  // of the time to build

// Smallest shift at which `range` has at most `most` bins.
int shift_for(std::int64_t range, std::uint64_t most) {
  int shift = 0;
  while ((static_cast<std::uint64_t>(range) >> static_cast<unsigned>(shift)) + 1 > most) {
    ++shift;
  }
  return shift;
}

std::uint32_t bins_at(std::int64_t range, int shift) {
  return static_cast<std::uint32_t>((range >> shift) + 1);
}

// Progress of many threads, reported in order.
class Meter {
 public:
  Meter(const Progress& progress, double from, double share, std::int64_t all)
      : progress_(progress), from_(from), share_(share), all_(all) {}

  void add(std::int64_t done) {
    if (!progress_) {
      return;
    }
    const std::scoped_lock lock(mutex_);
    done_ += done;
    progress_(from_ + share_ * static_cast<double>(done_) / static_cast<double>(all_));
  }

 private:
  const Progress& progress_;
  double from_;
  double share_;
  std::int64_t all_;
  std::int64_t done_ = 0;
  std::mutex mutex_;
};

}  // namespace

int BinLayout::levels() const {
  int levels = 1;
  for (std::uint32_t n = bins; n > kFewBins; n = (n + 1) >> 1U) {
    ++levels;
  }
  return levels;
}

std::uint32_t BinLayout::count(int level) const {
  std::uint32_t n = bins;
  for (int i = 0; i < level; ++i) {
    n = (n + 1) >> 1U;
  }
  return n;
}

std::size_t BinLayout::offset(int level) const {
  std::size_t sum = 0;
  for (int i = 0; i < level; ++i) {
    sum += count(i);
  }
  return sum;
}

std::size_t BinLayout::total() const { return bins == 0 ? 0 : offset(levels()); }

int BinLayout::level_for(std::int64_t width) const {
  int level = 0;
  const int last = levels() - 1;
  while (level < last && (std::int64_t{1} << (shift + level + 1)) <= width) {
    ++level;
  }
  return level;
}

void bin_track(const SliceTable& table, const Track& track, int shift, std::span<RowBin> bins) {
  std::ranges::fill(bins, RowBin{});
  const std::int64_t width = std::int64_t{1} << shift;
  const std::int64_t origin = table.range.begin;
  std::size_t bin = 0;
  std::int64_t bin_end = origin + width;
  BinSum sum;
  const auto flush_until = [&](std::int64_t time) {
    if (time < bin_end) {
      return;
    }
    bins[bin] = sum.take(width);
    bin = static_cast<std::size_t>((time - origin) >> shift);
    bin_end = origin + static_cast<std::int64_t>(bin + 1) * width;
  };
  for (const Slice& slice : table.slices.subspan(track.first, track.count)) {
    const std::int64_t end = table.end_of(slice);
    const bool abnormal = slice.is(kAbnormal);
    std::int64_t begin = slice.begin();
    flush_until(begin);
    while (end > bin_end) {
      sum.add(slice.category(), bin_end - begin, abnormal);
      begin = bin_end;
      flush_until(begin);
    }
    sum.add(slice.category(), end - begin, abnormal);
  }
  if (!sum.empty()) {
    bins[bin] = sum.take(width);
  }
}

Pyramid Pyramid::build(const SliceTable& table, std::stop_token stop, const Progress& progress) {
  Pyramid pyramid;
  if (!pyramid.build_tracks(table, stop, progress) ||
      !pyramid.build_blocks(table, stop, progress)) {
    return {};
  }
  return pyramid;
}

bool Pyramid::build_tracks(const SliceTable& table, std::stop_token stop,
                           const Progress& progress) {
  const std::int64_t range = std::max<std::int64_t>(table.range.length(), 1);
  tracks_.resize(table.tracks.size());
  std::size_t total = 0;
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    const std::uint32_t count = table.tracks[i].count;
    if (count < kFewSlices) {
      continue;
    }
    const int shift = shift_for(range, std::bit_floor(count));
    tracks_[i] = {total, bins_at(range, shift), shift};
    total += tracks_[i].total();
  }
  track_bins_.resize(total);
  const auto all = static_cast<std::int64_t>(tracks_.size());
  Meter meter(progress, 0.0, kTrackShare, std::max<std::int64_t>(all, 1));
  return parallel_for(all, {.grain = 16, .stop = stop}, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const BinLayout& layout = tracks_[i];
      for (int level = 0; layout.bins > 0 && level < layout.levels(); ++level) {
        const std::span<RowBin> bins(&track_bins_[layout.first + layout.offset(level)],
                                     layout.count(level));
        bin_track(table, table.tracks[i], layout.shift + level, bins);
      }
    }
    meter.add(end - begin);
  });
}

bool Pyramid::build_blocks(const SliceTable& table, std::stop_token stop,
                           const Progress& progress) {
  constexpr std::size_t kBlock = std::size_t{1} << first_block();
  const std::size_t count = (table.tracks.size() + kBlock - 1) / kBlock;
  if (count < kFewBlocks) {
    return true;
  }
  const double slices = static_cast<double>(table.slices.size());
  const double allowed = kBlockBytesPerSlice * slices /
                         (static_cast<double>(count * sizeof(BlockBin)) * kLevelsPerFinest);
  const auto most =
      static_cast<std::size_t>(std::clamp(allowed, double{kFewBins}, double{kMostBlockBins}));
  if (!build_first_blocks(table, most, stop, progress)) {
    return false;
  }
  // Half as many blocks with two thirds of the bins each: a third of the memory.
  std::size_t bins = most;
  while (blocks_.back().count >= 2 * kFewBlocks) {
    bins = std::max<std::size_t>(2 * bins / 3, kFewBins);
    double_blocks(table.range, bins);
  }
  return true;
}

bool Pyramid::build_first_blocks(const SliceTable& table, std::size_t most_bins,
                                 std::stop_token stop, const Progress& progress) {
  constexpr std::size_t kBlock = std::size_t{1} << first_block();
  const std::int64_t range = std::max<std::int64_t>(table.range.length(), 1);
  Blocks blocks;
  blocks.count = (table.tracks.size() + kBlock - 1) / kBlock;
  blocks.layout.shift = shift_for(range, most_bins);
  blocks.layout.bins = bins_at(range, blocks.layout.shift);
  const BinLayout layout = blocks.layout;
  blocks.bins.resize(blocks.count * layout.total());
  const auto all = static_cast<std::int64_t>(blocks.count);
  Meter meter(progress, kTrackShare, 1.0 - kTrackShare, all);
  const bool done =
      parallel_for(all, {.grain = 1, .stop = stop}, [&](std::int64_t begin, std::int64_t end) {
        std::vector<RowBin> row(layout.bins);
        for (auto block = static_cast<std::size_t>(begin); block < static_cast<std::size_t>(end);
             ++block) {
          const std::size_t last = std::min((block + 1) * kBlock, table.tracks.size());
          for (int level = 0; level < layout.levels(); ++level) {
            const std::uint32_t bins = layout.count(level);
            BlockBin* out = &blocks.bins[block * layout.total() + layout.offset(level)];
            const std::span<RowBin> one(row.data(), bins);
            for (std::size_t track = block * kBlock; track < last; ++track) {
              bin_track(table, table.tracks[track], layout.shift + level, one);
              for (std::uint32_t i = 0; i < bins; ++i) {
                out[i] =
                    track == block * kBlock ? block_of(one[i]) : merge(out[i], block_of(one[i]));
              }
            }
          }
        }
        meter.add(end - begin);
      });
  blocks_.push_back(std::move(blocks));
  return done;
}

void Pyramid::double_blocks(const TimeRange& range, std::size_t most_bins) {
  const Blocks& fine = blocks_.back();
  const std::int64_t length = std::max<std::int64_t>(range.length(), 1);
  Blocks coarse;
  coarse.count = (fine.count + 1) / 2;
  int skip = 0;  // levels of the finer blocks that these leave out
  while (skip + 1 < fine.layout.levels() && fine.layout.count(skip) > most_bins) {
    ++skip;
  }
  coarse.layout.shift = fine.layout.shift + skip;
  coarse.layout.bins = bins_at(length, coarse.layout.shift);
  const std::size_t total = coarse.layout.total();
  const std::size_t fine_total = fine.layout.total();
  const std::size_t fine_first = fine.layout.offset(skip);
  coarse.bins.resize(coarse.count * total);
  for (std::size_t block = 0; block < coarse.count; ++block) {
    const BlockBin* upper = &fine.bins[2 * block * fine_total + fine_first];
    const BlockBin* lower = 2 * block + 1 < fine.count ? upper + fine_total : upper;
    BlockBin* out = &coarse.bins[block * total];
    for (std::size_t i = 0; i < total; ++i) {
      out[i] = merge(upper[i], lower[i]);
    }
  }
  blocks_.push_back(std::move(coarse));
}

BinLevel<RowBin> Pyramid::track_level(std::size_t track, std::int64_t width) const {
  const BinLayout& layout = tracks_[track];
  const int level = layout.level_for(width);
  return {{&track_bins_[layout.first + layout.offset(level)], layout.count(level)},
          layout.shift + level};
}

BinLevel<BlockBin> Pyramid::block_level(int v, std::size_t block, std::int64_t width) const {
  const Blocks& blocks = blocks_[static_cast<std::size_t>(v - first_block())];
  const int level = blocks.layout.level_for(width);
  return {{&blocks.bins[block * blocks.layout.total() + blocks.layout.offset(level)],
           blocks.layout.count(level)},
          blocks.layout.shift + level};
}

std::int64_t Pyramid::finest_block_bin(int v) const {
  return std::int64_t{1} << blocks_[static_cast<std::size_t>(v - first_block())].layout.shift;
}

std::size_t Pyramid::bytes() const {
  std::size_t sum = tracks_.size() * sizeof(BinLayout) + track_bins_.size() * sizeof(RowBin);
  for (const Blocks& blocks : blocks_) {
    sum += blocks.bins.size() * sizeof(BlockBin);
  }
  return sum;
}

}  // namespace orrery::timeline
