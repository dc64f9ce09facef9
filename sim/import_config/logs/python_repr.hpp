#pragma once

// What does the repr() of a Python dataclass say, as a tree of keys? Internal to import_config/.
//
//   Config(general=GeneralArgs(run='a', step=None), tokens=TokensArgs(sequence_length=256))
//
// is {general: {run: a, step: null}, tokens: {sequence_length: 256}}. Names of classes are dropped,
// as are arguments without a name; objects in angle brackets become the text between them.

#include <optional>
#include <string>
#include <string_view>

#include "sim/base/diagnostics.hpp"
#include "sim/yaml/document.hpp"

namespace orrery::import_config {

// Nothing after an error. `text` begins with the name of the class.
[[nodiscard]] std::optional<yaml::Value> parse_python_repr(std::string_view text,
                                                           const std::string& file,
                                                           Diagnostics& diagnostics);

}  // namespace orrery::import_config
