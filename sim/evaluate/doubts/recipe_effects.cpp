#include "sim/evaluate/doubts/recipe_effects.hpp"

#include <fmt/format.h>

#include <cmath>
#include <variant>

#include "sim/base/text/format.hpp"
#include "sim/evaluate/inputs/resolve.hpp"
#include "sim/scenario/recipes/recipe.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/step_simulator.hpp"

namespace orrery::evaluate {

namespace {

struct Estimate {
  Seconds time;
  Bytes peak;
};

Estimate estimate_of(const step::StepResult& step) {
  return {to_seconds(step.step_time), worst_peak(step)};
}

// Nothing where the stack cannot run it.
std::optional<Estimate> estimate(const scenario::Scenario& scenario,
                                 const std::optional<hardware::ProfileSearch>& search) {
  Diagnostics unused;
  const std::optional<Resolved> resolved = resolve(scenario, search, unused);
  if (!resolved || unused.has_errors()) {
    return std::nullopt;
  }
  const auto outcome =
      step::simulate_step(step_input(scenario, *resolved),
                          resolved->costs,
                          {.timeline = false, .operations = false, .ledger = false});
  const auto* result = std::get_if<step::StepResult>(&outcome);
  return result == nullptr ? std::nullopt : std::optional(estimate_of(*result));
}

constexpr double kWorthSaying = 0.005;  // of the time of a step
const Bytes kMemoryWorthSaying = gibibytes(1.0);

// "(-11 %)", or where the time stays "(-66 GiB)"; empty for what changes neither.
std::string effect_words(const report::RecipeEffect& effect, const Estimate& now) {
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
    const scenario::Scenario& scenario,
    const std::optional<hardware::ProfileSearch>& search,
    const report::Evaluation& evaluation) {
  std::vector<report::RecipeEffect> effects;
  if (evaluation.step.given) {
    return effects;
  }
  const Estimate now = estimate_of(evaluation.step);
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
      const auto without = estimate(*other, search);
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
    const std::string words = effect_words(effect, estimate_of(evaluation.step));
    if (!words.empty()) {
      keys.push_back(fmt::format("{}: {}{}", effect.key, effect.value, words));
    }
  }
  if (keys.empty()) {
    return std::nullopt;
  }
  return fmt::format(
      "set as {}'s recipes do{}: {}",
      evaluation.echo.software,
      scenario.recipe.followed.empty() ? "" : ", release " + scenario.recipe.followed,
      fmt::join(keys, ", "));
}

std::optional<std::string> undecided_context(const scenario::Scenario& scenario,
                                             const std::optional<hardware::ProfileSearch>& search,
                                             const report::Evaluation& evaluation) {
  constexpr std::string_view kBenchmark = "benchmark";
  if (!scenario.recipe.context.empty() || scenario.recipe.silent == nullptr ||
      evaluation.step.given) {
    return std::nullopt;
  }
  const auto other = scenario::with_context(scenario, kBenchmark);
  if (!other || other->recipe.settings == scenario.recipe.settings) {
    return std::nullopt;
  }
  const auto step = estimate(*other, search);
  if (!step || std::abs(step->time / to_seconds(evaluation.step.step_time) - 1.0) < kWorthSaying) {
    return std::nullopt;
  }
  return fmt::format(
      "as the project's benchmarks run {} (software.context: {}) a step takes {} "
      "instead of {}",
      evaluation.echo.software,
      kBenchmark,
      format_time(step->time),
      format_time(to_seconds(evaluation.step.step_time)));
}

}  // namespace orrery::evaluate
