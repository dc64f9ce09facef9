#pragma once

// Reader of a preset file, and the keys that each kind of preset may state. Internal to scenario/.

#include <optional>
#include <string>
#include <string_view>

#include "sim/scenario/presets/preset_library.hpp"
#include "sim/yaml/document.hpp"

namespace orrery::scenario {

inline constexpr std::string_view kPresetFormat = "orrery-preset/1";

// Of its files, below a directory of profiles.
[[nodiscard]] std::string_view folder_of(PresetKind kind);

// Nothing after an error. `name`: of the file.
[[nodiscard]] std::optional<Preset> read_preset_document(const yaml::Value& root,
                                                         PresetKind kind,
                                                         const std::string& name,
                                                         Diagnostics& diagnostics);

}  // namespace orrery::scenario
