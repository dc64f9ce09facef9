#pragma once

// Selection of the part of a trace that is written: a window of time and a limit on the slices.
//
//   slices that overlap [from, to) are kept, as long as they are; the rest is left out
//   above `most` slices: neighbours on a track that are shorter than q and begin within the same q
//   become one slice "17 slices"; q is the least power of two of 1.024 us at which the trace holds
//   `most` slices or fewer
//
// symbol | meaning                                                             | unit | origin
// -------|---------------------------------------------------------------------|------|---------
// q      | the resolution: slices of q and more stay as they are               | ns   | computed
//
// What is merged still covers its time: no activity disappears, and a long slice is never touched.
// A merged slice stays inside the slice that encloses its parts. A counter has one sample per q,
// its greatest within. Marks are all kept: one failure among a million steps stays visible. Flows
// through merged slices are left out. When even the coarsest q leaves more than `most` slices (more
// tracks than `most`), it is used all the same.
//
// Complexity: O(slices) for each of at most 50 values of q.

#include <cstddef>

#include "sim/answer/report/export/trace.hpp"

namespace orrery::report {

struct TraceWindow {
  SimTime from;
  SimTime to = kForever;
};

struct ChosenTrace {
  Trace trace;
  std::size_t outside = 0;  // slices left out
  std::size_t merged = 0;   // slices that are now part of another
  SimTime finest;           // q; zero: nothing was merged
};

// `most` = 0: no limit.
[[nodiscard]] ChosenTrace choose_trace(const Trace& trace, const TraceWindow& window,
                                       std::size_t most);

}  // namespace orrery::report
