#pragma once

// Finds the next slice: of a name, in the level that is shown, else in those within it, else in
// those around it; of a row; by length.
//
// Reads immutable stores only, so that it may run on any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "gui/timeline/store/store.hpp"

namespace orrery::timeline {

// Statistics of an area of the timeline: count and durations of its slices, by name.
//
//   total      = sum of the parts of the slices inside the area
//   mean, min, max, p50, p99 = of the whole durations of the slices that touch the area
//   p(q)       = duration of rank ceil(q count), counted from 1 (nearest rank, exact)
//
// Computed from the slices, never from the bins.

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

struct FindRequest {
  std::string text;  // part of a name, whatever the case of ASCII letters
  std::size_t level = 0;
  std::optional<SliceId> after;  // in that level; absent: from its begin
};

struct Finding {
  std::size_t level = 0;
  SliceId slice = 0;
  std::uint64_t found = 0;  // in that level
  std::uint64_t place = 0;  // of the slice among them, in the order of time, from 1
};

// Nothing when no level has such a name, or after a stop request.
[[nodiscard]] std::optional<Finding> find_in_levels(const Levels& levels,
                                                    const FindRequest& request,
                                                    std::stop_token stop = {});

// What the first track of a row shows from this moment of the store's clock on.
[[nodiscard]] std::optional<SliceId> slice_from(const Store& store, RowId row, std::int64_t time);

// Of these categories the slice that is next in length to `from`, shorter or longer; without one
// the longest.
[[nodiscard]] std::optional<SliceId> next_by_length(const Store& store, CategorySet categories,
                                                    std::optional<SliceId> from, bool shorter);

}  // namespace orrery::timeline
