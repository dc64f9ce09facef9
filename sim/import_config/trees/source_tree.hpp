#pragma once

// From the text of a file to a tree of keys with positions, whatever its syntax. Internal to
// import_config/.
//
// syntax    | read by                     | kept strict
// ----------|-----------------------------|-------------------------------------------------------
// JSON      | nlohmann-json, then as YAML | what JSON forbids, and what YAML does
// YAML      | yaml/document.hpp           | its own rules
// TOML      | toml++                      | depth; a build without toml++ says so
// arguments | shell_script.hpp            | never executed
// Slurm     | slurm_topology.cpp          | NAME=VALUE, hostlists
// XML       | nccl_topology.cpp           | what NCCL's own reader takes
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
inline constexpr std::size_t kLongestKey = 1024;

[[nodiscard]] std::optional<yaml::Value> parse_json(std::string_view text,
                                                    const std::string& file,
                                                    Diagnostics& diagnostics);

[[nodiscard]] std::optional<yaml::Value> parse_toml(std::string_view text,
                                                    const std::string& file,
                                                    Diagnostics& diagnostics);

[[nodiscard]] std::optional<yaml::Value> parse_yaml(std::string_view text,
                                                    const std::string& file,
                                                    Diagnostics& diagnostics);

// The repr() of a Python dataclass, which begins with the name of the class:
//
//   Config(general=GeneralArgs(run='a', step=None), tokens=TokensArgs(sequence_length=256))
//
// is {general: {run: a, step: null}, tokens: {sequence_length: 256}}. Names of classes are dropped,
// as are arguments without a name; objects in angle brackets become the text between them.
[[nodiscard]] std::optional<yaml::Value> parse_python_repr(std::string_view text,
                                                           const std::string& file,
                                                           Diagnostics& diagnostics);

// Digits alone; nothing for other texts.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);

// {SwitchName: {s0: {Nodes: "n[0-15]"}}, BlockSizes: ...}; keys as its manual has them.
[[nodiscard]] std::optional<yaml::Value> parse_slurm_topology(std::string_view text,
                                                              const std::string& file,
                                                              Diagnostics& diagnostics);

// XML of elements and attributes: {net: {speed: [200000, ...]}}.
[[nodiscard]] std::optional<yaml::Value> parse_nccl_topology(std::string_view text,
                                                             const std::string& file,
                                                             Diagnostics& diagnostics);

// Follows values that point at others: ${.encoder_seq_length}, ${model.num_layers},
// ${multiply:4, ${.hidden_size}}. What cannot be followed stays as it is, and is reported as unread
// where it is needed; the number of replacements is bounded.
void follow_references(yaml::Value& root);

}  // namespace orrery::import_config
