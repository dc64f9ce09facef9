#pragma once

// UTF-8 decoding, and which characters are safe to show to a reader.
//
// A text that came from a file (a name, a path, a key) can steer the terminal that shows it, and
// can look different from what it is. `printable` replaces with `?`, and nothing else:
//
//   bytes that are not UTF-8; control characters (C0, DEL, C1); marks and overrides of the writing
//   direction (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069); line and paragraph
//   separators (U+2028, U+2029); what is no character in any text (U+FFFE, U+FFFF); invisible tags
//   (U+E0000 to U+E007F)
//
// Source: Unicode 15, table 3-7 (well-formed UTF-8), annex 9 (bidirectional text), CVE-2021-42574.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace orrery {

// Bytes of the character that starts here, 0 when it is not well-formed UTF-8.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

// The character of the `length` bytes that utf8_length found.
[[nodiscard]] std::uint32_t code_point(std::string_view text, std::size_t length);

// False for the characters above.
[[nodiscard]] bool is_visible(std::uint32_t code_point);

[[nodiscard]] std::string printable(std::string_view text);

// The same for a text of several lines: line ends stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace orrery
