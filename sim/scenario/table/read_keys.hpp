#pragma once

// What does the mapping at the root of the file say? Walks it along the key table.
//
// Stores every value through its row and remembers where it stood. Unknown, missing and repeated
// keys become diagnostics. Rules that look at several keys follow in rules.hpp. Internal to
// scenario/.

#include "sim/scenario/table/key.hpp"
#include "sim/yaml/document.hpp"

namespace orrery::scenario {

void read_keys(const yaml::Value& root, Reading& reading);

// What the specs of a scenario hold, for rows to print and to change.
[[nodiscard]] Draft draft_of(const Scenario& scenario);

// One value for the key with this path, which is no item of a list.
void read_value(const yaml::Value& value, std::string_view path, Reading& reading);

}  // namespace orrery::scenario
