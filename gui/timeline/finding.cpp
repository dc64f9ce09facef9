#include "gui/timeline/finding.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "sim/base/text/text.hpp"

namespace orrery::timeline {

namespace {

std::int64_t nearest_rank(std::vector<std::int64_t>& durations, double quantile) {
  const double rank = std::ceil(quantile * static_cast<double>(durations.size()));
  const auto index = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(durations.begin(), durations.begin() + index, durations.end());
  return durations[static_cast<std::size_t>(index)];
}

// Tracks of the rows, each once, in order.
std::vector<TrackId> tracks_of(const Store& store, const std::vector<RowId>& rows) {
  std::vector<bool> wanted(store.tracks().size(), rows.empty());
  for (const RowId row : rows) {
    const Row& data = store.rows()[row];
    for (TrackId track = data.first_track; track < data.first_track + data.tracks; ++track) {
      wanted[track] = true;
    }
  }
  std::vector<TrackId> tracks;
  for (TrackId track = 0; track < wanted.size(); ++track) {
    if (wanted[track]) {
      tracks.push_back(track);
    }
  }
  return tracks;
}

}  // namespace

AreaStatistics area_statistics(const Store& store, const Area& area) {
  AreaStatistics all;
  std::vector<std::int64_t> durations;
  std::vector<NamedStatistics> names(store.names().size());
  for (const TrackId track : tracks_of(store, area.rows)) {
    const std::span<const Slice> slices = store.slices_of(track);
    for (std::size_t i = store.first_ending_after(track, area.range.begin);
         i < slices.size() && slices[i].begin() < area.range.end; ++i) {
      const Slice& slice = slices[i];
      const std::int64_t part =
          std::min(store.end_of(slice), area.range.end) - std::max(slice.begin(), area.range.begin);
      durations.push_back(store.duration_of(slice));
      all.mean += static_cast<double>(durations.back());
      NamedStatistics& named = names[slice.name()];
      named.name = slice.name();
      ++named.count;
      named.total += std::max<std::int64_t>(part, 0);
    }
  }
  all.count = durations.size();
  if (durations.empty()) {
    return all;
  }
  all.mean /= static_cast<double>(all.count);
  all.p50 = nearest_rank(durations, 0.5);
  all.p99 = nearest_rank(durations, 0.99);
  all.least = *std::ranges::min_element(durations);
  all.greatest = *std::ranges::max_element(durations);
  std::erase_if(names, [](const NamedStatistics& one) { return one.count == 0; });
  for (const NamedStatistics& one : names) {
    all.total += one.total;
  }
  std::ranges::stable_sort(names, std::greater{}, &NamedStatistics::total);
  all.by_name = std::move(names);
  return all;
}

std::vector<SliceId> search(const Store& store, std::string_view text, std::stop_token stop) {
  std::vector<SliceId> found;
  if (text.empty()) {
    return found;
  }
  const std::string wanted = lower_case(text);
  std::vector<bool> matches;
  matches.reserve(store.names().size());
  for (const std::string& name : store.names()) {
    matches.push_back(lower_case(name).find(wanted) != std::string::npos);
  }
  if (std::ranges::find(matches, true) == matches.end()) {
    return found;
  }
  constexpr std::size_t kLookEvery = std::size_t{1} << 16U;
  const std::span<const Slice> slices = store.slices();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (i % kLookEvery == 0 && stop.stop_requested()) {
      break;
    }
    if (matches[slices[i].name()]) {
      found.push_back(static_cast<SliceId>(i));
    }
  }
  return found;
}

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
      // The first in time after the one that is selected, else the first.
      const auto key = [&store](SliceId id) { return std::pair(store.slices()[id].begin(), id); };
      std::vector<SliceId> later = found;
      std::erase_if(later, [&](SliceId id) {
        return level == request.level && request.after && key(id) <= key(*request.after);
      });
      const SliceId next = std::ranges::min(later.empty() ? found : later, {}, key);
      const auto place =
          std::ranges::count_if(found, [&](SliceId id) { return key(id) <= key(next); });
      return Finding{level, next, found.size(), static_cast<std::uint64_t>(place)};
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
