#pragma once

// Resolves the failure specs with their preset into the causes of the plan: laws and rates of this
// job. Internal to run/.

#include <array>
#include <string_view>

#include "sim/run/findings.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

// What the spec leaves out comes from its preset.
[[nodiscard]] FailureSpec failures_with_preset(const FailureSpec& spec);

// Strikes of a cause per time with all nodes present: after burn-in, outside episodes, the mean
// over a day.
[[nodiscard]] PerSecond long_run_rate(const PlannedCause& cause, const RunPlan& plan);

// Fills `causes`, `mtbf` and `failures` of the plan, whose step is known. `start` is the
// begin of the run (seconds since 1970-01-01T00:00Z).
void plan_failures(const FailureSpec& spec,
                   std::optional<std::int64_t> start,
                   RunPlan& plan,
                   Findings& findings);

}  // namespace orrery::run
