#include "sim/base/text/text.hpp"

#include <algorithm>
#include <array>
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

namespace {

constexpr unsigned kContinuationMask = 0xC0;
constexpr unsigned kContinuation = 0x80;
constexpr unsigned char kAsciiEnd = 0x80;

// One row of the well-formed UTF-8 table of the Unicode standard (table 3-7).
struct Utf8Row {
  unsigned char lead_low;
  unsigned char lead_high;
  unsigned char second_low;
  unsigned char second_high;
  std::size_t length;
};

constexpr std::array<Utf8Row, 8> kUtf8Rows = {{{0xC2, 0xDF, 0x80, 0xBF, 2},
                                               {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                               {0xE1, 0xEC, 0x80, 0xBF, 3},
                                               {0xED, 0xED, 0x80, 0x9F, 3},
                                               {0xEE, 0xEF, 0x80, 0xBF, 3},
                                               {0xF0, 0xF0, 0x90, 0xBF, 4},
                                               {0xF1, 0xF3, 0x80, 0xBF, 4},
                                               {0xF4, 0xF4, 0x80, 0x8F, 4}}};

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & kContinuationMask) == kContinuation;
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

constexpr std::array<Range, 8> kHidden = {{{0x0000, 0x001F},  // C0
                                           {0x007F, 0x009F},  // DEL, C1
                                           {0x061C, 0x061C},  // Arabic letter mark
                                           {0x200E, 0x200F},  // left-to-right, right-to-left mark
                                           {0x2028, 0x202E},  // separators, embeddings, overrides
                                           {0x2066, 0x2069},  // isolates
                                           {0xFFFE, 0xFFFF},  // no characters
                                           {0xE0000, 0xE007F}}};  // invisible tags

std::string shown(std::string_view text, bool keep_line_ends) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const bool line_end = keep_line_ends && text.front() == '\n';
    if (line_end || (length > 0 && is_visible(code_point(text, length)))) {
      out += text.substr(0, length);
    } else {
      out += '?';
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < kAsciiEnd) {
    return 1;
  }
  for (const Utf8Row& row : kUtf8Rows) {
    if (lead < row.lead_low || lead > row.lead_high) {
      continue;
    }
    if (text.size() < row.length) {
      return 0;
    }
    const auto second = static_cast<unsigned char>(text[1]);
    const auto tail = text.substr(2, row.length - 2);
    const bool valid = second >= row.second_low && second <= row.second_high &&
                       std::ranges::all_of(tail, is_continuation);
    return valid ? row.length : 0;
  }
  return 0;
}

std::uint32_t code_point(std::string_view text, std::size_t length) {
  constexpr unsigned kPayload = 0x3F;
  constexpr unsigned kPayloadBits = 6;
  constexpr unsigned kLeadBits = 0x7F;
  const auto lead = static_cast<unsigned char>(text.front());
  std::uint32_t value = length <= 1 ? lead : lead & (kLeadBits >> length);
  for (std::size_t i = 1; i < length; ++i) {
    value = value << kPayloadBits | (static_cast<unsigned char>(text[i]) & kPayload);
  }
  return value;
}

bool is_visible(std::uint32_t code_point) {
  return std::ranges::none_of(kHidden, [code_point](const Range& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

std::string printable(std::string_view text) { return shown(text, false); }

std::string printable_lines(std::string_view text) { return shown(text, true); }

}  // namespace orrery
