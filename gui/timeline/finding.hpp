#pragma once

// Finds the next slice: of a name, in the level that is shown, else in those within it, else in
// those around it; of a row; by length.
//
// symbol  | meaning                                                         | unit | origin
// --------|-----------------------------------------------------------------|------|--------
// after   | slices of the level that is shown come after this one, in the   | -    | view
//         | order of time; behind the last comes the first                  |      |
//
// Reads immutable stores only, so that it may run on any thread.

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>

#include "gui/timeline/store/levels.hpp"

namespace orrery::timeline {

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
