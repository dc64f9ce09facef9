#pragma once

// A value of a document on one line, in flow style, as it would be written behind a key or behind
// `--vary KEY=`: [1, 2], {kind: gdr, ranks: 8}; quoted words keep their quotes, and words that
// would end early get some. Read again it is the same value.

#include <string>
#include <string_view>

#include "sim/base/yaml/document.hpp"

namespace orrery::yaml {

[[nodiscard]] std::string flow_text(const Value& value);

// Any text in double quotes, with what YAML reads otherwise escaped.
[[nodiscard]] std::string in_quotes(std::string_view text);

// A text: a plain word as it is, every other one in quotes.
[[nodiscard]] std::string flow_scalar(const std::string& text);

}  // namespace orrery::yaml
