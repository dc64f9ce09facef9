#pragma once

// One trial of the run as a trace (trace.hpp).
//
// process | threads and counters
// --------|--------------------------------------------------------------------------------------
// job     | training, checkpoints, planned stops, recovery, failures (marks, with their cause);
//         | nodes in the job, spares, nodes in repair; dollars per hour, where priced
//
// flow    | through
// --------|--------------------------------------------------------------------------------------
// failure | training that it took, every stage of the recovery, training again
//
// The integral of dollars per hour over the run is what the nodes cost in the bill of that trial.

#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/export/trace.hpp"

namespace orrery::report {

// Needs evaluation.timeline and evaluation.plan.
[[nodiscard]] Trace run_trace(const Evaluation& evaluation);

// The productive share of the run so far, as a counter over time.
//
//   share(t) = training up to t that no later failure took / (t - begin of the run)

struct ShareSample {
  SimTime from;
  // Of the wall time of one trial; at its end the goodput of a job whose size and speed never
  // change
  double share = 0.0;
};

// One sample at the end of every interval, in order of time; empty without a timeline of the run.
[[nodiscard]] std::vector<ShareSample> productive_over_time(const Evaluation& evaluation);

}  // namespace orrery::report
