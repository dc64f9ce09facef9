#include "sim/answer/evaluate/doubts/what_if_step.hpp"

#include <variant>

#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::evaluate {

WhatIfStep what_if_of(const step::StepResult& step) {
  return {to_seconds(step.step_time), worst_peak(step),
          step.feasibility.fits && step.feasibility.fits_host};
}

std::optional<WhatIfStep> what_if_step(const scenario::Scenario& scenario,
                                       const std::optional<hardware::ProfileSearch>& search) {
  Diagnostics unused;
  const std::optional<Resolved> resolved = resolve(scenario, search, unused);
  if (!resolved || unused.has_errors()) {
    return std::nullopt;
  }
  const auto outcome =
      step::simulate_step(step_input(scenario, *resolved), resolved->costs,
                          {.timeline = false, .operations = false, .ledger = false});
  const auto* result = std::get_if<step::StepResult>(&outcome);
  return result == nullptr ? std::nullopt : std::optional(what_if_of(*result));
}

}  // namespace orrery::evaluate
