#pragma once

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
// are kept so that merging is the greater of each byte: associative, commutative, and one
// instruction.

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "gui/timeline/store/slice.hpp"

namespace orrery::timeline {

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
#if defined(__SSE2__)
  const __m128i both = _mm_max_epu8(_mm_cvtsi32_si128(std::bit_cast<int>(a)),
                                    _mm_cvtsi32_si128(std::bit_cast<int>(b)));
  return std::bit_cast<BlockBin>(_mm_cvtsi128_si32(both));
#else
  return {std::max(a.anti_low, b.anti_low), std::max(a.high, b.high), std::max(a.idle, b.idle),
          std::max(a.most, b.most)};
#endif
}

// into[i] = merge(into[i], from[i]); equal lengths.
void merge_into(std::span<BlockBin> into, std::span<const BlockBin> from);

// into[i] = merge(into[i], value).
inline void merge_into(std::span<BlockBin> into, BlockBin value) {
  std::size_t i = 0;
#if defined(__SSE2__)
  constexpr std::size_t kAtOnce = sizeof(__m128i) / sizeof(BlockBin);
  const __m128i values = _mm_set1_epi32(std::bit_cast<int>(value));
  for (; i + kAtOnce <= into.size(); i += kAtOnce) {
    auto* four = reinterpret_cast<__m128i*>(&into[i]);
    _mm_storeu_si128(four, _mm_max_epu8(_mm_loadu_si128(four), values));
  }
#endif
  for (; i < into.size(); ++i) {
    into[i] = merge(into[i], value);
  }
}

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

}  // namespace orrery::timeline
