#pragma once

// The plan that is simulated: the specs with all presets, defaults and formulas resolved.
//
// Times are bounded by 73 years (2^61 ns), so that no sum of two of them can overflow. The plan is
// what a trial reads: integers in nanoseconds, no unit conversions left.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"
#include "sim/run/capacity/capacity_plan.hpp"
#include "sim/run/checkpoints/checkpoint_plan.hpp"
#include "sim/run/failures/failure_spec.hpp"
#include "sim/run/failures/time_warp.hpp"
#include "sim/run/run_spec.hpp"
#include "sim/run/theory/theory.hpp"
#include "sim/run/theory/time_law.hpp"

namespace orrery::run {

// The phases of a run, with the time of their steps, and the work that is discarded on purpose.
//
//   steps(phase i)  = until_step[i] - until_step[i - 1]
//   tokens(n steps) = sum over phases of the steps in it * tokens_per_step
//   time(n steps)   = sum over phases of the steps in it * step_time
//
// Steps are steps of progress: work that a failure took is done again in the phase where it
// belongs, at that phase's pace. A rework event strikes once, when its step is reached for the
// first time; the state at at_step - discard_steps is still there and is durable.

inline constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;  // doubles hold these exactly

// Ends the last phase: more steps than any run can do.
inline constexpr std::int64_t kLastStep = std::int64_t{1} << 62;

struct PlannedPhase {
  std::int64_t until_step = kLastStep;  // ascending; kLastStep in the last phase
  SimTime step_time;                    // of one step in the phase, without any failure
  Tokens tokens_per_step;
  std::int64_t nodes = 1;  // that the job trains on in the phase
  SimTime change;          // stands still before the first step, after a save of what was done
  std::string name;
};

struct PlannedRework {
  std::int64_t at_step = 0;        // ascending
  std::int64_t discard_steps = 0;  // 1 ... at_step
  std::string name;
  SimTime stall;  // until training goes on
};

// The length of each stage of a recovery, for any cause and any size of the job.
//
//   stage of cause c on g GPUs: a draw of stages[c][s], times curve(g) / curve(GPUs of the plan)
//   curve(g): log-log interpolation between measured points, constant outside them

struct RecoveryPlan {
  std::vector<std::array<Duration, kRecoveryStageCount>> stages;  // by cause; load: last tier
  std::vector<std::array<GpuCurve, kRecoveryStageCount>> curves;  // by cause; empty: any size
  std::int64_t gpus = 1;                                          // to which `stages` belong
  double restart_fails = 0.0;  // a restart fails when its communicators are built
  SimTime failed_restart;      // from there until it is given up and rescheduled
  // Restarts after which the run is given up, growth apart
  std::optional<std::int64_t> max_restarts;

  // Factor on a stage of `cause` when the job has `now` GPUs instead of all.
  [[nodiscard]] double scale(std::size_t cause, RecoveryStage stage, std::int64_t now) const {
    const GpuCurve& curve = curves[cause][index_of(stage)];
    if (curve.empty() || now == gpus) {
      return 1.0;
    }
    return value_at(curve, static_cast<double>(now)) / value_at(curve, static_cast<double>(gpus));
  }
};

// The resolved failures of a run: laws, rates, who is hit, and what happens then.
//
//   units(cause)  = units_per_node * nodes held by the job   (scopes gpu ... power_domain)
//                 = 1 while the job runs                      (scopes storage and job)
//   hazard(cause) = units / mean of the law * multiplier(t)   (multiplier: only causes of hardware)
//   bad nodes have `lemons.factor` times the hazard (exponential causes of scopes gpu, node)
//
// What the run does at a strike, by its effect
// - failure: training stops at once; a hang goes unnoticed until the watchdog acts. The recovery
//   stages of the cause follow. `takes_nodes` nodes leave the job when the diagnosis is done.
// - slowdown: only while the job trains. From now on every step takes `factor` times as long, until
//   `duration` (of wall time) is over; several at once: the greatest factor holds. A restart of the
//   job for another reason does not end it: the slow node or link stays. With `evict_after`, a
//   slowdown that lasts so long ends in a recovery with the stages of `cause`, which takes the
//   node; work since the last durable checkpoint is lost as at a failure unless a checkpoint is
//   saved first.
// - silent: only while the job trains. From now on results are wrong, and every checkpoint saved is
//   corrupt. After `detection` the job knows: it goes back to the newest checkpoint begun before
//   the corruption, through the stages of `cause`. With probability `repeats` the host was not
//   found: no node is taken, and it corrupts again `repeat_after` the end of that recovery.
//   Otherwise its node leaves the job. A failure in between that goes back to a corrupt checkpoint
//   does not end the corruption; one that goes back behind it does when the host leaves.
// - spike: only while the job trains. With `rewind_steps` the job goes back to the newest
//   checkpoint at least that many steps behind, through the stages of `cause`, and no node leaves;
//   with `skip_steps` that many steps are trained again, without a stop.
//
// A false alarm is a failure like any other whose node is sound.

enum class StrikeEffect : std::uint8_t { failure, slowdown, silent, spike };

struct PlannedCause {
  std::string name;
  FailureCategory category = FailureCategory::unknown;
  double cumulative = 0.0;          // long-run share of this and the failures before it
  RecoveryStages stated;            // stages that the cause itself states
  LifeLaw life = ExponentialLaw{};  // of one unit
  InitialAge age;
  FailureScope scope = FailureScope::node;
  double units_per_node = 1.0;   // 0: one unit whatever the number of nodes
  std::int64_t takes_nodes = 0;  // leave the job; 0: training resumes on the same nodes
  std::int64_t hit_nodes = 0;    // lose memory and processes, whether they leave or not
  Symptom symptom = Symptom::crash;
  bool is_hardware = false;                     // feels heat, burn-in, episodes and lemons
  StrikeEffect effect = StrikeEffect::failure;  // what a strike does
  std::int32_t effect_index = 0;                // into FailurePlan::slowdowns, silent or spikes
};

struct PlannedSlowdown {
  FactorLaw factor;
  Duration duration;
  std::optional<SimTime> evict_after;
  std::int32_t cause = 0;  // index into RunPlan::causes: of its strikes, its name, its recovery
};

struct PlannedSilent {
  Duration detection;
  double repeats = 0.0;
  Duration repeat_after;
  std::int32_t cause = 0;
};

struct PlannedSpike {
  std::optional<std::int64_t> rewind_steps;
  std::optional<std::int64_t> skip_steps;
  std::int32_t cause = 0;
};

// One failure of a log that is replayed.
struct LoggedStrike {
  SimTime at;
  std::int32_t cause = 0;
  std::int64_t nodes = 0;              // that leave the job
  std::optional<SimTime> outage = {};  // stated: replaces all stages of the recovery
};

struct FailurePlan {
  HazardModulation modulation;
  LemonSpec lemons;  // who and where they are is the business of the node pool
  std::vector<PlannedSlowdown> slowdowns;
  std::vector<PlannedSilent> silent;
  std::vector<PlannedSpike> spikes;
  double step_factor = 1.0;     // of every step: determinism checks; not in StepInput::step_time
  bool during_recovery = true;  // false: nothing strikes from a failure until training goes on
  std::optional<std::vector<LoggedStrike>> log;  // replaces the random failures
  std::int64_t full_nodes = 1;  // nodes of the job at which `units_per_node` counts all components
  double rate_factor = 1.0;     // of the hazard of all failures (what-if answers)
};

// Whether bad nodes are struck more often by this cause than good ones.
[[nodiscard]] bool feels_lemons(const PlannedCause& cause);

// The price of each node at each moment: PriceSpec resolved into dollars per node and second.
//
// Assumption: a reservation covers the nodes of the job first, then spares, then those in repair.

struct PriceStep {
  SimTime from;
  DollarsPerSecond per_node;
};

struct PlannedReservation {
  std::int64_t nodes = 0;
  DollarsPerSecond per_node;
  std::optional<SimTime> paid_until;  // absent: as long as the run
};

struct PlannedEnergy {
  double busy_watts = 0.0;  // of a node, at the meter of the site
  double idle_watts = 0.0;
  Dollars per_kilowatt_hour;
  std::optional<double> kilograms_per_kilowatt_hour;
};

struct PricePlan {
  bool priced = false;                   // some key gives a price
  std::string as_of;                     // date of the prices, as stated or of the preset
  std::vector<PriceStep> fixed;          // ascending, the first from 0; empty: unpriced
  std::optional<DollarsPerSecond> spot;  // per node
  bool traced_spot = false;              // the traces have prices
  bool bill_spares = true;
  std::optional<PlannedReservation> reserved;
  std::optional<PlannedEnergy> energy;
  DollarsPerSecond stored_data;          // of the data set
  DollarsPerSecond per_stored_gigabyte;  // of checkpoints
  Dollars out;                           // data that leaves, once
  Dollars per_failure;                   // work of operators

  // Nothing is in the bill but nodes at one price.
  [[nodiscard]] bool is_simple() const {
    return is_flat() && !energy && stored_data == DollarsPerSecond{} &&
           per_stored_gigabyte == DollarsPerSecond{} && out == Dollars{} &&
           per_failure == Dollars{};
  }

  // One price for all nodes at all times: the cost follows from the ledger alone.
  [[nodiscard]] bool is_flat() const {
    return fixed.size() <= 1 && !spot && !traced_spot && !reserved;
  }
};

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
  SimTime stall;                                 // training blocked by a save to the storage
  SimTime durable;                               // from its begin until it protects
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

  [[nodiscard]] std::int64_t job_gpus() const { return step.gpus; }
};

// One finding about the specs, ready to become a diagnostic at the key that caused it.
struct RunProblem {
  Severity severity = Severity::error;
  std::string key;
  std::string message;
  std::string allowed;
};

// The plan, or nothing when `problems` holds an error. Appends all findings, warnings included.
[[nodiscard]] std::optional<RunPlan> resolve_run(const RunSpec& spec, const StepInput& step,
                                                 std::vector<RunProblem>& problems);

// Tokens of the first `steps` steps, and the time they take without stops.
[[nodiscard]] Tokens tokens_of_steps(const std::vector<PlannedPhase>& phases, std::int64_t steps);
[[nodiscard]] Seconds time_of_steps(const std::vector<PlannedPhase>& phases, std::int64_t steps);

// Least number of steps that train at least so many tokens (or take at least so long), rounding
// errors of the quotient aside. More than kMostSteps when the last phase cannot.
[[nodiscard]] double steps_for_tokens(const std::vector<PlannedPhase>& phases, Tokens tokens);
[[nodiscard]] double steps_for_time(const std::vector<PlannedPhase>& phases, Seconds time);

// Index of the phase to which step number `step` (from 0) belongs.
[[nodiscard]] std::size_t phase_of_step(const std::vector<PlannedPhase>& phases, std::int64_t step);

// Mean of all stages of a recovery with a node at hand, over the causes by weight.
[[nodiscard]] Seconds mean_recovery_time(const RunPlan& plan);

// The mean number of nodes in repair, and the spares that would do.
//
//   rate = sum over causes of share / mtbf * nodes taken, of nodes that are not on spot
//   load = nodes_in_repair(rate, mean repair)    (theory.hpp)
//
// symbol | meaning                                              | unit | origin
// -------|------------------------------------------------------|------|-------
// share  | of a cause among the failures of the job             | 1    | plan
// mtbf   | mean time between failures of the job                | s    | plan
// repair | its stages, without waiting for a crew               | s    | plan
//
// A job with fewer spares than the mean waits for repairs for most of its time, unless it is
// elastic. Spot nodes that fail are handed back instead of being repaired.
[[nodiscard]] RepairLoad repair_load(const RunPlan& plan);

// From taking a node out until it can be used again, on average.
[[nodiscard]] Seconds mean_repair(const RunPlan& plan);

}  // namespace orrery::run
