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

}  // namespace orrery::import_config
