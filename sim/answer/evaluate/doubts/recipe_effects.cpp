#include "sim/answer/evaluate/doubts/recipe_effects.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "sim/answer/evaluate/doubts/fitting_changes.hpp"
#include "sim/answer/evaluate/doubts/step_evidence.hpp"
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/base/text/format.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/scenario/recipes/recipe.hpp"
#include "sim/scenario/recipes/recipe_document.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::evaluate {

namespace {

// Degrees of the layout that answer a loss which is large.
void add_degrees(const scenario::Scenario& scenario, const step::StepLedger& ledger,
                 std::vector<scenario::OfferedValue>& values) {
  constexpr double kLarge = 0.05;
  const auto add = [&values](std::string key, std::int64_t value) {
    values.push_back({std::move(key), fmt::format("{}", value)});
  };
  if (ledger.share(step::StepCategory::exposed_data) > kLarge) {
    for (const char* sharding : {"none", "zero1", "zero2"}) {
      values.push_back({"layout.sharding", sharding});
    }
    add("batch.micro", scenario.batch.micro * 2);
  }
  if (ledger.share(step::StepCategory::exposed_expert) > kLarge) {
    for (const std::int64_t factor : {2, 4, 8}) {
      add("layout.expert", scenario.layout.expert * factor);
    }
  }
  if (ledger.share(step::StepCategory::bubble) > kLarge && scenario.layout.pipeline > 1) {
    add("layout.virtual_stages", scenario.layout.virtual_stages * 2);
  }
}

std::vector<scenario::OfferedValue> candidates(const scenario::Scenario& scenario,
                                               const step::StepLedger& ledger) {
  std::vector<scenario::OfferedValue> values = scenario::offered_values(scenario);
  for (const char* key :
       {"layout.sequence_parallel", "overlap.data", "overlap.pipeline", "overlap.tensor"}) {
    values.push_back({key, "true"});
  }
  values.push_back({"recompute", "none"});
  values.push_back({"recompute", "selective"});
  add_degrees(scenario, ledger, values);
  return values;
}

}  // namespace

std::vector<report::SwitchLever> switch_levers(const scenario::Scenario& scenario,
                                               const hardware::SoftwareProfile& software,
                                               const std::optional<hardware::ProfileSearch>& search,
                                               const report::Evaluation& evaluation) {
  constexpr double kWorthSaying = 0.01;
  const WhatIfStep now = what_if_of(evaluation.step);
  std::vector<report::SwitchLever> levers;
  for (const auto& [key, value] : candidates(scenario, evaluation.step.ledger)) {
    Diagnostics unused;
    const auto changed = scenario::with_value(scenario, {key, value, {}}, unused);
    if (!changed || scenario::value_of(*changed, key) == scenario::value_of(scenario, key) ||
        !runs(software, changed->layout, scenario.layout)) {
      continue;
    }
    const auto step = what_if_step(*changed, search);
    // Beside a step that does not fit, what needs still more memory is no advice.
    const bool possible = step && (step->fits || (!now.fits && step->peak <= now.peak));
    if (!possible || step->time > now.time * (1.0 - kWorthSaying)) {
      continue;
    }
    const auto same =
        std::ranges::find_if(levers, [&key = key](const auto& lever) { return lever.key == key; });
    if (same == levers.end()) {
      levers.push_back({key, value, step->time});
    } else if (step->time < same->step_time) {
      *same = {key, value, step->time};
    }
  }
  std::ranges::stable_sort(levers,
                           [](const auto& a, const auto& b) { return a.step_time < b.step_time; });
  return levers;
}

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

namespace {

constexpr double kWorthSaying = 0.005;  // of the time of a step
const Bytes kMemoryWorthSaying = gibibytes(1.0);

// "(-11 %)", or where the time stays "(-66 GiB)"; empty for what changes neither.
std::string effect_words(const report::RecipeEffect& effect, const WhatIfStep& now) {
  if (!effect.time_without) {
    return effect.memory_without ? " (does not fit without)" : "";
  }
  const double change = now.time / *effect.time_without - 1.0;
  if (std::abs(change) >= kWorthSaying) {
    return fmt::format(" ({:+.{}f} %)", 100.0 * change, std::abs(change) < 0.1 ? 1 : 0);
  }
  const Bytes saved = now.peak - *effect.memory_without;
  if (saved >= kMemoryWorthSaying) {
    return fmt::format(" (+{})", format_bytes_binary(saved));
  }
  return -saved >= kMemoryWorthSaying ? fmt::format(" (-{})", format_bytes_binary(-saved)) : "";
}

}  // namespace

std::vector<report::RecipeEffect> recipe_effects(
    const scenario::Scenario& scenario, const std::optional<hardware::ProfileSearch>& search,
    const report::Evaluation& evaluation) {
  std::vector<report::RecipeEffect> effects;
  if (evaluation.step.given) {
    return effects;
  }
  const WhatIfStep now = what_if_of(evaluation.step);
  for (const scenario::RecipeSetting& setting : scenario.recipe.settings) {
    report::RecipeEffect effect{.key = setting.key,
                                .value = setting.value,
                                .source = setting.source,
                                .certain = setting.certain,
                                .time_without = now.time,
                                .memory_without = now.peak};
    const auto other = scenario::without_setting(scenario, setting.key);
    const bool changes = other && scenario::value_of(*other, setting.key) !=
                                      scenario::value_of(scenario, setting.key);
    if (changes) {
      const auto without = what_if_step(*other, search);
      effect.time_without = without ? std::optional(without->time) : std::nullopt;
      effect.memory_without = without ? std::optional(without->peak) : std::nullopt;
    }
    effects.push_back(std::move(effect));
  }
  return effects;
}

std::optional<std::string> switched_on(const scenario::Scenario& scenario,
                                       const report::Evaluation& evaluation) {
  std::vector<std::string> keys;
  for (const report::RecipeEffect& effect : evaluation.recipe) {
    const std::string words = effect_words(effect, what_if_of(evaluation.step));
    if (!words.empty()) {
      keys.push_back(fmt::format("{}: {}{}", effect.key, effect.value, words));
    }
  }
  if (keys.empty()) {
    return std::nullopt;
  }
  return fmt::format(
      "set as {}'s recipes do{}: {}", evaluation.echo.software,
      scenario.recipe.followed.empty() ? "" : ", release " + scenario.recipe.followed,
      fmt::join(keys, ", "));
}

std::optional<OtherContext> other_context(const scenario::Scenario& scenario, Seconds now,
                                          const std::optional<hardware::ProfileSearch>& search) {
  if (!scenario.recipe.context.empty() || scenario.recipe.silent == nullptr) {
    return std::nullopt;
  }
  Diagnostics unused;
  const auto recipes = scenario::presets_of(scenario).recipes(scenario.software, {}, unused);
  std::optional<OtherContext> furthest;
  const auto distance = [now](const WhatIfStep& step) { return open_choice(step.time, now); };
  for (const std::string& context : recipes ? recipes->contexts : std::vector<std::string>()) {
    const auto other = scenario::with_context(scenario, context);
    const auto step = other && other->recipe.settings != scenario.recipe.settings
                          ? what_if_step(*other, search)
                          : std::nullopt;
    if (step && (!furthest || distance(*step) > distance(furthest->step))) {
      furthest = {context, *step};
    }
  }
  return furthest;
}

std::optional<std::string> undecided_context(const report::Evaluation& evaluation,
                                             const std::optional<OtherContext>& other) {
  const Seconds now = to_seconds(evaluation.step.step_time);
  if (!other || std::abs(other->step.time / now - 1.0) < kWorthSaying) {
    return std::nullopt;
  }
  return fmt::format(
      "who runs {} is not stated; with software.context: {} a step takes {} "
      "instead of {}",
      evaluation.echo.software, other->context, format_time(other->step.time), format_time(now));
}

}  // namespace orrery::evaluate
