#pragma once

// The common description of a trace, from which every writer works: Chrome JSON, Perfetto and JSON
// Lines.
//
//   process > thread > (thread below a thread ...)     counters belong to a process or thread
//
// part    | meaning                                                        | time
// --------|----------------------------------------------------------------|---------------------
// slice   | something that lasts on one thread; slices of one thread are   | begin, end
//         | nested or disjoint, never partly overlapping                   |
// mark    | something that happens at a moment                             | at
// sample  | value of a counter from a moment until its next sample         | at
// flow    | slices in the order in which one causes the next               | theirs
//
// Words are interned: a name that occurs a million times is kept once. Times are exact nanoseconds.
// The builder takes parts in any order; build() puts slices in the order of drawing: by track,
// begin, the longer one first, so that what encloses comes before what it encloses.

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/base/sim_time.hpp"

namespace orrery::report {

using TrackId = std::uint32_t;
using NameId = std::uint32_t;
using SliceId = std::uint32_t;

inline constexpr TrackId kNoTrack = std::numeric_limits<TrackId>::max();

struct TraceTrack {
  enum class Kind : std::uint8_t { process, thread, counter };

  Kind kind = Kind::process;
  std::string name = {};
  TrackId parent = kNoTrack;
  std::int64_t number = 0;  // of the process in the trace, or of the thread in its process
  std::string unit = {};    // of a counter: "bytes", "$/h"
};

struct TraceSlice {
  SimTime begin = {};
  SimTime end = {};
  TrackId track = kNoTrack;
  NameId name = 0;
  NameId category = 0;
  std::uint32_t first_argument = 0;
  std::uint32_t arguments = 0;
};

// A whole number, or a word.
struct TraceArgument {
  NameId key = 0;
  bool is_word = false;
  std::int64_t value = 0;  // of a word: its NameId
};

struct TraceMark {
  SimTime at = {};
  TrackId track = kNoTrack;
  NameId name = 0;
  std::uint32_t first_argument = 0;
  std::uint32_t arguments = 0;
};

struct TraceSample {
  SimTime at = {};
  TrackId counter = kNoTrack;
  double value = 0.0;
};

struct TraceFlow {
  NameId name = 0;
  std::uint32_t first = 0;  // into Trace::flow_slices
  std::uint32_t count = 0;
};

struct Trace {
  std::string title = {};
  std::vector<std::string> names = {};
  std::vector<TraceTrack> tracks = {};
  std::vector<TraceSlice> slices = {};
  std::vector<TraceArgument> arguments = {};
  std::vector<TraceMark> marks = {};
  std::vector<TraceSample> samples = {};  // of one counter in order of time
  std::vector<TraceFlow> flows = {};
  std::vector<SliceId> flow_slices = {};

  [[nodiscard]] const std::string& name(NameId id) const { return names[id]; }

  // Of a slice or mark.
  [[nodiscard]] std::span<const TraceArgument> arguments_of(const auto& part) const {
    return std::span(arguments).subspan(part.first_argument, part.arguments);
  }

  [[nodiscard]] std::span<const SliceId> slices_of(const TraceFlow& flow) const {
    return std::span(flow_slices).subspan(flow.first, flow.count);
  }

  // The process that a track belongs to; itself when it is one.
  [[nodiscard]] TrackId process_of(TrackId track) const;

  // "pipeline device 0/compute"
  [[nodiscard]] std::string path_of(TrackId track) const;
};

// Part of a flow: which one, and at which of its slices.
struct FlowStep {
  std::uint32_t flow = 0;
  std::uint32_t step = 0;
  bool last = false;
};

// The flows that touch each slice: steps[first[i]] ... steps[first[i + 1] - 1] are those of slice
// i.
struct FlowsBySlice {
  std::vector<std::uint32_t> first = {};
  std::vector<FlowStep> steps = {};

  [[nodiscard]] std::span<const FlowStep> of(SliceId slice) const {
    return std::span(steps).subspan(first[slice], first[slice + 1] - first[slice]);
  }
};

[[nodiscard]] FlowsBySlice flows_by_slice(const Trace& trace);

// What a slice is, without where it stands.
struct NewSlice {
  TrackId track = kNoTrack;
  SimTime begin = {};
  SimTime end = {};
  std::string_view name;
  std::string_view category;
};

class TraceBuilder {
 public:
  explicit TraceBuilder(std::string title);

  TrackId process(std::string name);
  // Threads are shown in the order of their number; it is unique within a process.
  TrackId thread(TrackId parent, std::string name, std::int64_t number);
  TrackId counter(TrackId parent, std::string name, std::string unit);

  SliceId slice(const NewSlice& slice);

  // Of the slice or mark that was added last.
  void argument(std::string_view key, std::int64_t value);
  void argument(std::string_view key, std::string_view word);

  void mark(TrackId track, SimTime at, std::string_view name);
  void sample(TrackId counter, SimTime at, double value);

  // At least two slices, in the order of their begin.
  void flow(std::string_view name, std::span<const SliceId> slices);

  [[nodiscard]] Trace build() &&;

 private:
  struct TextHash {
    using is_transparent = void;

    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  NameId intern(std::string_view name);

  [[nodiscard]] std::uint32_t next_argument() const {
    return static_cast<std::uint32_t>(trace_.arguments.size());
  }

  void add_argument(TraceArgument argument);

  Trace trace_;
  std::unordered_map<std::string, NameId, TextHash, std::equal_to<>> names_;
  std::int64_t processes_ = 0;
  bool marks_ = false;  // what was added last is a mark
};

}  // namespace orrery::report
