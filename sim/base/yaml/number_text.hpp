#pragma once

// Splits a text into a number and the unit behind it, and checks the number against the grammar
// shared by all scalar parsers: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?  Internal to yaml/.

#include <fmt/core.h>

#include <optional>
#include <string>
#include <string_view>

#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/scalar.hpp"

namespace orrery::yaml {

struct NumberText {
  std::string_view number;  // the matched prefix
  std::string_view rest;    // what follows, after at most one space
  std::string problem;      // what is wrong with the number or what follows directly; else empty
};

[[nodiscard]] NumberText split_number(std::string_view text);

// The double nearest to a text that split_number accepted; `problem` when it is out of range.
struct NumberValue {
  double value = 0.0;
  std::string problem;
};

[[nodiscard]] NumberValue number_value(std::string_view number);

// The refusal of a scalar: the text as written in the file, the problem and what is allowed.
template <typename T>
[[nodiscard]] Parsed<T> refuse(std::string_view text, std::string_view problem,
                               std::string_view allowed) {
  return {std::nullopt, fmt::format("{} {}", display(text), problem), std::string(allowed)};
}

}  // namespace orrery::yaml
