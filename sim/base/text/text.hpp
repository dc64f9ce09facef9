#pragma once

// Text helpers: lower case, trimming and splitting into lines, ASCII only (names, keys and units
// are the same in every locale); and UTF-8, with what of it is safe to show to a reader.

#include <cstddef>
#include <cstdint>
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

// A text that came from a file (a name, a path, a key) can steer the terminal that shows it, and
// can look different from what it is. `printable` replaces with `?`, and nothing else:
//
//   bytes that are not UTF-8; control characters (C0, DEL, C1); marks and overrides of the writing
//   direction (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069); line and paragraph
//   separators (U+2028, U+2029); what is no character in any text (U+FFFE, U+FFFF); invisible tags
//   (U+E0000 to U+E007F)
//
// Source: Unicode 15, table 3-7 (well-formed UTF-8), annex 9 (bidirectional text), CVE-2021-42574.
[[nodiscard]] std::string printable(std::string_view text);

// The same for a text of several lines: line ends stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

// Bytes of the character that starts here, 0 when it is not well-formed UTF-8.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

// The character of the `length` bytes that utf8_length found.
[[nodiscard]] std::uint32_t code_point(std::string_view text, std::size_t length);

// False for the characters above.
[[nodiscard]] bool is_visible(std::uint32_t code_point);

}  // namespace orrery
