#include "sim/base/text/untrusted_json.hpp"

#include <fmt/core.h>

namespace orrery {

JsonProblem exceeded(std::string_view text, const JsonLimits& limits) {
  std::size_t level = 0;
  std::size_t values = 1;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    if (c == '[' || c == '{') {
      ++level;
      ++values;
    } else if (c == ']' || c == '}') {
      level -= level > 0 ? 1 : 0;
    } else if (c == ',') {
      ++values;
    }
    if (level > limits.levels) {
      return {fmt::format("has more than {} levels of brackets", limits.levels), i};
    }
    if (values > limits.values) {
      return {fmt::format("holds more than {} values", limits.values), i};
    }
  }
  return {};
}

}  // namespace orrery
