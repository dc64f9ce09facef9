#include "sim/yaml/flow_text.hpp"

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

}  // namespace orrery::yaml
