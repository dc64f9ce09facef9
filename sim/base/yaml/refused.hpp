#pragma once

// The refusal of a scalar: the text as written in the file, the problem and what is allowed.
// Internal to yaml/.

#include <fmt/core.h>

#include <optional>
#include <string>
#include <string_view>

#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/scalar.hpp"

namespace orrery::yaml {

template <typename T>
[[nodiscard]] Parsed<T> refuse(std::string_view text, std::string_view problem,
                               std::string_view allowed) {
  return {std::nullopt, fmt::format("{} {}", display(text), problem), std::string(allowed)};
}

}  // namespace orrery::yaml
