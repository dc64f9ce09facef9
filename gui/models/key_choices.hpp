#pragma once

// Names from the catalogue that a key of the scenario accepts, for keys that take such names.

#include <QStringList>
#include <optional>
#include <string>
#include <string_view>

#include "sim/scenario/table/fields.hpp"

namespace orrery::gui {

// Profiles and presets for cluster.gpu, software, cluster.network.preset, ...; nothing for keys
// that take no names. `scenario_file` says where profiles are looked for; may be empty.
[[nodiscard]] std::optional<QStringList> catalog_names(std::string_view key,
                                                       const std::string& scenario_file);

// All that a key takes by name: its words, else the catalogue's; empty for other keys.
[[nodiscard]] QStringList names_of(const scenario::Field& field, const std::string& scenario_file);

}  // namespace orrery::gui
