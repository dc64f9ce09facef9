#include "gui/timeline/finding.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "gui/timeline/store/statistics.hpp"

namespace orrery::timeline {

namespace {

// Of the slices found: the first in time after one, else the first.
SliceId next_in_time(const Store& store,
                     const std::vector<SliceId>& found,
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

std::optional<Finding> find_in_levels(const Levels& levels,
                                      const FindRequest& request,
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
    const SearchResult result = search(store, request.text, store.slices().size(), stop);
    if (stop.stop_requested()) {
      return std::nullopt;
    }
    if (!result.slices.empty()) {
      const auto after = level == request.level ? request.after : std::nullopt;
      const SliceId next = next_in_time(store, result.slices, after);
      return Finding{level, next, result.found, place_in_time(store, result.slices, next)};
    }
  }
  return std::nullopt;
}

}  // namespace orrery::timeline
