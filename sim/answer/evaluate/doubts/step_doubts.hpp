#pragma once

// Sensitivity of the step time to the coefficients of the stack: those most worth measuring.
//
//   effect = |T(knob up by its error) - T(knob down)| / 2 T
//
// symbol | meaning                                        | unit | origin
// -------|------------------------------------------------|------|---------------------------
// T      | step time with the knob moved, or as it is     | s    | step/
// error  | of the knob, relative                          | 1    | hardware/stack_knobs.hpp
//
// The two with the largest effect, the larger first; none below a thousandth of the step.

#include <stop_token>
#include <vector>

#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/answer/report/step_band.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::evaluate {

// Throws Error(interrupted).
[[nodiscard]] std::vector<report::StepDoubt> step_doubts(const scenario::Scenario& scenario,
                                                         const Resolved& resolved,
                                                         int threads,  // 0: all cores
                                                         const std::stop_token& stop);

}  // namespace orrery::evaluate
