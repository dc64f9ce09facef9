#pragma once

// The entry point of every evaluation: Scenario -> Evaluation.
//
//   profiles -> layout -> step (or the given step time) -> run plan -> Monte Carlo -> metrics,
//   levers, expectations
//
// Problems of the scenario that only show across stages (divisibility, schedule, run, expectation
// syntax) become diagnostics at the file, line and column of their key; then there is no
// Evaluation. "Does not fit in memory" is an answer: Evaluation::feasible. Bit-identical for any
// thread count.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "sim/base/diagnostics.hpp"
#include "sim/hardware/profile_reader.hpp"
#include "sim/report/evaluation.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::step {
class StepSimulator;
}

namespace orrery::evaluate {

[[nodiscard]] std::shared_ptr<step::StepSimulator> make_simulator();

struct EvaluateOptions {
  int threads = 0;                          // 0: all cores
  std::optional<std::int64_t> trials = {};  // replaces simulation.trials
  std::optional<std::uint64_t> seed = {};   // replaces simulation.seed
  bool timelines = false;                   // keep the step's slices and the intervals of one trial
  bool ticks = false;  // the step's slices in ticks of layers: its schedule without hardware
  std::uint32_t timeline_trial = 0;
  bool operations = false;          // keep the account by operation
  bool operation_timeline = false;  // and the operations within the step's slices; needs timelines
  bool levers = true;               // how sure the step is, and what other choices would give
  std::optional<hardware::ProfileSearch> search = {};  // default: hardware::default_search
  std::stop_token stop = {};
  // Keeps the structure of steps from one evaluation to the next; of one thread at a time. None:
  // the evaluation's own.
  std::shared_ptr<step::StepSimulator> simulator = nullptr;
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
};

// Nothing when `diagnostics` holds an error. Throws Error(interrupted) after a stop request.
[[nodiscard]] std::optional<report::Evaluation> evaluate(const scenario::Scenario& scenario,
                                                         const EvaluateOptions& options,
                                                         Diagnostics& diagnostics);

// The two halves of evaluate(), for many scenarios with the same step: what evaluate_step found may
// serve every scenario that differs from its own in the keys of the run alone (name, training,
// evaluation, failures, checkpoint, recovery, capacity, prices, simulation, expect). Read-only, so
// that threads may share it.
struct StepAnswer;

[[nodiscard]] std::shared_ptr<const StepAnswer> evaluate_step(const scenario::Scenario& scenario,
                                                              const EvaluateOptions& options,
                                                              Diagnostics& diagnostics);

[[nodiscard]] std::optional<report::Evaluation> evaluate_run(const scenario::Scenario& scenario,
                                                             const StepAnswer& step,
                                                             const EvaluateOptions& options,
                                                             Diagnostics& diagnostics);

// How one metric came about: formula, inputs, coefficients with their sources, ledger rows.
// Nothing when there is no such metric. `search`: as for the evaluation.
[[nodiscard]] std::optional<std::string> explain(
    const scenario::Scenario& scenario,
    const report::Evaluation& evaluation,
    std::string_view metric,
    Diagnostics& diagnostics,
    const std::optional<hardware::ProfileSearch>& search = {});

}  // namespace orrery::evaluate
