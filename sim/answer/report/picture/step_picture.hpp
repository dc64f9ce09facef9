#pragma once

// SVG drawings of a step or of the order of its schedule, as a timeline by stage.
//
//   one row per pipeline device; a box per pass, its number is the micro-batch
//
// drawing  | time axis                                     | shown
// ---------|-----------------------------------------------|--------------------------------------
// step     | simulated                                     | passes, optimizer, data-parallel
//          |                                               | communication as a thin lane below
// schedule | ticks: one layer takes 1 forward, 1 for its   | passes only: the order, its waiting
//          | input and 1 for its weight gradients, and     | and uneven stages, whatever the
//          | everything else takes no time                 | hardware
//
// Later chunks of a device are drawn lighter. A combined step is one box, its forward in the upper
// half. Boxes too narrow to be seen apart are drawn as one. The text is the same for the same
// slices: no date, no random identifiers.

#include <string>

#include "sim/answer/report/evaluation.hpp"

namespace orrery::report {

// Needs evaluation.step.slices (EvaluateOptions::timelines); no slices give empty rows.
[[nodiscard]] std::string step_svg(const Evaluation& evaluation);

// The same, of slices in ticks (EvaluateOptions::ticks).
[[nodiscard]] std::string schedule_svg(const Evaluation& evaluation);

}  // namespace orrery::report
