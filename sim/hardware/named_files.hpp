#pragma once

// The file that a path in a scenario means: one beside the scenario, else from the working
// directory; nothing when there is none. A profile may also be named, and is then looked for in the
// directories of a search (profile_reader.hpp).

#include <filesystem>
#include <optional>
#include <string_view>

#include "sim/base/diagnostics.hpp"
#include "sim/hardware/cluster_spec.hpp"

namespace orrery::hardware {

// `where`: of the key, in the scenario.
[[nodiscard]] std::optional<std::filesystem::path> file_beside(const std::filesystem::path& path,
                                                               const SourceLocation& where);

// Nothing where it is the name of a profile.
[[nodiscard]] std::optional<std::filesystem::path> named_profile(std::string_view name_or_path,
                                                                 const SourceLocation& where);

// The tables of network.collectives; nothing for `none` and where it is not stated.
[[nodiscard]] std::optional<std::filesystem::path> named_tables(const NetworkSpec& network,
                                                                const SourceLocation& where);

}  // namespace orrery::hardware
