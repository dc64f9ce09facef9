#pragma once

// The step as a trace (trace.hpp), down to the operations within every task.
//
// process           | threads
// ------------------|----------------------------------------------------------------------------
// pipeline device n | compute: tasks > layers > kernels; communication by axis; messages; host and
//                   | drives (lanes where slices overlap); waiting of the device, by category
//
// Arguments of an operation: FLOP, bytes, ranks of a collective, the part that compute waits for
// (exposed_ns) and the rest (hidden_ns), what all-to-all beside it adds to a kernel (slowed_ns).
// One process stands for all ranks of the stage that are alike. A combined step has layers of two
// passes, "layer 7 forward" and "layer 9 backward".

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/export/trace.hpp"

namespace orrery::report {

// Needs the step's slices and operations (EvaluateOptions::timelines, operation_timeline); without
// them there are only processes.
[[nodiscard]] Trace operation_trace(const Evaluation& evaluation);

}  // namespace orrery::report
