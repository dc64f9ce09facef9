#pragma once

// Statistics of an area of the timeline: count and durations of its slices, by name.
//
//   total      = sum of the parts of the slices inside the area
//   mean, min, max, p50, p99 = of the whole durations of the slices that touch the area
//   p(q)       = duration of rank ceil(q count), counted from 1 (nearest rank, exact)
//
// symbol | meaning                                            | unit | origin
// -------|----------------------------------------------------|------|--------
// area   | time range x rows, groups with all rows below them | ns   | view
// count  | slices that touch the area                         | 1    | store
//
// Computed from the slices, never from the bins.

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "gui/timeline/store/store.hpp"

namespace orrery::timeline {

struct NamedStatistics {
  NameId name = 0;
  std::uint64_t count = 0;
  std::int64_t total = 0;
};

struct AreaStatistics {
  std::uint64_t count = 0;
  std::int64_t total = 0;
  double mean = 0.0;
  std::int64_t least = 0;
  std::int64_t greatest = 0;
  std::int64_t p50 = 0;
  std::int64_t p99 = 0;
  std::vector<NamedStatistics> by_name;  // most time first
};

struct Area {
  TimeRange range;          // on the clock of the store
  std::vector<RowId> rows;  // empty: all
};

[[nodiscard]] AreaStatistics area_statistics(const Store& store, const Area& area);

// Slices whose name contains `text`, whatever the case of ASCII letters; in the order of the store.
[[nodiscard]] std::vector<SliceId> search(const Store& store, std::string_view text,
                                          std::stop_token stop = {});

}  // namespace orrery::timeline
