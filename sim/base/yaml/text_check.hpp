#pragma once

// Checks that a text is clean enough to parse, and maps byte offsets to lines and columns.
//
// Clean: valid UTF-8 (no overlong forms, no surrogates) without NUL and control characters other
// than tab, line feed, and carriage return before a line feed. For the readers of yaml/ and of
// import_config/.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/text/text.hpp"

namespace orrery::yaml {

// Maps zero-based (line, byte) to a one-based column that counts characters. O(log n) per query.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);

  // Offset into the text, clamped to it.
  [[nodiscard]] std::size_t offset(int line, int byte_in_line) const;
  [[nodiscard]] SourceLocation location(const std::string& file, int line, int byte_in_line) const;
  [[nodiscard]] SourceLocation location_of(const std::string& file, std::size_t offset) const;

 private:
  std::size_t size_;
  std::vector<std::uint32_t> line_starts_;
  std::vector<std::uint32_t> continuations_;  // offsets of UTF-8 continuation bytes, ascending
};

// Adds one error for the first unclean byte and returns false; true when there is none.
[[nodiscard]] bool check_text(std::string_view text, const std::string& file,
                              const LineIndex& lines, Diagnostics& diagnostics);

// True for a byte that must not stand in a key: below space, or DEL.
[[nodiscard]] constexpr bool is_control(char c) {
  constexpr unsigned char kSpace = 0x20;
  constexpr unsigned char kDelete = 0x7F;
  const auto byte = static_cast<unsigned char>(c);
  return byte < kSpace || byte == kDelete;
}

}  // namespace orrery::yaml
