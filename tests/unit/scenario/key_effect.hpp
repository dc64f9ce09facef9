#pragma once

// Effects of single keys on a scenario: the rows of the tests of key effects.

#include <optional>
#include <string>
#include <vector>

#include "tests/unit/scenario/scenario_text.hpp"

namespace orrery::scenario {

struct Effect {
  std::string key;                   // row of the table
  std::string value;                 // a value other than the default
  std::string changed = {};          // lines of the dump that differ; else the key, as it prints
  ScenarioText::Pairs context = {};  // set before, in both versions
  std::string path = {};             // where the value goes, when not at `key`
};

// Options of the stack, offload, local steps, unequal GPUs, input data.
[[nodiscard]] const std::vector<Effect>& axis_effects();

// Targets, phases, rework, evaluations.
[[nodiscard]] const std::vector<Effect>& training_effects();

// Checkpoints and recovery.
[[nodiscard]] const std::vector<Effect>& checkpoint_effects();

// Spares, repair, sizes, spot nodes; prices.
[[nodiscard]] const std::vector<Effect>& capacity_effects();
[[nodiscard]] const std::vector<Effect>& price_effects();
// Causes of failures, what modulates them, and what is slow or wrong; recovery stages left aside.
[[nodiscard]] const std::vector<Effect>& cause_effects();

// Adapters and rollouts.
[[nodiscard]] const std::vector<Effect>& post_training_effects();

// What `orrery plan` searches.
[[nodiscard]] const std::vector<Effect>& plan_effects();

// What an item of this list of `failures` must state; nothing when it is no such list.
[[nodiscard]] std::optional<std::string> failure_item(const std::string& list);

// What must be stated before a key below one of these sections can be.
[[nodiscard]] ScenarioText::Pairs failure_context(const std::string& path);

}  // namespace orrery::scenario
