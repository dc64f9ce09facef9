#pragma once

// The table of all keys of a scenario, in the order in which they are read and described.
//
// A preset comes before the keys that override it. Internal to scenario/.

#include <span>
#include <string_view>
#include <vector>

#include "sim/scenario/table/key.hpp"

namespace orrery::scenario {

class Rows;

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

// Add the rows of one part of the format, for key_table().
void model_keys(Rows& rows);
void layer_keys(Rows& rows);
void cluster_keys(Rows& rows);
void layout_keys(Rows& rows);
void step_keys(Rows& rows);
void overlap_keys(Rows& rows);
void software_keys(Rows& rows);
void axis_keys(Rows& rows);
void imperfection_keys(Rows& rows);
void rollout_keys(Rows& rows);
void training_keys(Rows& rows);
void capacity_keys(Rows& rows);
void price_keys(Rows& rows);
void run_keys(Rows& rows);
void failure_keys(Rows& rows);
void measured_keys(Rows& rows);
void checkpoint_keys(Rows& rows);
void recovery_keys(Rows& rows);
void plan_keys(Rows& rows);

}  // namespace orrery::scenario
