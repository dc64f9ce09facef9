#pragma once

// Names from the catalogue that a key of the scenario accepts, for keys that take such names.

#include <QStringList>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::gui {

// Profiles and presets for cluster.gpu, software, cluster.network.preset, ...; nothing for keys
// that take no names. `scenario_file` says where profiles are looked for; may be empty.
[[nodiscard]] std::optional<QStringList> catalog_names(std::string_view key,
                                                       const std::string& scenario_file);

}  // namespace orrery::gui
