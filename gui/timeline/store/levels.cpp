#include "gui/timeline/store/levels.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace orrery::timeline {

Repetition::Repetition(std::vector<Stretch> stretches, std::int64_t period)
    : stretches_(std::move(stretches)), period_(period) {
  ORRERY_CHECK(period >= 1, "a timeline cannot repeat every {} ns", period);
  std::erase_if(stretches_, [](const Stretch& stretch) { return stretch.range.length() <= 0; });
}

Occurrence Repetition::in_stretch(const Stretch& stretch, std::int64_t time) const {
  const std::int64_t n = (time - stretch.range.begin) / period_;
  const std::int64_t begin = stretch.range.begin + n * period_;
  return {{begin, std::min(begin + period_, stretch.range.end)}, stretch.first_number + n};
}

std::optional<Occurrence> Repetition::at(std::int64_t time) const {
  const auto after = std::upper_bound(
      stretches_.begin(), stretches_.end(), time,
      [](std::int64_t t, const Stretch& stretch) { return t < stretch.range.begin; });
  if (after == stretches_.begin() || !std::prev(after)->range.contains(time)) {
    return std::nullopt;
  }
  return in_stretch(*std::prev(after), time);
}

std::optional<Occurrence> Repetition::nearest(std::int64_t time) const {
  if (stretches_.empty()) {
    return std::nullopt;
  }
  if (const std::optional<Occurrence> here = at(time)) {
    return here;
  }
  const auto after = std::upper_bound(
      stretches_.begin(), stretches_.end(), time,
      [](std::int64_t t, const Stretch& stretch) { return t < stretch.range.begin; });
  if (after == stretches_.begin()) {
    return in_stretch(*after, after->range.begin);
  }
  const Stretch& before = *std::prev(after);
  if (after != stretches_.end() && after->range.begin - time < time - before.range.end) {
    return in_stretch(*after, after->range.begin);
  }
  return in_stretch(before, before.range.end - 1);
}

std::vector<Occurrence> Repetition::within(TimeRange range, std::size_t most) const {
  std::vector<Occurrence> found;
  auto stretch = std::partition_point(
      stretches_.begin(), stretches_.end(),
      [&range](const Stretch& candidate) { return candidate.range.end <= range.begin; });
  for (; stretch != stretches_.end() && stretch->range.begin < range.end; ++stretch) {
    std::int64_t time = std::max(stretch->range.begin, range.begin);
    while (time < std::min(stretch->range.end, range.end)) {
      if (found.size() == most) {
        return found;
      }
      found.push_back(in_stretch(*stretch, time));
      time = found.back().range.end;
    }
  }
  return found;
}

}  // namespace orrery::timeline
