#pragma once

// From the text of a file to a tree of keys with positions, whatever its syntax. Internal to
// import_config/.
//
// syntax    | read by                     | kept strict
// ----------|-----------------------------|-------------------------------------------------------
// JSON      | nlohmann-json, event by event | duplicate keys, depth, size
// YAML      | yaml/document.hpp           | its own rules
// TOML      | toml++                      | depth; a build without toml++ says so
// arguments | shell_script.hpp            | never executed
//
// Every problem is a diagnostic with file, line and column; then there is no tree.

#include <optional>
#include <string>
#include <string_view>

#include "sim/base/diagnostics.hpp"
#include "sim/yaml/document.hpp"

namespace orrery::import_config {

// Levels of nesting that a configuration may have.
inline constexpr std::size_t kMostLevels = 64;
inline constexpr std::size_t kMostValues = 50'000;

[[nodiscard]] std::optional<yaml::Value> parse_json(std::string_view text,
                                                    const std::string& file,
                                                    Diagnostics& diagnostics);

[[nodiscard]] std::optional<yaml::Value> parse_toml(std::string_view text,
                                                    const std::string& file,
                                                    Diagnostics& diagnostics);

[[nodiscard]] std::optional<yaml::Value> parse_yaml(std::string_view text,
                                                    const std::string& file,
                                                    Diagnostics& diagnostics);

}  // namespace orrery::import_config
