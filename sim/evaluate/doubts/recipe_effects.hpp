#pragma once

// What did the recipes of the stack switch on, and what is each key worth? One estimate of the step
// for each key, with that key left as it is without recipes.

#include <optional>
#include <string>
#include <vector>

#include "sim/hardware/profile_reader.hpp"
#include "sim/report/evaluation.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::evaluate {

// By the scenario's settings; the step of `evaluation` is known.
[[nodiscard]] std::vector<report::RecipeEffect> recipe_effects(
    const scenario::Scenario& scenario,
    const std::optional<hardware::ProfileSearch>& search,
    const report::Evaluation& evaluation);

// "switched on as nemo 25.04's recipes do: overlap.tensor: true (-21 %)"; nothing where no key has
// an effect.
[[nodiscard]] std::optional<std::string> switched_on(const scenario::Scenario& scenario,
                                                     const report::Evaluation& evaluation);

// The step as the stack's own benchmarks run it, where its profile tells them apart and the scenario
// does not say who runs it.
[[nodiscard]] std::optional<std::string> undecided_context(
    const scenario::Scenario& scenario,
    const std::optional<hardware::ProfileSearch>& search,
    const report::Evaluation& evaluation);

}  // namespace orrery::evaluate
