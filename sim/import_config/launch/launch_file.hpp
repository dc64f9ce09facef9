#pragma once

// A scenario as the launch file of a training program: the way back from import_config.hpp.
//
// program          | file                                | says nothing of
// -----------------|-------------------------------------|-----------------------------------------
// megatron         | a script for torchrun               |
// megatron-bridge  | YAML, a ConfigContainer             | number of GPUs
// nemo             | YAML with trainer and model         |
// torchtitan       | TOML                                | number of GPUs; dimensions of the model
//                  |                                     | stand in its code, by name
// deepspeed        | JSON                                | model, recomputation, number of GPUs
//
// The text is imported again, and every key that the scenario states or its recipes set must come
// back with its value: what the program has no key for is an error at that key, so that no setting
// is lost on the way.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::import_config {

enum class LaunchProgram { megatron, megatron_bridge, nemo, torchtitan, deepspeed };

inline constexpr std::array<std::string_view, 5> kLaunchPrograms = {
    "megatron", "megatron-bridge", "nemo", "torchtitan", "deepspeed"};

[[nodiscard]] std::optional<LaunchProgram> find_launch_program(std::string_view name);

// Nothing after errors.
[[nodiscard]] std::optional<std::string> launch_file(const scenario::Scenario& scenario,
                                                     LaunchProgram program,
                                                     Diagnostics& diagnostics);

// A scenario as settings of another program: what its launch file says, before it is spelled out.
//
// Names come from scenarios/imports: launch.words, and the tables of keys read the other way round,
// whose `takes` rows give a key and its value for a value of the scenario, `sets` rows the key of a
// number or a switch. What takes arithmetic stands in the code of its program. Nothing here needs
// to be complete: launch_file.hpp reads the file back.

struct LaunchSetting {
  std::string key;    // section.name, or a name of the command line with `_` for `-`
  std::string value;  // empty: a switch of the command line
};

// Of the scenario; empty where it has none.
[[nodiscard]] std::string value_at(const scenario::Scenario& scenario, std::string_view key);

// The same as a number; 0 where it is none.
[[nodiscard]] std::int64_t count_at(const scenario::Scenario& scenario, std::string_view key);

// What launch.words says of the scenario for the program.
void add_rows(const scenario::Scenario& scenario, std::string_view program,
              std::vector<LaunchSetting>& settings);

// An argument of Megatron-LM in the words of another program, by launch.words; false where it has
// no row.
bool translate(std::string_view program, const LaunchSetting& argument, const std::string& value,
               std::vector<LaunchSetting>& settings);

// "--bf16 --fp8-format hybrid": {bf16, ""}, {fp8_format, hybrid}.
[[nodiscard]] std::vector<LaunchSetting> settings_of(std::string_view words);

// What a table says for this key and value of a scenario; nothing where it cannot be turned round.
[[nodiscard]] std::optional<LaunchSetting> inverted(std::string_view program, std::string_view key,
                                                    std::string_view value);

// The key of a table whose last part this is, one below `model.` first; empty without any.
[[nodiscard]] std::string key_ending_in(std::string_view program, std::string_view name);

// Megatron-LM, by the names of its command line.
[[nodiscard]] std::vector<LaunchSetting> megatron_settings(const scenario::Scenario& scenario);
// The same in the sections of Megatron-Bridge, and of NeMo's trainer and model.
[[nodiscard]] std::vector<LaunchSetting> bridge_settings(const scenario::Scenario& scenario);
[[nodiscard]] std::vector<LaunchSetting> nemo_settings(const scenario::Scenario& scenario);
[[nodiscard]] std::vector<LaunchSetting> torchtitan_settings(const scenario::Scenario& scenario);
// Without the model and what its code decides.
[[nodiscard]] std::vector<LaunchSetting> deepspeed_settings(const scenario::Scenario& scenario);

enum class TreeFormat { yaml, toml, json };

// Sections as the format nests them.
[[nodiscard]] std::string as_tree(const std::vector<LaunchSetting>& settings, TreeFormat format);

}  // namespace orrery::import_config
