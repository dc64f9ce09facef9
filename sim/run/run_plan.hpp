#pragma once

// The plan that is simulated: the specs with all presets, defaults and formulas resolved.
//
// symbol            | meaning                                                    | unit  | origin
// ------------------|------------------------------------------------------------|-------|---------
// mtbf              | mean time between failures of the job                      | s     | computed
// checkpoint_steps  | steps between two saves                                    | steps | computed
// stall, durable    | training blocked by a save; begin of a save until it holds | ns    | computed
// end               | window, or the horizon where a trial gives up              | ns    | computed
//
// Times are bounded by 73 years (2^61 ns), so that no sum of two of them can overflow. The plan is
// what a trial reads: integers in nanoseconds, no unit conversions left.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/run/capacity/capacity_plan.hpp"
#include "sim/run/checkpoints/checkpoint_plan.hpp"
#include "sim/run/failures/failure_plan.hpp"
#include "sim/run/phase_plan.hpp"
#include "sim/run/prices/price_plan.hpp"
#include "sim/run/recovery/recovery_plan.hpp"
#include "sim/run/run_spec.hpp"

namespace orrery::run {

inline constexpr SimTime kLongestTime{std::int64_t{1} << 61};

// Rounded once to whole nanoseconds and bounded by kLongestTime.
[[nodiscard]] SimTime bounded_time(Seconds value);

// Stops at the first step boundary at or after every multiple of `period`.
struct PeriodicStop {
  SimTime period = kForever;  // kForever: never
  SimTime stall;
};

struct RunPlan {
  StepInput step;
  std::vector<PlannedPhase> phases;              // at least one
  std::vector<PlannedRework> rework;             // in order of their steps
  std::optional<std::int64_t> target_steps;      // absent: the window decides
  SimTime end;                                   // of the window, or the horizon
  SimTime fault_free_wall;                       // without failures, planned stops included
  std::optional<std::int64_t> checkpoint_steps;  // absent: nothing is saved before the end
  SimTime stall;
  SimTime durable;
  std::optional<std::int64_t> evaluation_steps;
  SimTime evaluation_time;
  PeriodicStop maintenance;
  PeriodicStop unitemised;
  std::optional<Seconds> mtbf;  // of all failures in the long run; absent: nothing fails
  std::vector<PlannedCause> causes;
  FailurePlan failures;
  CheckpointPlan checkpoint;
  RecoveryPlan recovery;
  CapacityPlan capacity;
  PricePlan pricing;
  SimulationSpec simulation;

  [[nodiscard]] std::int64_t job_gpus() const {
    return step.gpus;
  }
};

// One finding about the specs, ready to become a diagnostic at the key that caused it.
struct RunProblem {
  Severity severity = Severity::error;
  std::string key;
  std::string message;
  std::string allowed;
};

// The plan, or nothing when `problems` holds an error. Appends all findings, warnings included.
[[nodiscard]] std::optional<RunPlan> resolve_run(const RunSpec& spec,
                                                 const StepInput& step,
                                                 std::vector<RunProblem>& problems);

// Mean of all stages of a recovery with a node at hand, over the causes by weight.
[[nodiscard]] Seconds mean_recovery_time(const RunPlan& plan);

}  // namespace orrery::run
