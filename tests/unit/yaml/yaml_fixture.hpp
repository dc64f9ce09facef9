#pragma once

// The message of a parser that refuses a text. Test helper.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/scalar.hpp"

namespace orrery::yaml {

// "message (allowed)" of a refusal, "" when the text was accepted.
template <typename T>
std::string refusal(const Parsed<T>& parsed) {
  return parsed.value ? "" : parsed.message;
}

inline std::string errors(std::string_view text, const Limits& limits = {}) {
  Diagnostics diagnostics;
  EXPECT_FALSE(parse(text, "a.yaml", limits, diagnostics).has_value());
  return to_string(diagnostics);
}

}  // namespace orrery::yaml
