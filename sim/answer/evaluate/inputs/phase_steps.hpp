#pragma once

// Step times of the phases of training, from the step simulator, once per shape of the job.
//
//   step time of a phase = the stated one, else
//                          simulated(phase) * given / simulated(scenario)   with a given step time
//                          simulated(phase)                                 without
//   tokens per step      = global batch * sequence length of the phase
//
// symbol    | meaning                                                       | unit | origin
// ----------|---------------------------------------------------------------|------|----------
// given     | step time that the scenario states (step.time)                | s    | scenario
// simulated | step time of the scenario with the phase's batch, nodes, ...  | s    | step stage
//
// Assumption: a step time that was measured at one shape misses by the same factor at the others.
// Shapes that occur twice (the last phase is mostly the scenario itself) are simulated once.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/answer/evaluate/evaluate_options.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/run/run_spec.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::evaluate {

// Global batch, micro-batch, sequence length, nodes; degrees: context, tensor, pipeline, chunks.
using PhaseShape = std::array<std::int64_t, 8>;

struct PhaseStep {
  Seconds time;
  std::string lack = {};  // of memory; empty: it fits
};

struct PhaseBase {
  Seconds simulated = {};                      // step of the scenario itself, by the step simulator
  std::optional<Seconds> given = {};           // what the scenario states instead
  std::map<PhaseShape, PhaseStep> known = {};  // steps that were simulated already
  std::vector<std::string> lacking = {};       // phases that do not fit, with what they lack
};

// Replaces the phases of `training` by all of them (those of a batch ramp included) and adds one
// step to `step.phases` for each; what had to be simulated is added to `base.known`, and
// `base.lacking` is of these phases. False, with
// diagnostics, when a phase cannot be trained.
[[nodiscard]] bool add_phase_steps(const scenario::Scenario& scenario,
                                   const EvaluateOptions& options, PhaseBase& base,
                                   run::TrainingSpec& training, run::StepInput& step,
                                   Diagnostics& diagnostics);

}  // namespace orrery::evaluate
