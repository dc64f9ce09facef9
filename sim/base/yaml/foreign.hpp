#pragma once

// YAML of other programs, by the rules of document.hpp but for what their parsers take and mean: of
// a merge key (<<: *alias) the keys of the mapping itself count, then those of the first alias; a
// key may stand twice with one value.

#include "sim/base/yaml/document.hpp"

namespace orrery::yaml {

[[nodiscard]] std::optional<Value> parse_foreign(std::string_view text, std::string file_name,
                                                 const Limits& limits, Diagnostics& diagnostics);

}  // namespace orrery::yaml
