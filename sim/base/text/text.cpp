#include "sim/base/text/text.hpp"

#include <algorithm>
#include <cstddef>

namespace orrery {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    c = lower_case(c);
  }
  return lower;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace orrery
