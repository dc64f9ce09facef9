#pragma once

// Lookup of a key by its name or any alias, as find_key of variant.hpp, without a message: for
// importers, which try the names of other programs.

#include <optional>
#include <string_view>

#include "sim/scenario/variant.hpp"

namespace orrery::scenario {

[[nodiscard]] std::optional<KeyFacts> known_key(std::string_view key);

}  // namespace orrery::scenario
