#include "sim/evaluate/doubts/switch_levers.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "sim/evaluate/doubts/what_if_step.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/scenario/recipes/recipe_document.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::evaluate {

namespace {

using Value = std::pair<std::string, std::string>;  // key, value

std::vector<Value> candidates(const scenario::Scenario& scenario) {
  std::set<Value> values = {{"layout.sequence_parallel", "true"},
                            {"overlap.data", "true"},
                            {"overlap.pipeline", "true"},
                            {"overlap.tensor", "true"},
                            {"recompute", "none"},
                            {"recompute", "selective"}};
  Diagnostics unused;
  if (const auto recipes = scenario::presets_of(scenario).recipes(scenario.software, {}, unused)) {
    for (const scenario::RecipeEntry& entry : recipes->entries) {
      for (const scenario::RecipeValue& set : entry.sets) {
        // How a model routes and drops is not the stack's.
        if (!set.key.starts_with("model.")) {
          values.insert({set.key, set.text});
        }
      }
    }
  }
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<report::SwitchLever> switch_levers(const scenario::Scenario& scenario,
                                               const std::optional<hardware::ProfileSearch>& search,
                                               const report::Evaluation& evaluation) {
  constexpr double kWorthSaying = 0.01;
  const WhatIfStep now = what_if_of(evaluation.step);
  std::vector<report::SwitchLever> levers;
  for (const auto& [key, value] : candidates(scenario)) {
    Diagnostics unused;
    const auto changed = scenario::with_value(scenario, {key, value, {}}, unused);
    if (!changed || scenario::value_of(*changed, key) == scenario::value_of(scenario, key)) {
      continue;
    }
    const auto step = what_if_step(*changed, search);
    if (!step || (now.fits && !step->fits) || step->time > now.time * (1.0 - kWorthSaying)) {
      continue;
    }
    const auto same = std::find_if(
        levers.begin(), levers.end(), [&key](const auto& lever) { return lever.key == key; });
    if (same == levers.end()) {
      levers.push_back({key, value, step->time});
    } else if (step->time < same->step_time) {
      *same = {key, value, step->time};
    }
  }
  std::stable_sort(levers.begin(), levers.end(), [](const auto& a, const auto& b) {
    return a.step_time < b.step_time;
  });
  return levers;
}

}  // namespace orrery::evaluate
