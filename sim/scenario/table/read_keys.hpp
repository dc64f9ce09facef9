#pragma once

// Reads the mapping at the root of a scenario file by walking along the key table.
//
// Stores every value through its row and remembers where it stood. Unknown, missing and repeated
// keys become diagnostics. Rules that look at several keys follow in rules.hpp. Internal to
// scenario/.

#include <span>
#include <string>
#include <string_view>

#include "sim/base/yaml/document.hpp"
#include "sim/scenario/table/key.hpp"

namespace orrery::scenario {

void read_keys(const yaml::Value& root, Reading& reading);

// Of the mapping at `row` (empty: the root) only the rows of `only` and below; others are left over
// for whoever owns the reader.
void read_keys(yaml::MappingReader& reader, const std::string& row,
               std::span<const std::string_view> only, Reading& reading);

// What the specs of a scenario hold, for rows to print and to change.
[[nodiscard]] Draft draft_of(const Scenario& scenario);

// One value as the key of this row takes it; `path`: what messages call it.
void read_value(const yaml::Value& value, const std::string& path, std::string_view row,
                Reading& reading);

}  // namespace orrery::scenario
