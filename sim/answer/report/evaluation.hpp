#pragma once

// The answer to one scenario: the results of every stage, ready to be shown.
//
// The terminal, JSON, CSV, traces, the GUI and expectations read this struct and recompute nothing.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/expect.hpp"
#include "sim/answer/report/metrics.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/run/monte_carlo.hpp"
#include "sim/run/rollout/rollout.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/run_timeline.hpp"
#include "sim/run/theory/theory.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/model/model_spec.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::report {

// The uncertainty of the step time: the band that eight of ten measured steps like this one lie in,
// and the measured steps that are nearest.
//
// symbol  | meaning                                                             | unit | origin
// --------|---------------------------------------------------------------------|------|----------
// level   | share of measured steps that the band is meant to hold              | 1    | 0.8
// error   | mean |ln(predicted / measured)| of steps like this one, see         | 1    | measured
//         | evaluate/step_evidence.hpp                                          |      | steps
// low     | predicted x exp(-1.6 error): ln 5 = 1.61 of a Laplace distribution  | s    | computed
// high    | predicted x exp(+1.6 error)                                         | s    | computed

// What of a step no measured one had, the first that applies.
enum class Novelty { stack, gpu, model, none };

[[nodiscard]] constexpr std::string_view to_string(Novelty novelty) {
  switch (novelty) {
    case Novelty::stack:
      return "stack";
    case Novelty::gpu:
      return "gpu";
    case Novelty::model:
      return "model";
    case Novelty::none:
      break;
  }
  return "none";
}

struct NearStep {
  std::string id;
  double error = 0.0;  // predicted / measured - 1
};

// A coefficient whose measurement would tell most (evaluate/doubts/step_evidence.hpp).
struct StepDoubt {
  std::string_view coefficient;
  std::string_view measured_by;  // a command
  double error = 0.0;            // of the coefficient, relative
  double effect = 0.0;           // of that error on the step time, relative
};

struct StepBand {
  static constexpr double kLevel = 0.8;

  Novelty novelty = Novelty::none;
  double error = 0.0;
  double low = 0.0;   // s
  double high = 0.0;  // s
  std::vector<NearStep> nearest = {};
  std::vector<StepDoubt> doubts = {};  // the largest effect first
};

// Dense peak of one data type on the GPU, for the roofs of a roofline plot.
struct ComputeRoof {
  std::string dtype;
  FlopPerSecond peak;
};

struct ScenarioEcho {
  std::string name;
  std::string file;
  std::string sha256;
  std::string model_name;
  model::ModelSpec model;
  model::ParameterCounts parameters;
  layout::Layout layout;
  std::string schedule;
  std::string precision;
  std::string gpu;                                        // full name
  std::string gpu_profile;                                // name of the profile
  std::optional<hardware::CalibrationStamp> calibration;  // of the GPU, where it was measured
  std::vector<ComputeRoof> compute_roofs;                 // of the GPU, by data type in use
  BytesPerSecond memory_bandwidth;                        // of the GPU
  std::string software;                                   // profile name
  std::string software_release;                           // as stated
  std::string software_version;                           // that its coefficients are of
  bool host_step_assumed = false;  // its constant of the stack is nobody's measurement
  double memory_error = 0.0;       // how far a peak may lie above the predicted one, as a share
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;
  std::int64_t nvlink_domain = 1;  // GPUs of one
  std::int64_t domain_gpus = 1;    // of them the job uses, where it needs more than one domain
  layout::ClusterShape shape;      // in which groups are placed
  std::vector<hardware::NetworkTier> tiers;  // of its network, lowest first
  std::int64_t global_batch = 0;             // sequences
  // How the distance of the checkpoints was chosen, for people; empty: nobody says.
  std::string checkpoint_choice;
};

// "one minute less recovery is worth $..., one point of MFU $..."
struct Lever {
  std::string change;
  Seconds finish_delta;                          // negative: earlier; at a fixed window: 0
  Dollars cost_delta;                            // negative: cheaper for the same work
  std::vector<step::StepCategory> without = {};  // what of the step's ledger it takes away
};

// One key of the stack that would make the step shorter.
struct SwitchLever {
  std::string key;
  std::string value;
  Seconds step_time;  // with that value
};

// One key that a recipe of the stack set where the scenario is silent, and the step without it;
// nothing where that cannot run.
struct RecipeEffect {
  std::string key;
  std::string value;
  std::string source;
  bool certain = true;
  std::optional<Seconds> time_without;
  std::optional<Bytes> memory_without;  // of the fullest GPU
};

struct Evaluation {
  ScenarioEcho echo;     // what was asked, resolved: model, layout, hardware, software
  bool feasible = true;  // fits in memory; `reasons` says why not, `advice` what would
  std::vector<std::string> reasons;
  std::vector<std::string> advice;  // what would make it fit
  step::StepResult step;            // one step: time, ledger, memory, timeline
  std::optional<StepBand> band;  // how sure its time is; absent where it is given or nobody asked
  // The step with its generation; absent without `rollout:`
  std::optional<run::RolloutResult> rollout;
  std::optional<run::BudgetAnswer> budget;  // of a run whose training.budget is stated
  std::optional<run::RunPlan> plan;
  // Distributions over trials; absent without `training:`
  std::optional<run::MonteCarloResult> run;
  run::RunTimeline timeline;         // the intervals of one trial of the run
  std::uint32_t timeline_trial = 0;  // which
  MetricSet metrics;                 // the registry's values
  std::vector<std::string> caveats;  // what makes the figures say less than they seem to
  // What the scenario leaves open, and what the other choice gives
  std::vector<std::string> assumed;
  std::vector<RecipeEffect> recipe;
  std::vector<SwitchLever> switches;
  std::vector<Lever> levers;                    // what a better something would be worth
  std::vector<ExpectationResult> expectations;  // verdicts of `expect:`
  Diagnostics diagnostics;                      // warnings
};

// Whether less memory stays free than a peak may lie above the predicted one.
[[nodiscard]] inline bool fits_tightly(const Evaluation& evaluation) {
  const step::Feasibility& fit = evaluation.step.feasibility;
  if (evaluation.step.memory.empty() || !fit.fits) {
    return false;
  }
  const Bytes peak = evaluation.step.memory[static_cast<std::size_t>(fit.worst_stage)].peak();
  return fit.headroom < peak * evaluation.echo.memory_error;
}

// Whether what lacks is less than a peak may be off.
[[nodiscard]] inline bool lacks_little(const Evaluation& evaluation) {
  const step::Feasibility& fit = evaluation.step.feasibility;
  if (evaluation.step.memory.empty() || fit.fits) {
    return false;
  }
  const Bytes peak = evaluation.step.memory[static_cast<std::size_t>(fit.worst_stage)].peak();
  return -fit.headroom < peak * evaluation.echo.memory_error;
}

}  // namespace orrery::report
