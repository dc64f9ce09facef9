#include "gui/timeline/store/store.hpp"

#include <algorithm>
#include <array>

namespace orrery::timeline {

std::string_view to_string(MarkKind kind) {
  constexpr std::array<std::string_view, kMarkKinds> kNames = {"failure", "checkpoint", "restart",
                                                               "event"};
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
      std::upper_bound(tracks_.begin(), tracks_.end(), slice,
                       [](SliceId id, const Track& track) { return id < track.first; });
  return static_cast<TrackId>(after - tracks_.begin()) - 1;
}

// Begins where the slice would be if all were equally long, and doubles the steps from there: few
// cache lines are touched in place of one per halving.
std::uint32_t Store::first_ending_after(TrackId track, std::int64_t time) const {
  const std::span<const Slice> slices = slices_of(track);
  const std::size_t count = slices.size();
  if (count == 0) {
    return 0;
  }
  const auto has_ended = [&](std::size_t i) { return end_of(slices[i]) <= time; };
  const double share = static_cast<double>(time - range_.begin) /
                       static_cast<double>(std::max<std::int64_t>(range_.length(), 1));
  const double inside = std::clamp(share, 0.0, 1.0) * static_cast<double>(count - 1);
  const auto guess = static_cast<std::size_t>(inside);
  std::size_t low = 0;       // all before it have ended
  std::size_t high = count;  // it has not
  std::size_t step = 4;
  if (has_ended(guess)) {
    low = guess + 1;
    while (low + step < count && has_ended(low + step)) {
      low += step + 1;
      step *= 2;
    }
    high = std::min(low + step, count);
  } else {
    high = guess;
    while (high > step && !has_ended(high - step)) {
      high -= step;
      step *= 2;
    }
    low = high > step ? high - step + 1 : 0;
  }
  const auto first = slices.begin() + static_cast<std::ptrdiff_t>(low);
  const auto last = slices.begin() + static_cast<std::ptrdiff_t>(high);
  const auto it = std::partition_point(
      first, last, [this, time](const Slice& slice) { return end_of(slice) <= time; });
  return static_cast<std::uint32_t>(it - slices.begin());
}

std::size_t Store::bytes() const {
  return slices_.size() * sizeof(Slice) + tracks_.size() * sizeof(Track) +
         long_durations_.size() * sizeof(std::int64_t) + flows_.size() * sizeof(Flow) +
         pyramid_.bytes();
}

}  // namespace orrery::timeline
