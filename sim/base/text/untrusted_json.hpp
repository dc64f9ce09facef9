#pragma once

// JSON from untrusted files, read within limits that are checked before anything is built.
//
// limit  | why
// -------|------------------------------------------------------------------------------------
// levels | copying, comparing and destroying a value call themselves once per level: a million
//        | brackets overflow the stack
// values | a value takes tens of bytes where its text takes two: memory grows with the text
//
// Both are counted in the text, before the parser sees it. No file that this program reads comes
// near them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace orrery {

struct JsonLimits {
  std::size_t levels = 64;
  std::size_t values = 4'000'000;
};

// What is wrong with the size of the text; an empty `what`: nothing.
struct JsonProblem {
  std::string what = {};
  std::size_t byte = 0;  // where it shows
};

[[nodiscard]] JsonProblem exceeded(std::string_view text, const JsonLimits& limits);

template <typename Json>
struct ReadJson {
  Json value = nullptr;
  JsonProblem problem = {};

  [[nodiscard]] bool ok() const { return problem.what.empty(); }
};

// The whole text as one value. Never throws for what the text holds.
template <typename Json = nlohmann::json>
[[nodiscard]] ReadJson<Json> read_json(std::string_view text, const JsonLimits& limits = {}) {
  ReadJson<Json> read;
  read.problem = exceeded(text, limits);
  if (!read.ok()) {
    return read;
  }
  try {
    read.value = Json::parse(text.begin(), text.end());
  } catch (const typename Json::parse_error& error) {
    const std::size_t byte = std::min(error.byte, text.size());
    read.problem = {byte >= text.size() ? "the JSON is cut off" : "not valid JSON", byte};
  } catch (const typename Json::exception&) {  // a number that no double holds
    read.problem = {"not valid JSON: a number is too large", 0};
  }
  return read;
}

// The value as a whole number. Throws Json::type_error for any other, 1e300 among them, which no
// integer holds: get<std::int64_t>() would convert it as it may.
template <typename Json>
[[nodiscard]] std::int64_t whole_number(const Json& value) {
  return value.template get_ref<const typename Json::number_integer_t&>();
}

// The member of this name as a text; empty where there is none, or one of another type.
template <typename Json>
[[nodiscard]] std::string text_member(const Json& value, const char* name) {
  if (!value.is_object()) {
    return {};
  }
  const auto found = value.find(name);
  return found != value.end() && found->is_string() ? found->template get<std::string>()
                                                    : std::string();
}

}  // namespace orrery
