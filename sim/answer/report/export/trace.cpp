#include "sim/answer/report/export/trace.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/base/check.hpp"

namespace orrery::report {

TrackId Trace::process_of(TrackId track) const {
  while (tracks[track].parent != kNoTrack) {
    track = tracks[track].parent;
  }
  return track;
}

std::string Trace::path_of(TrackId track) const {
  std::string path = tracks[track].name;
  for (TrackId up = tracks[track].parent; up != kNoTrack; up = tracks[up].parent) {
    path.insert(0, tracks[up].name + "/");
  }
  return path;
}

FlowsBySlice flows_by_slice(const Trace& trace) {
  FlowsBySlice found;
  found.first.assign(trace.slices.size() + 1, 0);
  for (const SliceId slice : trace.flow_slices) {
    ++found.first[slice + 1];
  }
  std::partial_sum(found.first.begin(), found.first.end(), found.first.begin());
  found.steps.resize(trace.flow_slices.size());
  std::vector<std::uint32_t> next(found.first.begin(), found.first.end() - 1);
  for (std::size_t flow = 0; flow < trace.flows.size(); ++flow) {
    const std::span<const SliceId> slices = trace.slices_of(trace.flows[flow]);
    for (std::size_t step = 0; step < slices.size(); ++step) {
      found.steps[next[slices[step]]++] = {.flow = static_cast<std::uint32_t>(flow),
                                           .step = static_cast<std::uint32_t>(step),
                                           .last = step + 1 == slices.size()};
    }
  }
  return found;
}

TraceBuilder::TraceBuilder(std::string title) {
  trace_.title = std::move(title);
  intern({});
}

NameId TraceBuilder::intern(std::string_view name) {
  const auto found = names_.find(name);
  if (found != names_.end()) {
    return found->second;
  }
  const auto id = static_cast<NameId>(trace_.names.size());
  trace_.names.emplace_back(name);
  names_.emplace(name, id);
  return id;
}

TrackId TraceBuilder::process(std::string name) {
  trace_.tracks.push_back({.kind = TraceTrack::Kind::process,
                           .name = std::move(name),
                           .parent = kNoTrack,
                           .number = processes_++,
                           .unit = {}});
  return static_cast<TrackId>(trace_.tracks.size() - 1);
}

TrackId TraceBuilder::thread(TrackId parent, std::string name, std::int64_t number) {
  trace_.tracks.push_back({.kind = TraceTrack::Kind::thread,
                           .name = std::move(name),
                           .parent = parent,
                           .number = number,
                           .unit = {}});
  return static_cast<TrackId>(trace_.tracks.size() - 1);
}

TrackId TraceBuilder::counter(TrackId parent, std::string name, std::string unit) {
  trace_.tracks.push_back({.kind = TraceTrack::Kind::counter,
                           .name = std::move(name),
                           .parent = parent,
                           .number = 0,
                           .unit = std::move(unit)});
  return static_cast<TrackId>(trace_.tracks.size() - 1);
}

SliceId TraceBuilder::slice(const NewSlice& slice) {
  trace_.slices.push_back({.begin = slice.begin,
                           .end = slice.end,
                           .track = slice.track,
                           .name = intern(slice.name),
                           .category = intern(slice.category),
                           .first_argument = next_argument()});
  marks_ = false;
  return static_cast<SliceId>(trace_.slices.size() - 1);
}

void TraceBuilder::add_argument(TraceArgument argument) {
  trace_.arguments.push_back(argument);
  ++(marks_ ? trace_.marks.back().arguments : trace_.slices.back().arguments);
}

void TraceBuilder::argument(std::string_view key, std::int64_t value) {
  add_argument({.key = intern(key), .is_word = false, .value = value});
}

void TraceBuilder::argument(std::string_view key, std::string_view word) {
  add_argument({.key = intern(key), .is_word = true, .value = intern(word)});
}

void TraceBuilder::mark(TrackId track, SimTime at, std::string_view name) {
  trace_.marks.push_back({at, track, intern(name), next_argument()});
  marks_ = true;
}

void TraceBuilder::sample(TrackId counter, SimTime at, double value) {
  trace_.samples.push_back({at, counter, value});
}

void TraceBuilder::flow(std::string_view name, std::span<const SliceId> slices) {
  ORRERY_CHECK(slices.size() > 1, "a flow of {} slices leads nowhere", slices.size());
  trace_.flows.push_back({.name = intern(name),
                          .first = static_cast<std::uint32_t>(trace_.flow_slices.size()),
                          .count = static_cast<std::uint32_t>(slices.size())});
  trace_.flow_slices.insert(trace_.flow_slices.end(), slices.begin(), slices.end());
}

Trace TraceBuilder::build() && {
  std::vector<SliceId> order(trace_.slices.size());
  std::iota(order.begin(), order.end(), SliceId{0});
  const auto key = [this](SliceId id) {
    const TraceSlice& slice = trace_.slices[id];
    return std::tuple(slice.track, slice.begin, SimTime{} - slice.end, id);
  };
  std::ranges::sort(order, [&](SliceId a, SliceId b) { return key(a) < key(b); });
  std::vector<TraceSlice> sorted;
  sorted.reserve(order.size());
  std::vector<SliceId> place(order.size());
  for (const SliceId id : order) {
    place[id] = static_cast<SliceId>(sorted.size());
    sorted.push_back(trace_.slices[id]);
  }
  trace_.slices = std::move(sorted);
  for (SliceId& id : trace_.flow_slices) {
    id = place[id];
  }
  const auto by_time = [](const auto& a, const auto& b) { return a.at < b.at; };
  std::ranges::stable_sort(trace_.marks, by_time);
  std::ranges::stable_sort(trace_.samples, by_time);
  return std::move(trace_);
}

}  // namespace orrery::report
