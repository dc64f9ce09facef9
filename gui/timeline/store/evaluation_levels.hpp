#pragma once

// Levels of an evaluation's timeline: the run, and within it the step, which repeats.
//
// level | rows                                                | repeats
// ------|-----------------------------------------------------|---------------------------------
// run   | training, planned stops, recovery of one trial;     | -
//       | failures, saves and restarts as marks               |
// step  | stages x streams; memory of each stage              | in all training of the run, once
//       |                                                     | per step time
// opera-| stages x compute, communication by axis, host;      | once per step
// tions | use of the links of a GPU; where GPUs are unequal   |
//       | the slowest rank of the stage apart                 |
//
// The ranks of a stage that are alike share its rows. Operations are there when the evaluation has
// them (EvaluateOptions::operation_timeline).
// Needs EvaluateOptions::timelines. Without `training:` there is no run, without a simulated step
// no step; with neither there are no levels. Every training step of the run is drawn as the step
// that was simulated, at its time; steps of other phases or of a slower job are not drawn apart.

#include "gui/timeline/category.hpp"
#include "gui/timeline/store/levels.hpp"
#include "sim/answer/report/evaluation.hpp"
#include "sim/run/run_timeline.hpp"

namespace orrery::timeline {

[[nodiscard]] Category category_of(run::RunActivity activity);
[[nodiscard]] Category category_of(schedule::TaskKind kind);

[[nodiscard]] Levels levels_of(const report::Evaluation& evaluation, double nic_limit = 0.0);

}  // namespace orrery::timeline
