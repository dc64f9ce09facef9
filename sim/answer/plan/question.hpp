#pragma once

// Checks that a planning problem is well posed, given the scenario and the profiles.
//
// Internal to plan/.

#include <optional>
#include <vector>

#include "sim/answer/plan/make_plan.hpp"
#include "sim/answer/plan/space/workbench.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::plan {

// What the objective and the constraints need of the scenario; reports what is missing.
void check_question(const PlanQuestion& question, const scenario::Scenario& scenario,
                    Diagnostics& diagnostics);

// Dollars per GPU-hour by machine; empty where all cost the same.
[[nodiscard]] std::vector<double> gpu_hours_by_machine(const PlanSpec& spec,
                                                       const Workbench& bench);

// Sequences that the run must see to reach its target; nothing for a window.
[[nodiscard]] std::optional<double> sequences_of(const scenario::Scenario& scenario);

}  // namespace orrery::plan
