#pragma once

// What does the step, or the run, look like on a time axis? Traces in the Chrome trace event
// format, as Perfetto (ui.perfetto.dev) and chrome://tracing open them.
//
//   {"traceEvents": [...], "displayTimeUnit": "ms"}
//
// trace | process (pid)                     | thread (tid)                       | time (ts, dur)
// ------|-----------------------------------|------------------------------------|----------------
// step  | pipeline device, one representative | stream: compute, data-parallel,  | us of the step
//       | GPU of it                         | messages; lanes where slices overlap |
// run   | the job                           | training, planned stops, recovery, | us of simulated
//       |                                   | failures                           | time
//
// Slices are complete events (ph X) with exact times: nanoseconds are written as decimals of a
// microsecond. Slices of one thread never overlap. Failures are instant events with their cause.

#include <string>

#include "sim/report/evaluation.hpp"

namespace orrery::report {

// Needs evaluation.step.slices (EvaluateOptions::timelines); empty slices give an empty trace.
[[nodiscard]] std::string step_chrome_trace(const Evaluation& evaluation);

// Needs evaluation.timeline and evaluation.plan.
[[nodiscard]] std::string run_chrome_trace(const Evaluation& evaluation);

}  // namespace orrery::report
