#pragma once

// Step times of the phases of training, from the step simulator, once per shape of the job.
//
//   step time of a phase = the stated one, else
//                          simulated(phase) * given / simulated(scenario)   with a given step time
//                          simulated(phase)                                 without
//   tokens per step      = global batch * sequence length of the phase
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
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/run/capacity/capacity_plan.hpp"
#include "sim/run/rollout/rollout.hpp"
#include "sim/run/run_spec.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/layout/layout_spec.hpp"

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

// Step times of a shrunken job, from the step simulator, once per possible size.
//
//   sizes: nodes of d' = d - 1, d - 2, ... whole data-parallel replicas that fill whole nodes
//   micro-batches of the slowest replica = ceil(global / (micro * d'));  the global batch stays
//   with capacity.elastic.batch: m = global / (micro * d') rounded to a neighbour inside the range,
//     else to the nearer one; batch' = m micro d'; time of a full step = time' * global / batch'
//   step time = simulated(size) * given / simulated(scenario) with a given step time
//
// symbol | meaning                                                        | unit | origin
// -------|----------------------------------------------------------------|------|---------
// d, d'  | data-parallel replicas of the scenario, of the shrunk job      | 1    | layout
// global | sequences per optimizer step                                   | -    | scenario
// micro  | sequences per micro-batch                                      | -    | scenario
//
// A size is left out when its layout breaks a rule (experts, shard groups) or does not fit in
// memory: with ZeRO, fewer replicas hold larger shards. Of many sizes all of the largest are
// simulated and every 2 % of the others: the job runs at the largest size below what it has.

// Ascending, without the size of the scenario itself; empty without capacity.elastic. Reports
// batches outside capacity.elastic.batch: an error for that of the scenario, else a warning.
[[nodiscard]] std::vector<run::ElasticSize> elastic_sizes(const scenario::Scenario& scenario,
                                                          const layout::Layout& layout,
                                                          const PhaseBase& base,
                                                          const EvaluateOptions& options,
                                                          Diagnostics& diagnostics);

// The step of a scenario with `rollout`: its trainer's times from the step model, put together with
// generation by run/rollout/rollout.hpp.
//
//   T_forward = max over devices of the forwards of a step x (1 + (p - 1) / (m v))
//
// symbol  | meaning                                   | unit | origin
// --------|-------------------------------------------|------|--------
// p, v, m | pipeline, chunks of a device, micro-batches | -  | layout
//
// Of schedules that run forwards inside backwards a third of the step is taken.

[[nodiscard]] run::RolloutResult rollout_step(const scenario::Scenario& scenario,
                                              const Resolved& resolved,
                                              const step::StepResult& step);

}  // namespace orrery::evaluate
