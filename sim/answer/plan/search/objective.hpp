#pragma once

// The objectives of a plan as numbers of an evaluation; lower is better in all.
//
// objective      | number                                            | unit            | needs
// ---------------|---------------------------------------------------|-----------------|----------
// step_time      | of one optimizer step                             | s               | nothing
// finish_time    | mean over the trials                              | s               | a target
// cost           | mean of the bill                                  | $               | prices
// cost_per_token | mean of dollars per million tokens                | $               | prices
// fewest_gpus    | GPUs of the job without spares, among those that  | GPUs            | deadline
//                | keep the deadline in 9 of 10 cases                |                 |
// energy         | mean; of the site where prices.energy states one  | kWh             | training

#include <optional>
#include <string_view>

#include "sim/answer/plan/trial_values.hpp"
#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/metrics.hpp"
#include "sim/scenario/plan_spec.hpp"

namespace orrery::plan {

[[nodiscard]] report::Dimension dimension_of(Objective objective);

// The metric that holds it; fewest_gpus is none.
[[nodiscard]] std::optional<report::MetricId> metric_of(const report::Evaluation& evaluation,
                                                        Objective objective);

// In base units; nothing when the evaluation does not have it.
[[nodiscard]] std::optional<double> objective_value(const report::Evaluation& evaluation,
                                                    Objective objective);

// The same by trial, in the order of the trials. One value where nothing varies.
[[nodiscard]] std::vector<double> objective_trials(const report::Evaluation& evaluation,
                                                   const TrialValues& trials, Objective objective);

// Words for a sentence: "the earliest finish".
[[nodiscard]] std::string_view best_words(Objective objective);

}  // namespace orrery::plan
