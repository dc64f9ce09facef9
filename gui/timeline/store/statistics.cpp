#include "gui/timeline/store/statistics.hpp"

#include <algorithm>
#include <cmath>
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
  all.least = *std::min_element(durations.begin(), durations.end());
  all.greatest = *std::max_element(durations.begin(), durations.end());
  std::erase_if(names, [](const NamedStatistics& one) { return one.count == 0; });
  for (const NamedStatistics& one : names) {
    all.total += one.total;
  }
  std::stable_sort(names.begin(), names.end(),
                   [](const auto& a, const auto& b) { return a.total > b.total; });
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
  if (std::find(matches.begin(), matches.end(), true) == matches.end()) {
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

}  // namespace orrery::timeline
