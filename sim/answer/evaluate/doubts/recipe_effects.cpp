#include "sim/answer/evaluate/doubts/recipe_effects.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/answer/evaluate/doubts/step_evidence.hpp"
#include "sim/answer/evaluate/doubts/what_if_step.hpp"
#include "sim/base/text/format.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/scenario/recipes/recipe.hpp"
#include "sim/scenario/recipes/recipe_document.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::evaluate {

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
