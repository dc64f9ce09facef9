#pragma once

// Reads the mapping at the root of a scenario file by walking along the key table.
//
// Stores every value through its row and remembers where it stood. Unknown, missing and repeated
// keys become diagnostics. Rules that look at several keys follow in rules.hpp. Internal to
// scenario/.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/scenario/scenario.hpp"
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

// From the tree of a file to the scenario: the part of load.hpp behind the YAML parser. Internal to
// scenario/.

// The tree of a text in the format orrery/1, its keys unread.
[[nodiscard]] std::optional<yaml::Value> parse_tree(std::string_view text,
                                                    const std::string& file_name,
                                                    Diagnostics& diagnostics);

[[nodiscard]] std::optional<Scenario> read_tree(const yaml::Value& root,
                                                const std::string& file_name,
                                                const std::string& sha256,
                                                std::shared_ptr<const PresetLibrary> presets,
                                                Diagnostics& diagnostics);

// `search`: default: that of the file.
[[nodiscard]] std::shared_ptr<const PresetLibrary> presets_for(
    const std::string& file_name, const std::optional<hardware::ProfileSearch>& search);

// The text of the file, or nothing when it is too large for one (reported).
[[nodiscard]] std::optional<std::string> read_text_of(const std::string& path,
                                                      Diagnostics& diagnostics);

}  // namespace orrery::scenario
