#pragma once

// Text helpers: lower case, trimming and splitting into lines. ASCII only: names, keys and units
// are the same in every locale.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

[[nodiscard]] constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] std::string lower_case(std::string_view text);

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Without the blanks at both ends.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text,
                                                 std::string_view blanks = " \t\r") {
  const std::size_t first = text.find_first_not_of(blanks);
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Without the line ends; a last line end starts no further line.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

}  // namespace orrery
