#pragma once

// Runs the YAML parser library over a text and feeds a TreeBuilder. The only door to that library:
// no other file of the program sees it. Internal to yaml/.

#include <string_view>

#include "sim/yaml/tree_builder.hpp"

namespace orrery::yaml {

// Syntax errors become one diagnostic of the builder. `text` must be clean (text_check.hpp) and
// without byte order mark. Returns false after an error.
[[nodiscard]] bool feed_events(std::string_view text, const Limits& limits, TreeBuilder& builder);

}  // namespace orrery::yaml
