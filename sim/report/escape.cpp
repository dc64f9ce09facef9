#include "sim/report/escape.hpp"

#include <cstddef>

namespace orrery::report {

namespace {

bool is_ascii(char c) {
  constexpr unsigned char kFirstNonAscii = 0x80;
  return static_cast<unsigned char>(c) < kFirstNonAscii;
}

bool is_continuation(char c) {
  constexpr unsigned kMask = 0xC0;
  constexpr unsigned kContinuation = 0x80;
  return (static_cast<unsigned char>(c) & kMask) == kContinuation;
}

// Bytes of the code point that starts here, 0 when it is not UTF-8.
std::size_t code_point_length(std::string_view text) {
  constexpr unsigned char kTwo = 0xC2;
  constexpr unsigned char kThree = 0xE0;
  constexpr unsigned char kFour = 0xF0;
  constexpr unsigned char kEnd = 0xF5;
  const auto first = static_cast<unsigned char>(text.front());
  if (is_ascii(text.front())) {
    return 1;
  }
  std::size_t length = first >= kTwo ? 2 : 0;
  length = first >= kThree ? 3 : length;
  length = first >= kFour ? 4 : length;
  if (length == 0 || first >= kEnd || text.size() < length) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) {
      return 0;
    }
  }
  return length;
}

}  // namespace

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string xml_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = code_point_length(text);
    const char c = text.front();
    constexpr char kFirstPrintable = ' ';
    if (length == 0 || (length == 1 && c < kFirstPrintable && c != '\t' && c != '\n')) {
      out += '?';
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\n') {
      out += "&#10;";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace orrery::report
