#pragma once

// Single keys of the stack that would shorten the step. Every value that a recipe of the stack sets
// for some model or machine, and the switches that all stacks have, are tried one by one.

#include <optional>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/hardware/profile_search.hpp"

namespace orrery::evaluate {

// The best value of each key that saves at least a hundredth of the step and fits where the
// scenario does; the largest saving first. The step of `evaluation` is known.
[[nodiscard]] std::vector<report::SwitchLever> switch_levers(
    const scenario::Scenario& scenario, const std::optional<hardware::ProfileSearch>& search,
    const report::Evaluation& evaluation);

}  // namespace orrery::evaluate
