#include "sim/yaml/flow_text.hpp"

#include <algorithm>
#include <cctype>

namespace orrery::yaml {

std::string flow_text(const Value& value) {
  std::string text;
  switch (value.kind) {
    case Value::Kind::null:
      return "null";
    case Value::Kind::scalar:
      return value.quoted ? "\"" + value.text + "\"" : value.text;
    case Value::Kind::sequence:
      for (const Value& item : value.items) {
        text += (text.empty() ? "" : ", ") + flow_text(item);
      }
      return "[" + text + "]";
    case Value::Kind::mapping:
      for (const Entry& entry : value.entries) {
        text += (text.empty() ? "" : ", ") + entry.key + ": " + flow_text(entry.value);
      }
      return "{" + text + "}";
  }
  return text;
}

std::string flow_scalar(const std::string& text) {
  const bool word = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
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
