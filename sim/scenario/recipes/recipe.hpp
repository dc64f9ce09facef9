#pragma once

// The scenario with another stack, or another choice of its recipes' keys. For scenarios that were
// changed after they were read.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/step/schedule/schedule_spec.hpp"

namespace orrery::scenario {

// With the recipes of this stack in place of its own; nothing where they cannot be read.
[[nodiscard]] std::optional<Scenario> with_stack(const Scenario& scenario, std::string_view stack);

// With the recipes that hold where somebody runs the stack in this context.
[[nodiscard]] std::optional<Scenario> with_context(const Scenario& scenario,
                                                   std::string_view context);

// With the value that the key had without its recipe.
[[nodiscard]] std::optional<Scenario> without_setting(const Scenario& scenario,
                                                      std::string_view key);

// As its stack runs it: micro-batches of some are combined where a recipe, not the scenario, hides
// the exchange of experts (combines_expert_overlap).
[[nodiscard]] schedule::ScheduleKind run_schedule(const Scenario& scenario);

// A key and a value that some recipe of the stack sets.
struct OfferedValue {
  std::string key;
  std::string value;
};

// What the stack's recipes set for some model of this kind, dense or not, on this GPU and release;
// in the order of the profile, each once. How a model routes and drops is not the stack's.
[[nodiscard]] std::vector<OfferedValue> offered_values(const Scenario& scenario);

// With what its recipes set as its layout and machine stand now, after they were changed.
[[nodiscard]] std::optional<Scenario> with_recipes(const Scenario& scenario);

}  // namespace orrery::scenario
