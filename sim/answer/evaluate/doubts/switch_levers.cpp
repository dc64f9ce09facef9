#include "sim/answer/evaluate/doubts/switch_levers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sim/answer/evaluate/doubts/what_if_step.hpp"
#include "sim/scenario/recipes/recipe.hpp"
#include "sim/scenario/variant.hpp"

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
                                               const std::optional<hardware::ProfileSearch>& search,
                                               const report::Evaluation& evaluation) {
  constexpr double kWorthSaying = 0.01;
  const WhatIfStep now = what_if_of(evaluation.step);
  std::vector<report::SwitchLever> levers;
  for (const auto& [key, value] : candidates(scenario, evaluation.step.ledger)) {
    Diagnostics unused;
    const auto changed = scenario::with_value(scenario, {key, value, {}}, unused);
    if (!changed || scenario::value_of(*changed, key) == scenario::value_of(scenario, key)) {
      continue;
    }
    const auto step = what_if_step(*changed, search);
    if (!step || (now.fits && !step->fits) || step->time > now.time * (1.0 - kWorthSaying)) {
      continue;
    }
    const auto same = std::find_if(levers.begin(), levers.end(),
                                   [&key = key](const auto& lever) { return lever.key == key; });
    if (same == levers.end()) {
      levers.push_back({key, value, step->time});
    } else if (step->time < same->step_time) {
      *same = {key, value, step->time};
    }
  }
  std::stable_sort(levers.begin(), levers.end(),
                   [](const auto& a, const auto& b) { return a.step_time < b.step_time; });
  return levers;
}

}  // namespace orrery::evaluate
