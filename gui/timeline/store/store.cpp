#include "gui/timeline/store/store.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/text/format.hpp"

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
  const auto after = std::ranges::upper_bound(tracks_, slice, {}, &Track::first);
  return static_cast<TrackId>(after - tracks_.begin()) - 1;
}

// Begins where the slice would be if all were equally long, and doubles the steps from there: few
// cache lines are touched in place of one per halving.
std::size_t Store::guess_at(std::size_t count, std::int64_t time) const {
  const double share = static_cast<double>(time - range_.begin) /
                       static_cast<double>(std::max<std::int64_t>(range_.length(), 1));
  return static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(count - 1));
}

void Store::fetch_ahead(TrackId track, std::int64_t time) const {
  constexpr std::size_t kBefore = 16;
  constexpr std::size_t kBehind = 32;
  constexpr std::size_t kPerLine = 4;
  const std::span<const Slice> slices = slices_of(track);
  const std::size_t guess = slices.empty() ? 0 : guess_at(slices.size(), time);
  for (std::size_t i = guess - std::min(guess, kBefore);
       i < std::min(guess + kBehind, slices.size()); i += kPerLine) {
    __builtin_prefetch(&slices[i]);
  }
}

std::uint32_t Store::first_ending_after(TrackId track, std::int64_t time) const {
  const std::span<const Slice> slices = slices_of(track);
  const std::size_t count = slices.size();
  if (count == 0) {
    return 0;
  }
  const auto has_ended = [&](std::size_t i) { return end_of(slices[i]) <= time; };
  const std::size_t guess = guess_at(count, time);
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

namespace {

constexpr std::size_t kBlock = 64;

void widen(Extremes& all, Extremes other) {
  all.least = std::min(all.least, other.least);
  all.greatest = std::max(all.greatest, other.greatest);
}

Extremes point(double value) { return {value, value}; }

void keep_last_of_each_time(std::vector<Sample>& samples) {
  std::ranges::stable_sort(samples, {}, &Sample::time);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (kept > 0 && samples[kept - 1].time == samples[i].time) {
      --kept;
    }
    samples[kept++] = samples[i];
  }
  samples.resize(kept);
}

}  // namespace

std::string Counter::text(double value) const {
  constexpr double kWhole = 1000.0;  // from here on digits after the point say nothing
  const std::string number =
      std::abs(value) < kWhole ? format_count(value) : format_integer(std::llround(value));
  return unit_.starts_with('$')             ? "$" + number + unit_.substr(1)
         : unit_.starts_with('%')           ? number + unit_
         : value == 1.0 && unit_ == "nodes" ? number + " node"
                                            : number + " " + unit_;
}

Counter::Counter(std::string name, std::string unit, std::vector<Sample> samples, double limit)
    : name_(std::move(name)), unit_(std::move(unit)), samples_(std::move(samples)), limit_(limit) {
  keep_last_of_each_time(samples_);
  std::vector<Extremes> level;
  for (const Sample& sample : samples_) {
    level.push_back(point(sample.value));
  }
  while (level.size() > 1 || (levels_.empty() && !level.empty())) {
    std::vector<Extremes> next;
    for (std::size_t i = 0; i < level.size(); i += kBlock) {
      Extremes& block = next.emplace_back(level[i]);
      for (std::size_t j = i; j < std::min(i + kBlock, level.size()); ++j) {
        widen(block, level[j]);
      }
    }
    levels_.push_back(next);
    level = std::move(next);
  }
  if (!samples_.empty()) {
    all_ = levels_.back().front();
  }
}

std::optional<double> Counter::value_at(std::int64_t time) const {
  const auto after = std::ranges::upper_bound(samples_, time, {}, &Sample::time);
  if (after == samples_.begin()) {
    return std::nullopt;
  }
  return std::prev(after)->value;
}

// Whole blocks of the highest level that fit, single samples at the ends.
Extremes Counter::of_samples(std::size_t first, std::size_t last) const {
  Extremes all = point(samples_[first].value);
  while (first < last) {
    std::size_t level = 0;
    std::size_t size = 1;
    while (level < levels_.size() && first % (size * kBlock) == 0 &&
           first + size * kBlock <= last) {
      size *= kBlock;
      ++level;
    }
    widen(all, level == 0 ? point(samples_[first].value) : levels_[level - 1][first / size]);
    first += size;
  }
  return all;
}

std::optional<Extremes> Counter::within(std::int64_t begin, std::int64_t end) const {
  const auto by_time = [](const Sample& sample, std::int64_t at) { return sample.time < at; };
  const auto first_after = std::ranges::upper_bound(samples_, begin, {}, &Sample::time);
  const auto last = std::lower_bound(first_after, samples_.end(), end, by_time);
  const std::size_t from = static_cast<std::size_t>(first_after - samples_.begin());
  const std::size_t to = static_cast<std::size_t>(last - samples_.begin());
  const std::size_t first = from == 0 ? 0 : from - 1;
  if (first >= to) {
    return std::nullopt;
  }
  return of_samples(first, to);
}

std::size_t Counter::bytes() const {
  std::size_t sum = samples_.size() * sizeof(Sample);
  for (const std::vector<Extremes>& level : levels_) {
    sum += level.size() * sizeof(Extremes);
  }
  return sum;
}

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
