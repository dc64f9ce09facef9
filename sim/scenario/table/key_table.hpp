#pragma once

// The table of all keys of a scenario, in the order in which they are read and described.
//
// A preset comes before the keys that override it. Internal to scenario/.

#include <span>
#include <string_view>
#include <vector>

#include "sim/scenario/table/key.hpp"

namespace orrery::scenario {

inline constexpr std::string_view kFormat = "orrery/1";

[[nodiscard]] const std::vector<Key>& key_table();

// The rows directly below `parent` ("" for the top level), in table order.
[[nodiscard]] std::span<const Key* const> children_of(std::string_view parent);

// The one of them with this name or alias; nullptr when there is none.
[[nodiscard]] const Key* row_below(std::string_view parent, std::string_view name);

// Paths of the keys outside lists that have this name or alias.
[[nodiscard]] std::vector<std::string_view> paths_named(std::string_view name);

// The key that a text in place of the section means: `preset` of `failures: llama3-2024`, `name` of
// `software: nemo`, `compute` of `precision: bf16`; empty where there is none.
[[nodiscard]] std::string_view key_of_text(std::string_view row);

// What the mapping says of the key, under whichever of its names; nullptr: nothing.
[[nodiscard]] const yaml::Entry* entry_of(const yaml::Value& mapping, const Key& key);

// The rows of one part of the format, for key_table().
[[nodiscard]] std::vector<Key> model_keys();
[[nodiscard]] std::vector<Key> layer_keys();
[[nodiscard]] std::vector<Key> cluster_keys();
[[nodiscard]] std::vector<Key> layout_keys();
[[nodiscard]] std::vector<Key> step_keys();
[[nodiscard]] std::vector<Key> overlap_keys();
[[nodiscard]] std::vector<Key> software_keys();
[[nodiscard]] std::vector<Key> axis_keys();
[[nodiscard]] std::vector<Key> imperfection_keys();
[[nodiscard]] std::vector<Key> rollout_keys();
[[nodiscard]] std::vector<Key> training_keys();
[[nodiscard]] std::vector<Key> capacity_keys();
[[nodiscard]] std::vector<Key> price_keys();
[[nodiscard]] std::vector<Key> run_keys();
[[nodiscard]] std::vector<Key> failure_keys();
[[nodiscard]] std::vector<Key> measured_keys();
[[nodiscard]] std::vector<Key> checkpoint_keys();
[[nodiscard]] std::vector<Key> recovery_keys();
[[nodiscard]] std::vector<Key> plan_keys();

}  // namespace orrery::scenario
