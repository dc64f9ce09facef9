#pragma once

// From the tree of a file to the scenario: the part of load.hpp behind the YAML parser. Internal to
// scenario/.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::scenario {

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
