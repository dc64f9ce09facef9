#include "gui/timeline/finding.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "gui/timeline/store/statistics.hpp"

namespace orrery::timeline {

namespace {

// Of the slices found: the first in time after one, else the first.
SliceId next_in_time(const Store& store, const std::vector<SliceId>& found,
                     std::optional<SliceId> after) {
  const auto key = [&store](SliceId id) { return std::pair(store.slices()[id].begin(), id); };
  SliceId first = found.front();
  std::optional<SliceId> next;
  for (const SliceId id : found) {
    first = key(id) < key(first) ? id : first;
    if ((!after || key(id) > key(*after)) && (!next || key(id) < key(*next))) {
      next = id;
    }
  }
  return next.value_or(first);
}

std::uint64_t place_in_time(const Store& store, const std::vector<SliceId>& found, SliceId slice) {
  const std::pair key(store.slices()[slice].begin(), slice);
  return static_cast<std::uint64_t>(std::count_if(found.begin(), found.end(), [&](SliceId id) {
    return std::pair(store.slices()[id].begin(), id) <= key;
  }));
}

}  // namespace

std::optional<Finding> find_in_levels(const Levels& levels, const FindRequest& request,
                                      std::stop_token stop) {
  std::vector<std::size_t> order;
  for (std::size_t level = request.level; level < levels.size(); ++level) {
    order.push_back(level);
  }
  for (std::size_t level = request.level; level-- > 0;) {
    order.push_back(level);
  }
  for (const std::size_t level : order) {
    const Store& store = *levels[level].store;
    const std::vector<SliceId> found = search(store, request.text, stop);
    if (stop.stop_requested()) {
      return std::nullopt;
    }
    if (!found.empty()) {
      const auto after = level == request.level ? request.after : std::nullopt;
      const SliceId next = next_in_time(store, found, after);
      return Finding{level, next, found.size(), place_in_time(store, found, next)};
    }
  }
  return std::nullopt;
}

std::optional<SliceId> slice_from(const Store& store, RowId row, std::int64_t time) {
  const Row& data = store.rows()[row];
  if (data.kind != RowKind::slices || data.tracks == 0) {
    return std::nullopt;
  }
  const std::uint32_t place = store.first_ending_after(data.first_track, time);
  const Track& track = store.tracks()[data.first_track];
  return place < track.count ? std::optional(track.first + place) : std::nullopt;
}

std::optional<SliceId> next_by_length(const Store& store, CategorySet categories,
                                      std::optional<SliceId> from, bool shorter) {
  const std::span<const Slice> slices = store.slices();
  // Of equal ones the first is the longest.
  const auto length = [&store, &slices](SliceId id) {
    return std::pair(store.duration_of(slices[id]), ~id);
  };
  std::optional<SliceId> found;
  for (SliceId id = 0; id < slices.size(); ++id) {
    const bool beyond =
        from && (shorter ? length(id) >= length(*from) : length(id) <= length(*from));
    if ((set_of(slices[id].category()) & categories) == 0 || beyond) {
      continue;
    }
    const bool longest = shorter || !from;
    if (!found || (longest ? length(id) > length(*found) : length(id) < length(*found))) {
      found = id;
    }
  }
  return found;
}

}  // namespace orrery::timeline
