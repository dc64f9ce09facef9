#pragma once

// The training as the scenario states it: targets, phases, rework, evaluations.
//
// symbol          | meaning                                                  | unit    | origin
// ----------------|----------------------------------------------------------|---------|---------
// duration        | wall-clock window; the answer is what was done in it     | s       | scenario
// tokens, steps   | target; the answer is when it is reached                 | tok, -  | scenario
// until           | progress at which a phase ends: steps done, tokens       | -,tok,s | scenario
//                 | consumed, or fault-free training time since the start    |         |
// start,increment | batch ramp: first batch, and what each rise adds         | seq     | scenario
// samples         | sequences over which the batch rises, in equal shares    | seq     | scenario
// discard         | training thrown away on purpose when `at` is reached     | -,tok,s | scenario
//
// Exactly one of duration, tokens and steps is stated. What a phase does not state is as in the
// scenario, not as in the phase before. The last phase states no end. A batch ramp is that of
// Megatron's --rampup-batch-size: n = (batch - start) / increment rises, each after samples / n
// sequences; it becomes phases of its own (phases_of).

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::run {

// How far training has come: optimizer steps, tokens, or time that the steps alone would take.
using Progress = std::variant<std::int64_t, Tokens, Seconds>;

struct PhaseSpec {
  std::string name;
  std::optional<Progress> until;             // absent in the last phase only
  std::optional<std::int64_t> global_batch;  // sequences of one step
  std::optional<std::int64_t> micro_batch;
  std::optional<std::int64_t> sequence_length;
  std::optional<std::int64_t> context;  // degree of context parallelism
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> gpus;  // the same in GPUs; not both
  std::optional<Seconds> step_time;  // replaces the one that the step stage computes
  Seconds change;                    // planned restart before its first step
};

struct BatchRampSpec {
  std::int64_t start = 1;      // sequences
  std::int64_t increment = 1;  // sequences
  std::int64_t samples = 1;    // sequences
};

struct DiscardAll {};

struct ReworkSpec {
  std::string name;
  Progress at;
  std::variant<DiscardAll, Progress> discard;
  Seconds stall;  // until training goes on
};

struct TrainingSpec {
  std::optional<Seconds> duration;
  std::optional<Tokens> tokens;
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> start;  // seconds since 1970-01-01T00:00Z; only dates depend on it
  std::optional<BatchRampSpec> batch_ramp;
  std::vector<PhaseSpec> phases;  // empty: one phase, as the scenario says
  std::vector<ReworkSpec> rework;
};

// The phases of the run, those of a batch ramp included; empty for a run of one phase.
[[nodiscard]] std::vector<PhaseSpec> phases_of(const TrainingSpec& spec,
                                               std::int64_t global_batch,
                                               std::int64_t sequence_length);

struct EvaluationSpec {
  std::int64_t every_steps = 1;
  Seconds duration;
};

}  // namespace orrery::run
