#pragma once

// A trace of the step or of the run in the Chrome trace event format (JSON), for ui.perfetto.dev
// and chrome://tracing.
//
//   {"traceEvents": [...], "displayTimeUnit": "ms"}
//
// part of a trace | events
// ----------------|-----------------------------------------------------------------------------
// process, thread | metadata (ph M): name and place in the order
// slice           | complete event (ph X), with its category and arguments
// mark            | instant event (ph i) of the process
// sample          | counter event (ph C) of the process; the unit is the key of its argument
// flow            | ph s, t ..., f at the begin of its slices
//
// Times are exact: nanoseconds are written as decimals of a microsecond. Threads below threads
// become threads of the process.

#include <string>

#include "sim/answer/report/export/trace.hpp"

namespace orrery::report {

[[nodiscard]] std::string to_chrome_trace(const Trace& trace);

}  // namespace orrery::report
