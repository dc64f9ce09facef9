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

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/export/trace.hpp"

namespace orrery::report {

// Needs evaluation.timeline and evaluation.plan.
[[nodiscard]] Trace run_trace(const Evaluation& evaluation);

}  // namespace orrery::report
