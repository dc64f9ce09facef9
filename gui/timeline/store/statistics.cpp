#include "gui/timeline/store/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/base/text/text.hpp"

namespace orrery::timeline {

namespace {

struct Group {
  Category category = Category::none;
  std::int64_t total = 0;
  std::vector<std::int64_t> durations;
};

std::int64_t nearest_rank(std::vector<std::int64_t>& durations, double quantile) {
  const double rank = std::ceil(quantile * static_cast<double>(durations.size()));
  const auto index = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(durations.begin(), durations.begin() + index, durations.end());
  return durations[static_cast<std::size_t>(index)];
}

DurationStatistics statistics_of(Group& group) {
  DurationStatistics out;
  out.count = group.durations.size();
  if (out.count == 0) {
    return out;
  }
  out.total = group.total;
  double sum = 0.0;
  for (const std::int64_t duration : group.durations) {
    sum += static_cast<double>(duration);
  }
  out.mean = sum / static_cast<double>(out.count);
  const auto [least, greatest] =
      std::minmax_element(group.durations.begin(), group.durations.end());
  out.least = *least;
  out.greatest = *greatest;
  out.p50 = nearest_rank(group.durations, 0.5);
  out.p99 = nearest_rank(group.durations, 0.99);
  return out;
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

template <typename Key>
std::vector<NamedStatistics> sorted_statistics(std::map<Key, Group>& groups, bool names) {
  std::vector<NamedStatistics> rows;
  for (auto& [key, group] : groups) {
    const NameId name = names ? static_cast<NameId>(key) : 0;
    rows.push_back({name, group.category, statistics_of(group)});
  }
  std::stable_sort(
      rows.begin(), rows.end(), [](const NamedStatistics& a, const NamedStatistics& b) {
        return a.durations.total > b.durations.total;
      });
  return rows;
}

}  // namespace

std::optional<AreaStatistics> area_statistics(const Store& store,
                                              const Area& area,
                                              std::stop_token stop) {
  std::map<NameId, Group> by_name;
  std::map<std::uint8_t, Group> by_category;
  Group all;
  for (const TrackId track : tracks_of(store, area.rows)) {
    if (stop.stop_requested()) {
      return std::nullopt;
    }
    const std::span<const Slice> slices = store.slices_of(track);
    for (std::size_t i = store.first_ending_after(track, area.range.begin);
         i < slices.size() && slices[i].begin() < area.range.end;
         ++i) {
      const Slice& slice = slices[i];
      const std::int64_t duration = store.duration_of(slice);
      const std::int64_t part = std::min(slice.begin() + duration, area.range.end) -
                                std::max(slice.begin(), area.range.begin);
      const auto category = static_cast<std::uint8_t>(slice.category());
      for (Group* group : {&by_name[slice.name()], &by_category[category], &all}) {
        group->category = slice.category();
        group->total += std::max<std::int64_t>(part, 0);
        group->durations.push_back(duration);
      }
    }
  }
  AreaStatistics result;
  result.by_name = sorted_statistics(by_name, true);
  result.by_category = sorted_statistics(by_category, false);
  result.all = statistics_of(all);
  return stop.stop_requested() ? std::nullopt : std::optional(std::move(result));
}

SearchResult search(const Store& store,
                    std::string_view text,
                    std::size_t most,
                    std::stop_token stop) {
  SearchResult result;
  if (text.empty()) {
    return result;
  }
  const std::string wanted = lower_case(text);
  std::vector<bool> matches;
  matches.reserve(store.names().size());
  for (const std::string& name : store.names()) {
    matches.push_back(lower_case(name).find(wanted) != std::string::npos);
  }
  if (std::find(matches.begin(), matches.end(), true) == matches.end()) {
    return result;
  }
  constexpr std::size_t kLookEvery = std::size_t{1} << 16U;
  const std::span<const Slice> slices = store.slices();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (i % kLookEvery == 0 && stop.stop_requested()) {
      break;
    }
    if (matches[slices[i].name()]) {
      ++result.found;
      if (result.slices.size() < most) {
        result.slices.push_back(static_cast<SliceId>(i));
      }
    }
  }
  return result;
}

}  // namespace orrery::timeline
