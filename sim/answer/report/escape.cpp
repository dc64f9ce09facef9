#include "sim/answer/report/escape.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/base/text/unicode.hpp"

namespace orrery::report {

namespace {

// What XML 1.0 (section 2.2) lets a document hold, less what a reader cannot see.
bool is_xml(std::string_view text, std::size_t length) {
  const char c = text.front();
  return length > 0 && (c == '\t' || c == '\n' || is_visible(code_point(text, length)));
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
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (!is_xml(text, length)) {
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
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

}  // namespace orrery::report
