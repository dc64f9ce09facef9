#pragma once

// Is this file a scenario, and what does it say? The strict reader of the format `orrery/1`.
//
// All problems are reported at once, with file, line, column, key and allowed values. Returns
// nothing when there is any error; warnings alone do not stop it. Throws Error(io) when the file
// cannot be read. No profile is read here and no cross-stage rule is checked: that is evaluate/.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::scenario {

[[nodiscard]] std::optional<Scenario> load_file(const std::filesystem::path& path,
                                                Diagnostics& diagnostics);

[[nodiscard]] std::optional<Scenario> load_text(std::string_view text,
                                                const std::string& file_name,
                                                Diagnostics& diagnostics);

// JSON Schema (draft 7) of the format, and its reference in Markdown; both from the key table.
[[nodiscard]] std::string json_schema();
[[nodiscard]] std::string reference_markdown();

}  // namespace orrery::scenario
