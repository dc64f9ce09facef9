#pragma once

// A condition on a key of the scenario, as the profile of a stack states it: the key's value, a
// bound as ">=2" or "<=1", or a list of which one holds. Internal to scenario/.

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/yaml/document.hpp"
#include "sim/scenario/table/key.hpp"

namespace orrery::scenario {

// The row of the key where all sections above it are there; nullptr otherwise.
[[nodiscard]] const Key* entered_row(std::string_view path, Draft& draft);

// Whether the key has this value, or one within this bound.
[[nodiscard]] bool has_value(Draft& draft, std::string_view path, std::string_view word);

// One word, or the items of a list.
[[nodiscard]] std::vector<std::string> condition_words(const yaml::Value& value);

}  // namespace orrery::scenario
