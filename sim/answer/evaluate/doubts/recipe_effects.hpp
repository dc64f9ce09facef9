#pragma once

// What the recipes of the stack switched on, and the effect of each key. One estimate of the step
// for each key, with that key left as it is without recipes.

#include <optional>
#include <string>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "sim/step/hardware/profile_search.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::evaluate {

// One step of a changed scenario, to find what the change is worth.

struct WhatIfStep {
  Seconds time;
  Bytes peak;  // of the fullest GPU
  bool fits = true;
};

[[nodiscard]] WhatIfStep what_if_of(const step::StepResult& step);

// Nothing where a rule forbids it or the stack cannot run it.
[[nodiscard]] std::optional<WhatIfStep> what_if_step(
    const scenario::Scenario& scenario, const std::optional<hardware::ProfileSearch>& search);

// By the scenario's settings; the step of `evaluation` is known.
[[nodiscard]] std::vector<report::RecipeEffect> recipe_effects(
    const scenario::Scenario& scenario, const std::optional<hardware::ProfileSearch>& search,
    const report::Evaluation& evaluation);

// "switched on as nemo 25.04's recipes do: overlap.tensor: true (-21 %)"; nothing where no key has
// an effect.
[[nodiscard]] std::optional<std::string> switched_on(const scenario::Scenario& scenario,
                                                     const report::Evaluation& evaluation);

// The step as somebody else runs the stack, where its recipes tell that apart and the scenario does
// not say who runs it: of all contexts that whose step is furthest from `now`.
struct OtherContext {
  std::string context;
  WhatIfStep step;
};

[[nodiscard]] std::optional<OtherContext> other_context(
    const scenario::Scenario& scenario, Seconds now,
    const std::optional<hardware::ProfileSearch>& search);

// A sentence of it; nothing where it takes as long.
[[nodiscard]] std::optional<std::string> undecided_context(
    const report::Evaluation& evaluation, const std::optional<OtherContext>& other);

// Single keys of the stack that would shorten the step. Every value that a recipe of the stack sets
// for some model or machine, and the switches that all stacks have, are tried one by one.

// The best value of each key that saves at least a hundredth of the step, that the stack runs, and
// that fits, or needs no more memory than the scenario; the largest saving first. The step of
// `evaluation` is known.
[[nodiscard]] std::vector<report::SwitchLever> switch_levers(
    const scenario::Scenario& scenario, const hardware::SoftwareProfile& software,
    const std::optional<hardware::ProfileSearch>& search, const report::Evaluation& evaluation);

}  // namespace orrery::evaluate
