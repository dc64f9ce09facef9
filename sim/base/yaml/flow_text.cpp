#include "sim/base/yaml/flow_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace orrery::yaml {

std::string in_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    constexpr unsigned char kFirstPrintable = 0x20;
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < kFirstPrintable) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

namespace {

// Behind a key plain words may hold what ends them in flow style.
std::string word(std::string_view text, bool quoted) {
  return quoted || text.find_first_of(",[]{}\n") != std::string_view::npos ? in_quotes(text)
                                                                           : std::string(text);
}

}  // namespace

std::string flow_text(const Value& value) {
  std::string text;
  switch (value.kind) {
    case Value::Kind::null:
      return "null";
    case Value::Kind::scalar:
      return word(value.text, value.quoted);
    case Value::Kind::sequence:
      for (const Value& item : value.items) {
        text += (text.empty() ? "" : ", ") + flow_text(item);
      }
      return "[" + text + "]";
    case Value::Kind::mapping:
      for (const Entry& entry : value.entries) {
        text += (text.empty() ? "" : ", ") + word(entry.key, false) + ": " + flow_text(entry.value);
      }
      return "{" + text + "}";
  }
  return text;
}

std::string flow_scalar(const std::string& text) {
  const bool word = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  });
  if (word && std::isalpha(static_cast<unsigned char>(text.front())) != 0 && text != "null" &&
      text != "true" && text != "false") {
    return text;
  }
  std::string quoted = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char kSpace = 0x20;
    constexpr unsigned char kDelete = 0x7F;
    quoted += byte < kSpace || byte == kDelete ? ' ' : c;
    quoted += c == '\'' ? "'" : "";
  }
  return quoted + "'";
}

}  // namespace orrery::yaml
