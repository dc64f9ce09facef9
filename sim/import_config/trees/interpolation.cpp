#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/text/text.hpp"
#include "sim/import_config/trees/source_keys.hpp"

namespace orrery::import_config {

namespace {

using yaml::Value;

constexpr int kMostReferences = 16;
constexpr std::size_t kMostSteps = 100'000;

using Chain = std::vector<const Value*>;  // the mappings around a value, the nearest last

const Value* child(const Value& mapping, std::string_view key) {
  for (const yaml::Entry& entry : mapping.entries) {
    if (entry.key == key) {
      return &entry.value;
    }
  }
  return nullptr;
}

const Value* follow(const Value* at, std::string_view path) {
  while (at != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    at = child(*at, path.substr(0, dot));
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
  }
  return at;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  constexpr std::int64_t kMost = std::int64_t{1} << 31U;
  const bool sound = error == std::errc{} && stop == end && value <= kMost && value >= -kMost;
  return sound ? std::optional(value) : std::nullopt;
}

class References {
 public:
  explicit References(const Value& root) : root_(root) {}

  // The value of a text that is one reference as a whole.
  std::optional<std::string> value(std::string_view text, const Chain& chain, int depth) {
    text = trimmed(text);
    if (++steps_ > kMostSteps || depth > kMostReferences) {
      return std::nullopt;
    }
    if (!text.starts_with("${")) {
      return std::string(text);
    }
    if (!text.ends_with("}")) {
      return std::nullopt;
    }
    const std::string_view inner = text.substr(2, text.size() - 3);
    const std::size_t colon = inner.find(':');
    if (colon != std::string_view::npos && inner.find('{') > colon) {
      return computed(inner.substr(0, colon), inner.substr(colon + 1), chain, depth);
    }
    const Value* target = find(inner, chain);
    return target != nullptr && target->kind == Value::Kind::scalar
               ? value(target->text, chain, depth + 1)
               : std::nullopt;
  }

 private:
  // `.a` is beside the value, each further dot is one level up; a name may lack its first part when
  // the file is one of several that are put together.
  const Value* find(std::string_view path, const Chain& chain) const {
    if (path.starts_with(".")) {
      std::size_t up = 0;
      while (up < path.size() && path[up] == '.') {
        ++up;
      }
      return up <= chain.size() ? follow(chain[chain.size() - up], path.substr(up)) : nullptr;
    }
    if (const Value* found = follow(&root_, path)) {
      return found;
    }
    const std::size_t dot = path.find('.');
    return dot == std::string_view::npos ? nullptr : follow(&root_, path.substr(dot + 1));
  }

  std::optional<std::string> computed(std::string_view name, std::string_view arguments,
                                      const Chain& chain, int depth) {
    // ${TP:8}: what stands in the environment, or 8 (Primus).
    if (name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == std::string_view::npos) {
      return value(arguments, chain, depth + 1);
    }
    std::size_t comma = 0;
    int open = 0;
    while (comma < arguments.size() && (arguments[comma] != ',' || open > 0)) {
      open += arguments[comma] == '{' ? 1 : 0;
      open -= arguments[comma] == '}' ? 1 : 0;
      ++comma;
    }
    if (comma >= arguments.size()) {
      return std::nullopt;
    }
    const auto left = value(arguments.substr(0, comma), chain, depth + 1);
    const auto right = value(arguments.substr(comma + 1), chain, depth + 1);
    const auto a = left ? whole_number(*left) : std::nullopt;
    const auto b = right ? whole_number(*right) : std::nullopt;
    if (!a || !b) {
      return std::nullopt;
    }
    if (name == "multiply") {
      return std::to_string(*a * *b);
    }
    if (name == "add" || name == "sum") {
      return std::to_string(*a + *b);
    }
    if ((name == "divide" || name == "int_div") && *b != 0 && *a % *b == 0) {
      return std::to_string(*a / *b);
    }
    return std::nullopt;
  }

  const Value& root_;
  std::size_t steps_ = 0;
};

void replace(Value& value, Chain& chain, References& references) {
  if (value.kind == Value::Kind::mapping) {
    chain.push_back(&value);
    for (yaml::Entry& entry : value.entries) {
      replace(entry.value, chain, references);
    }
    chain.pop_back();
  } else if (value.kind == Value::Kind::sequence) {
    for (Value& item : value.items) {
      replace(item, chain, references);
    }
  } else if (value.kind == Value::Kind::scalar && value.text.starts_with("${")) {
    if (const auto text = references.value(value.text, chain, 0)) {
      value.text = *text;
    }
  }
}

}  // namespace

void follow_references(Value& root) {
  const Value original = root;
  References references(original);
  Chain chain;
  // The chain walks the copy that is being changed; what it finds there may be replaced already.
  replace(root, chain, references);
}

}  // namespace orrery::import_config
