#pragma once

// A slice, one activity of the timeline, packed into 16 bytes so that ten million fit in memory.
//
// symbol   | meaning                                                        | bits | origin
// ---------|----------------------------------------------------------------|------|----------
// begin    | start                                                          | 64   | ns
// duration | ns; of a long slice (>= 2^32 ns) its place in the table of      | 32   | adapters
//          | long durations of the store                                    |      |
// name     | place in the string table                                      | 22   | store
// category | Category                                                       | 6    | adapters
// flags    | abnormal: never blended away; instant: took no time, drawn as   | 4    | adapters
//          | one nanosecond; long: see duration                             |      |

#include <cstdint>

#include "gui/timeline/category.hpp"

namespace orrery::timeline {

inline constexpr std::uint32_t kNameBits = 22;
inline constexpr std::uint32_t kMostNames = std::uint32_t{1} << kNameBits;

enum SliceFlag : std::uint8_t { kAbnormal = 1, kInstant = 2, kLong = 4 };

class Slice {
 public:
  Slice() = default;

  Slice(std::int64_t begin, std::uint32_t duration, std::uint32_t name, Category category,
        std::uint8_t flags)
      : begin_(begin),
        duration_(duration),
        packed_(name | static_cast<std::uint32_t>(category) << kNameBits |
                static_cast<std::uint32_t>(flags) << (kNameBits + kCategoryBits)) {}

  [[nodiscard]] std::int64_t begin() const { return begin_; }

  // Nanoseconds, or an index when is(kLong).
  [[nodiscard]] std::uint32_t stored_duration() const { return duration_; }

  [[nodiscard]] std::uint32_t name() const { return packed_ & (kMostNames - 1); }

  [[nodiscard]] Category category() const {
    constexpr std::uint32_t kMask = (1U << kCategoryBits) - 1;
    return static_cast<Category>((packed_ >> kNameBits) & kMask);
  }

  [[nodiscard]] std::uint8_t flags() const {
    return static_cast<std::uint8_t>(packed_ >> (kNameBits + kCategoryBits));
  }

  [[nodiscard]] bool is(SliceFlag flag) const { return (flags() & flag) != 0; }

 private:
  std::int64_t begin_ = 0;
  std::uint32_t duration_ = 0;
  std::uint32_t packed_ = 0;
};

static_assert(sizeof(Slice) == 16);

struct TimeRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t length() const { return end - begin; }

  [[nodiscard]] bool contains(std::int64_t time) const { return begin <= time && time < end; }

  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

}  // namespace orrery::timeline
