#include "sim/base/yaml/text_check.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace orrery::yaml {

namespace {

constexpr unsigned kContinuationMask = 0xC0;
constexpr unsigned kContinuation = 0x80;

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & kContinuationMask) == kContinuation;
}

// C1 control characters except NEL, which YAML calls printable.
bool is_c1_control(std::string_view sequence) {
  constexpr std::string_view kLead = "\xC2";
  constexpr unsigned char kNextLine = 0x85;
  constexpr unsigned char kLastControl = 0x9F;
  if (sequence.size() != 2 || sequence.substr(0, 1) != kLead) {
    return false;
  }
  const auto second = static_cast<unsigned char>(sequence[1]);
  return second <= kLastControl && second != kNextLine;
}

}  // namespace

LineIndex::LineIndex(std::string_view text) : size_(text.size()), line_starts_{0} {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      line_starts_.push_back(static_cast<std::uint32_t>(i + 1));
    } else if (is_continuation(text[i])) {
      continuations_.push_back(static_cast<std::uint32_t>(i));
    }
  }
}

std::size_t LineIndex::offset(int line, int byte_in_line) const {
  const auto index = std::min(static_cast<std::size_t>(std::max(line, 0)), line_starts_.size() - 1);
  const auto start = static_cast<std::size_t>(line_starts_[index]);
  return std::min(start + static_cast<std::size_t>(std::max(byte_in_line, 0)), size_);
}

SourceLocation LineIndex::location(const std::string& file, int line, int byte_in_line) const {
  return location_of(file, offset(line, byte_in_line));
}

SourceLocation LineIndex::location_of(const std::string& file, std::size_t offset) const {
  const auto end = std::min(offset, size_);
  const auto next = std::ranges::upper_bound(line_starts_, end);
  const auto line = std::distance(line_starts_.begin(), next);
  const auto start = static_cast<std::size_t>(*std::prev(next));
  const auto hidden = std::distance(std::ranges::lower_bound(continuations_, start),
                                    std::ranges::lower_bound(continuations_, end));
  const auto column = static_cast<std::ptrdiff_t>(end - start) - hidden + 1;
  return {file, static_cast<int>(line), static_cast<int>(column)};
}

bool check_text(std::string_view text, const std::string& file, const LineIndex& lines,
                Diagnostics& diagnostics) {
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      diagnostics.error(
          lines.location_of(file, i), {},
          fmt::format("byte 0x{:02X} is not valid UTF-8", static_cast<unsigned char>(c)),
          "save the file as UTF-8");
      return false;
    }
    const bool line_end = c == '\n' || (c == '\r' && text.substr(i + 1, 1) == "\n");
    if (is_control(c) && c != '\t' && !line_end) {
      diagnostics.error(lines.location_of(file, i), {},
                        fmt::format("control character 0x{:02X}", static_cast<unsigned char>(c)),
                        c == '\r'
                            ? "end lines with a line feed"
                            : "only tab and line ends; in quotes write an escape such as \\t");
      return false;
    }
    if (is_c1_control(text.substr(i, length))) {
      diagnostics.error(
          lines.location_of(file, i), {},
          fmt::format("control character U+00{:02X}", static_cast<unsigned char>(text[i + 1])),
          "remove it");
      return false;
    }
    i += length;
  }
  return true;
}

}  // namespace orrery::yaml
