#pragma once

// What if the simulator refuses a run that was measured? Then the mapping is wrong, not the run.
//
// The rules of layouts and schedules are those of the stacks that Orrery knows; other stacks pad,
// regroup or fall back. Step by step, each with a note: a pipeline without chunks, a precision that
// the GPU has, one replica group, smaller micro-batches, no expert groups, at last the plainest
// layout on as many GPUs. A run whose recomputation is not stated takes the least that fits into
// the memory of its GPU.

#include <string>
#include <variant>

#include "sim/validate/measured/measured_runs.hpp"

namespace orrery::validate {

// Simulates the run and leaves in `run` what was simulated at last, notes included. A reason only
// when even the plainest layout is refused.
[[nodiscard]] std::variant<SimulatedRun, std::string> simulate_measured(
    ReadyRun& run, const step::StepOptions& options);

}  // namespace orrery::validate
