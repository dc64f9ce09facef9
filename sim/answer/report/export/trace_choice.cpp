#include "sim/answer/report/export/trace_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace orrery::report {

namespace {

constexpr std::int64_t kFirstGrain = 1024;  // ns
constexpr SliceId kGone = std::numeric_limits<SliceId>::max();

bool overlaps(const TraceSlice& slice, const TraceWindow& window) {
  const bool is_moment = slice.begin == slice.end;
  return slice.begin < window.to &&
         (is_moment ? slice.begin >= window.from : slice.end > window.from);
}

// Goes through slices in the order of drawing and says which of them stand alone and which become
// one. A group ends at a slice that is kept, at the end of an enclosing one, at another track; what
// begins within the group belongs to it, wherever its q ends.
class Grouping {
 public:
  explicit Grouping(std::int64_t grain) : grain_(grain) {}

  // True when the slice opens a slice of the result; false: it joins the one before.
  bool opens(const TraceSlice& slice) {
    if (slice.track != track_) {
      track_ = slice.track;
      enclosing_.clear();
      group_.reset();
    }
    while (!enclosing_.empty() && enclosing_.back() <= slice.begin) {
      enclosing_.pop_back();
      group_.reset();
    }
    if ((slice.end - slice.begin).ns >= grain_) {
      enclosing_.push_back(slice.end);
      group_.reset();
      return true;
    }
    const std::int64_t place = slice.begin.ns / grain_;
    const bool inside = group_ && slice.begin < group_end_;
    const bool opens = !inside && group_ != place;
    group_end_ = opens ? slice.end : std::max(group_end_, slice.end);
    group_ = inside ? group_ : place;
    return opens;
  }

 private:
  std::int64_t grain_;
  TrackId track_ = kNoTrack;
  std::vector<SimTime> enclosing_;  // ends of the slices that are kept and still run
  std::optional<std::int64_t> group_;
  SimTime group_end_;
};

std::size_t count_at(const std::vector<TraceSlice>& slices, std::int64_t grain) {
  Grouping grouping(grain);
  return static_cast<std::size_t>(std::ranges::count_if(
      slices, [&grouping](const TraceSlice& slice) { return grouping.opens(slice); }));
}

// The window alone; fills `place` with the new position of every slice.
Trace cut(const Trace& trace, const TraceWindow& window, std::vector<SliceId>& place) {
  Trace part;
  part.title = trace.title;
  part.names = trace.names;
  part.tracks = trace.tracks;
  part.arguments = trace.arguments;
  place.assign(trace.slices.size(), kGone);
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    if (overlaps(trace.slices[i], window)) {
      place[i] = static_cast<SliceId>(part.slices.size());
      part.slices.push_back(trace.slices[i]);
    }
  }
  for (const TraceMark& mark : trace.marks) {
    if (mark.at >= window.from && mark.at < window.to) {
      part.marks.push_back(mark);
    }
  }
  // A counter begins with the value that it has when the window opens.
  std::map<TrackId, TraceSample> before;
  for (const TraceSample& sample : trace.samples) {
    if (sample.at <= window.from) {
      before[sample.counter] = sample;
    }
  }
  for (const auto& [counter, sample] : before) {
    part.samples.push_back({std::max(sample.at, window.from), counter, sample.value});
  }
  for (const TraceSample& sample : trace.samples) {
    if (sample.at > window.from && sample.at < window.to) {
      part.samples.push_back(sample);
    }
  }
  return part;
}

// Flows between the slices that stay, by their new positions.
void keep_flows(const Trace& from, const std::vector<SliceId>& place, Trace& to) {
  for (const TraceFlow& flow : from.flows) {
    const auto first = static_cast<std::uint32_t>(to.flow_slices.size());
    for (const SliceId slice : from.slices_of(flow)) {
      if (place[slice] != kGone) {
        to.flow_slices.push_back(place[slice]);
      }
    }
    const auto count = static_cast<std::uint32_t>(to.flow_slices.size()) - first;
    if (count > 1) {
      to.flows.push_back({flow.name, first, count});
    } else {
      to.flow_slices.resize(first);
    }
  }
}

// The greatest sample of each counter in each grain, in order of time.
std::vector<TraceSample> thin_samples(const std::vector<TraceSample>& samples, std::int64_t grain) {
  std::map<TrackId, std::size_t> last;
  std::vector<TraceSample> thinned;
  for (const TraceSample& sample : samples) {
    const auto found = last.find(sample.counter);
    if (found != last.end() && thinned[found->second].at.ns / grain == sample.at.ns / grain) {
      TraceSample& kept = thinned[found->second];
      kept.value = std::max(kept.value, sample.value);
      continue;
    }
    last[sample.counter] = thinned.size();
    thinned.push_back(sample);
  }
  return thinned;
}

// Slices of `part` joined at this grain; fills `place` (kGone: merged with others).
std::vector<TraceSlice> join(Trace& part, std::int64_t grain, std::vector<SliceId>& place) {
  std::vector<TraceSlice> joined;
  std::vector<std::uint32_t> counts;
  std::vector<SliceId> owner(part.slices.size());
  Grouping grouping(grain);
  for (std::size_t i = 0; i < part.slices.size(); ++i) {
    const TraceSlice& slice = part.slices[i];
    if (grouping.opens(slice)) {
      joined.push_back(slice);
      counts.push_back(1);
    } else {
      joined.back().end = std::max(joined.back().end, slice.end);
      ++counts.back();
    }
    owner[i] = static_cast<SliceId>(joined.size() - 1);
  }
  std::unordered_map<std::uint32_t, NameId> names;
  for (std::size_t i = 0; i < joined.size(); ++i) {
    if (counts[i] > 1) {
      const auto [name, is_new] =
          names.try_emplace(counts[i], static_cast<NameId>(part.names.size()));
      if (is_new) {
        part.names.push_back(fmt::format("{} slices", counts[i]));
      }
      joined[i].name = name->second;
      joined[i].arguments = 0;
    }
  }
  place.resize(owner.size());
  for (std::size_t i = 0; i < owner.size(); ++i) {
    place[i] = counts[owner[i]] > 1 ? kGone : owner[i];
  }
  return joined;
}

}  // namespace

ChosenTrace choose_trace(const Trace& trace, const TraceWindow& window, std::size_t most) {
  std::vector<SliceId> place;
  ChosenTrace chosen;
  chosen.trace = cut(trace, window, place);
  keep_flows(trace, place, chosen.trace);
  chosen.outside = trace.slices.size() - chosen.trace.slices.size();
  if (most == 0 || chosen.trace.slices.size() <= most) {
    return chosen;
  }
  std::int64_t grain = kFirstGrain;
  constexpr std::int64_t kCoarsest = std::int64_t{1} << 61;
  while (grain < kCoarsest && count_at(chosen.trace.slices, grain) > most) {
    grain *= 2;
  }
  const std::size_t before = chosen.trace.slices.size();
  std::vector<TraceSlice> joined = join(chosen.trace, grain, place);
  Trace coarse = chosen.trace;
  coarse.flows.clear();
  coarse.flow_slices.clear();
  keep_flows(chosen.trace, place, coarse);
  coarse.slices = std::move(joined);
  coarse.samples = thin_samples(coarse.samples, grain);
  chosen.merged = before - coarse.slices.size();
  chosen.finest = {grain};
  chosen.trace = std::move(coarse);
  return chosen;
}

}  // namespace orrery::report
