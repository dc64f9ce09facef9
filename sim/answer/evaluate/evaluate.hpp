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

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/answer/evaluate/evaluate_options.hpp"
#include "sim/answer/report/evaluation.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::evaluate {

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
    const scenario::Scenario& scenario, const report::Evaluation& evaluation,
    std::string_view metric, Diagnostics& diagnostics,
    const std::optional<hardware::ProfileSearch>& search = {});

}  // namespace orrery::evaluate
