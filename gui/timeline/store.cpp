#include "gui/timeline/store.hpp"

#include <algorithm>
#include <array>

namespace orrery::timeline {

std::string_view to_string(MarkKind kind) {
  constexpr std::array<std::string_view, kMarkKinds> kNames = {
      "failure", "checkpoint", "restart", "event"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Flow> Store::flows_of(SliceId slice) const {
  std::vector<Flow> found;
  for (const Flow& flow : flows_) {
    if (flow.from == slice || flow.to == slice) {
      found.push_back(flow);
    }
  }
  return found;
}

TrackId Store::track_of(SliceId slice) const {
  const auto after =
      std::upper_bound(tracks_.begin(), tracks_.end(), slice, [](SliceId id, const Track& track) {
        return id < track.first;
      });
  return static_cast<TrackId>(after - tracks_.begin()) - 1;
}

std::uint32_t Store::first_ending_after(TrackId track, std::int64_t time) const {
  const std::span<const Slice> slices = slices_of(track);
  const auto it =
      std::partition_point(slices.begin(), slices.end(), [this, time](const Slice& slice) {
        return end_of(slice) <= time;
      });
  return static_cast<std::uint32_t>(it - slices.begin());
}

std::size_t Store::bytes() const {
  return slices_.size() * sizeof(Slice) + tracks_.size() * sizeof(Track) +
         long_durations_.size() * sizeof(std::int64_t) + flows_.size() * sizeof(Flow) +
         pyramid_.bytes();
}

}  // namespace orrery::timeline
