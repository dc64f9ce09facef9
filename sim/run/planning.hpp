#pragma once

// What resolves the specs of a run into its plan, part by part, and the problems that it finds,
// each under its key of the scenario. Internal to run/.

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/run/run_plan.hpp"

namespace orrery::run {

inline bool in_range(Seconds value) {
  return value >= Seconds{} && value <= to_seconds(kLongestTime);
}

inline bool is_rate(PerSecond rate) {
  return std::isfinite(in_per_second(rate)) && rate >= PerSecond{};
}

inline bool is_positive(double value) { return std::isfinite(value) && value > 0.0; }

inline bool is_share(double value) { return value >= 0.0 && value <= 1.0; }

class Findings {
 public:
  explicit Findings(std::vector<RunProblem>& problems) : problems_(problems) {}

  // Notes an error unless `holds`; returns `holds`.
  bool require(bool holds, std::string_view key, std::string message, std::string allowed = {}) {
    if (!holds) {
      add(Severity::error, key, std::move(message), std::move(allowed));
      sound_ = false;
    }
    return holds;
  }

  void require_share(double value, std::string_view key) {
    require(is_share(value), key, "must be between 0 and 1");
  }

  void require_time(Seconds value, std::string_view key) {
    require(in_range(value), key, "must be between 0 s and 73 years");
  }

  void require_positive_time(Seconds value, std::string_view key) {
    require(in_range(value) && value > Seconds{}, key, "must be positive and below 73 years");
  }

  void require_rate(PerSecond value, std::string_view key) {
    require(is_rate(value), key, "the rate must not be negative");
  }

  void require_one(std::optional<std::int64_t> value, std::string_view key) {
    require(value.value_or(1) >= 1, key, "must be at least 1");
  }

  // A Duration or LifeLaw; `of` stands before what is wrong.
  template <typename Law>
  void require_law(const Law& law, std::string_view key, std::string_view of = {}) {
    if (std::optional<std::string> problem = problem_of(law)) {
      require(false, key, std::string(of) + *problem);
    }
  }

  void warn(std::string_view key, std::string message) {
    add(Severity::warning, key, std::move(message), {});
  }

  [[nodiscard]] bool sound() const { return sound_; }

 private:
  void add(Severity severity, std::string_view key, std::string message, std::string allowed) {
    problems_.push_back({severity, std::string(key), std::move(message), std::move(allowed)});
  }

  std::vector<RunProblem>& problems_;
  bool sound_ = true;
};

// The failures of a spec with what it leaves out taken from its preset.
[[nodiscard]] FailureSpec failures_with_preset(const FailureSpec& spec);

// Strikes of a cause per time with all nodes present: after burn-in, outside episodes, the mean
// over a day.
[[nodiscard]] PerSecond long_run_rate(const PlannedCause& cause, const RunPlan& plan);

// Fills `causes`, `mtbf` and `failures` of the plan, whose step is known. `start` is the
// begin of the run (seconds since 1970-01-01T00:00Z).
void plan_failures(const FailureSpec& spec, std::optional<std::int64_t> start, RunPlan& plan,
                   Findings& findings);

// Fills plan.capacity. Adds the cause "spot preemption" when nodes are on spot. `failures`: those
// of the spec with what their preset says, such as the length of repairs.
void plan_capacity(const RunSpec& spec, const FailureSpec& failures, RunPlan& plan,
                   Findings& findings);

// How many nodes the first and the largest phase have; after plan_phases.
void fit_capacity_to_phases(RunPlan& plan);

// Survival of a copy in memory or on a disk of the nodes, by cause: a strike that hits nodes
// without taking them (a reboot) empties their memory but not their disks; one that takes nodes
// takes both. With `replicas` = m the copies are lost when a whole group of m nodes is. The storage
// keeps its copies whatever happens.

// The size of a checkpoint, the stall and the durable time of a save to the storage. Before the
// failures are planned: the load of the storage follows from it.
void plan_saves(const CheckpointSpec& spec, RunPlan& plan, Findings& findings);

// Tiers, copies, survival and loads by cause, retention; `plan.causes` and the recovery are known.
void plan_tiers(const CheckpointSpec& spec, RunPlan& plan, Findings& findings);

// The distance of two saves of each tier, and how many the storage keeps; `plan.mtbf`, the tiers,
// the phases and the prices are known.
//
//   a save that is kept for good lies on the storage for half of the run on average and costs
//   p S W / 2; in time of the job that is p S W / (2 P), which `auto` adds to the stall of the
//   saves to the storage: C' = C + lasting * p S W / (2 P)
//
// symbol  | meaning                                                       | unit     | origin
// --------|---------------------------------------------------------------|----------|---------
// p       | price of storage                                              | $/(GB s) | prices
// S       | size of a checkpoint                                          | GB       | computed
// W       | training time of the run without losses                      | s        | computed
// P       | price of the job                                              | $/s      | prices
// lasting | share of the saves kept for good: 1 with `keep: all`,         | 1        | scenario
//         | 1 / n with `keep_every: n`, else 0                            |          |
//
// Without prices of storage and of the job nothing is added. The newest checkpoints are as many
// whatever their distance, so they do not enter.
void plan_interval(const CheckpointSpec& spec, const TrainingSpec& training, RunPlan& plan,
                   Findings& findings);

// Resolves the stages of a recovery into the plan: stated by the cause, else by the job, else from
// the preset, else (load) computed, else none.
//
// A crash is noticed by `detect`. A hang is noticed when the watchdog runs out, or by the next
// inspection when their period is not longer than that; an inspection finds crashes too, unless
// `detect` is stated.

void check_stages(const RecoveryStages& stages, std::string_view key, Findings& findings);

// The job's stages, for causes that do not state their own. `load`: from the storage.
[[nodiscard]] std::array<Duration, kRecoveryStageCount> job_recovery(const RecoverySpec& spec,
                                                                     const StepInput& step,
                                                                     Seconds load,
                                                                     Findings& findings);

// Fills `plan.recovery` for all of `plan.causes`; `job`: see job_recovery.
void plan_recovery(const RecoverySpec& recovery, const CheckpointSpec& checkpoint,
                   const std::array<Duration, kRecoveryStageCount>& job, RunPlan& plan,
                   Findings& findings);

// Fills plan.pricing.
void plan_prices(const RunSpec& spec, RunPlan& plan, Findings& findings);

// How long a budget lasts: money / (gpu_hour x GPUs of the nodes and of the spares that are
// billed). Absent where the price of a GPU is not one number: owned, reserved, spot, changing.
[[nodiscard]] std::optional<Seconds> budget_window(Dollars money, const RunSpec& spec,
                                                   const StepInput& step);

}  // namespace orrery::run
