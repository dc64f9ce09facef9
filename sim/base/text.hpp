#pragma once

// What is a text without its case, and which lines has it? In ASCII only: names, keys and units are
// the same in every locale.

#include <string>
#include <string_view>
#include <vector>

namespace orrery {

[[nodiscard]] constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] std::string lower_case(std::string_view text);

// Without the line ends; a last line end starts no further line.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

}  // namespace orrery
