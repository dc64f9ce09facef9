#pragma once

// The contents of a timeline: slices in rows, counters, marks and flows; immutable once built, so
// that any thread may read it.
//
// Time is int64 nanoseconds from the origin of the store. A store is built once (StoreBuilder) and
// takes at most 24 bytes per slice with all indexes when it has a million slices or more.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/timeline/store/pyramid.hpp"

namespace orrery::timeline {

// A counter: a step function of time, with an index of least and greatest values over any stretch
// of time.
//
//   value(t) = value of the latest sample at or before t
//
// A query of any width costs O(64 log_64 n) and skips no sample: a peak of one sample stays
// visible.

struct Sample {
  std::int64_t time = 0;
  double value = 0.0;
};

struct Extremes {
  double least = 0.0;
  double greatest = 0.0;
};

class Counter {
 public:
  Counter() = default;

  // Samples are sorted by time; of several at one time the last one counts. `limit`: what it can be
  // at most, drawn as a line; 0: nothing is known.
  Counter(std::string name, std::string unit, std::vector<Sample> samples, double limit = 0.0);

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] const std::string& unit() const { return unit_; }

  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }

  [[nodiscard]] double limit() const { return limit_; }

  // Of all samples; 0 without samples.
  [[nodiscard]] Extremes extremes() const { return all_; }

  // A value with its unit: "21 nodes", "$41,600/h".
  [[nodiscard]] std::string text(double value) const;

  // Nothing before the first sample.
  [[nodiscard]] std::optional<double> value_at(std::int64_t time) const;

  // Of the values taken in [begin, end); nothing when all of it lies before the first sample.
  [[nodiscard]] std::optional<Extremes> within(std::int64_t begin, std::int64_t end) const;

  [[nodiscard]] std::size_t bytes() const;

 private:
  [[nodiscard]] Extremes of_samples(std::size_t first, std::size_t last) const;

  std::string name_;
  std::string unit_;
  std::vector<Sample> samples_;
  std::vector<std::vector<Extremes>> levels_;
  Extremes all_;
  double limit_ = 0.0;
};

using RowId = std::uint32_t;
using TrackId = std::uint32_t;
using SliceId = std::uint32_t;
using NameId = std::uint32_t;

inline constexpr RowId kNoRow = UINT32_MAX;

enum class RowKind : std::uint8_t { group, slices, counter };

struct Row {
  std::string name;
  RowKind kind = RowKind::slices;
  RowId parent = kNoRow;
  std::uint32_t depth = 0;
  RowId end = 0;  // one past the last row below this one: a row's subtree is [row, end)
  TrackId first_track = 0;
  std::uint32_t tracks = 0;   // of a group: of all rows below it
  std::uint32_t counter = 0;  // of a counter row: index into counters()
  std::uint32_t ranks = 0;    // of a group: 1 + index into the lists of ranks; 0: it has none
  bool closed = false;        // of a group: shown on one line until somebody opens it
  bool led = false;           // of a group: closed, it shows its first row alone
  bool mean = false;          // of a group with ranks: shows their mean, no rank has rows
};

enum class MarkKind : std::uint8_t { failure, checkpoint, restart, other, count_ };

inline constexpr std::size_t kMarkKinds = static_cast<std::size_t>(MarkKind::count_);

[[nodiscard]] std::string_view to_string(MarkKind kind);

struct Mark {
  std::int64_t time = 0;
  NameId name = 0;
  MarkKind kind = MarkKind::other;
};

enum class FlowKind : std::uint8_t { message, collective, other };

struct Flow {
  SliceId from = 0;
  SliceId to = 0;
  FlowKind kind = FlowKind::message;
};

class Store {
 public:
  [[nodiscard]] std::span<const Row> rows() const { return rows_; }

  [[nodiscard]] std::span<const Track> tracks() const { return tracks_; }

  [[nodiscard]] std::span<const Slice> slices() const { return slices_; }

  [[nodiscard]] std::span<const Slice> slices_of(TrackId track) const {
    return std::span(slices_).subspan(tracks_[track].first, tracks_[track].count);
  }

  [[nodiscard]] const std::vector<Counter>& counters() const { return counters_; }

  // The ranks that a group stands for, which are alike and share its rows; empty for most.
  [[nodiscard]] std::span<const std::int32_t> ranks_of(RowId group) const {
    const std::uint32_t list = rows_[group].ranks;
    return list == 0 ? std::span<const std::int32_t>() : std::span(ranks_[list - 1]);
  }

  [[nodiscard]] std::span<const Mark> marks() const { return marks_; }

  // Sorted by source.
  [[nodiscard]] std::span<const Flow> flows() const { return flows_; }

  [[nodiscard]] std::vector<Flow> flows_of(SliceId slice) const;

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  [[nodiscard]] const std::string& name_of(const Slice& slice) const {
    return names_[slice.name()];
  }

  // What there is to say about slices of this name, lines apart; empty for most.
  [[nodiscard]] std::string_view note_of(const Slice& slice) const {
    return slice.name() < notes_.size() ? std::string_view(notes_[slice.name()])
                                        : std::string_view();
  }

  // Of what was measured: 0 for instants, which are drawn one nanosecond wide.
  [[nodiscard]] std::int64_t duration_of(const Slice& slice) const {
    return slice.is(kInstant) ? 0 : table().end_of(slice) - slice.begin();
  }

  [[nodiscard]] std::int64_t end_of(const Slice& slice) const { return table().end_of(slice); }

  [[nodiscard]] TrackId track_of(SliceId slice) const;

  // First slice of the track that ends after `time`; the number of slices when there is none.
  [[nodiscard]] std::uint32_t first_ending_after(TrackId track, std::int64_t time) const;

  // Asks memory for the slices about `time`, which are wanted soon.
  void fetch_ahead(TrackId track, std::int64_t time) const;

  // From the first begin to the last end, samples and marks included.
  [[nodiscard]] TimeRange range() const { return range_; }

  // Bit c: some slice has category c; the bit after the last category: some slice is abnormal.
  [[nodiscard]] std::uint64_t categories() const { return categories_; }

  [[nodiscard]] const Pyramid& pyramid() const { return pyramid_; }

  [[nodiscard]] SliceTable table() const { return {slices_, long_durations_, tracks_, range_}; }

  // Slices, tracks, indexes, long durations and flows; not names, counters and marks.
  [[nodiscard]] std::size_t bytes() const;

 private:
  friend class StoreBuilder;

  // Where `time` is among so many slices if they are spread evenly.
  [[nodiscard]] std::size_t guess_at(std::size_t count, std::int64_t time) const;

  std::vector<Row> rows_;
  std::vector<std::vector<std::int32_t>> ranks_;
  std::vector<Track> tracks_;
  std::vector<Slice> slices_;
  std::vector<std::int64_t> long_durations_;
  std::vector<Counter> counters_;
  std::vector<Mark> marks_;
  std::vector<Flow> flows_;
  std::vector<std::string> names_;
  std::vector<std::string> notes_;  // by NameId, up to the last that has one
  TimeRange range_;
  std::uint64_t categories_ = 0;
  Pyramid pyramid_;
};

// Nesting of timelines on one clock: run -> step -> operation.
//
//   time of the step timeline = time of the run - start of the step
//   start of a step           = start of its stretch + n * period
//
// Absolute time is that of level 0. One timeline stands for all repetitions: every training step is
// drawn as the step that was simulated. What is left of a stretch that is no whole number of
// periods is shown as a repetition that is cut off.

struct Stretch {
  TimeRange range;
  std::int64_t first_number = 0;
};

struct Occurrence {
  TimeRange range;  // on the clock of the outer level
  std::int64_t number = 0;
};

class Repetition {
 public:
  Repetition() = default;

  // Stretches are sorted and do not overlap; period >= 1.
  Repetition(std::vector<Stretch> stretches, std::int64_t period);

  [[nodiscard]] bool empty() const { return stretches_.empty(); }

  [[nodiscard]] std::int64_t period() const { return period_; }

  [[nodiscard]] std::optional<Occurrence> at(std::int64_t time) const;

  // Nearest to a moment: the one at it, else the nearest end.
  [[nodiscard]] std::optional<Occurrence> nearest(std::int64_t time) const;

  // Those that overlap a range, in order; at most `most`.
  [[nodiscard]] std::vector<Occurrence> within(TimeRange range, std::size_t most) const;

 private:
  [[nodiscard]] Occurrence in_stretch(const Stretch& stretch, std::int64_t time) const;

  std::vector<Stretch> stretches_;
  std::int64_t period_ = 1;
};

struct Level {
  std::string name;  // "run", "step", "operations"
  std::string unit;  // what one occurrence is called: "step"; empty: there is only one
  std::shared_ptr<const Store> store;
  Repetition repetition;  // on the clock of the level above; empty for level 0
  std::string note;       // what the timeline shows, for people
  // Windows up to this long show it; absent: those up to one repetition.
  std::optional<std::int64_t> longest_window = {};
  // Seconds since 1970 at the begin of level 0, where the run has a date.
  std::optional<std::int64_t> unix_start = {};
};

// How long a window is in which a level comes up.
[[nodiscard]] inline std::int64_t longest_window(const Level& level) {
  return level.longest_window.value_or(level.repetition.period());
}

// Level 0 is the outermost; each further one occurs in the one before.
using Levels = std::vector<Level>;

}  // namespace orrery::timeline
