#pragma once

// The keys that a file states, with their values, and the differences between files.
//
// Keys are in the spelling of the reference whatever alias the file uses; a list of scalars is one
// value in flow style, items of other lists are keys of their own: failures.causes[0].weight. A
// text that is no YAML states nothing.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"

namespace orrery::scenario {

struct StatedKey {
  std::string key;
  std::string value;  // "[a, b]" for a list of scalars, "{}" and "[]" for what is empty
  SourceLocation where;
};

// In the order of the file.
[[nodiscard]] std::vector<StatedKey> stated_keys(std::string_view text);

struct DifferingKey {
  std::string key;
  std::vector<std::optional<std::string>> values;  // by text; nothing where it is not stated
};

// Keys that not all texts state alike, in the order in which they occur.
[[nodiscard]] std::vector<DifferingKey> differing_keys(std::span<const std::string> texts);

}  // namespace orrery::scenario
