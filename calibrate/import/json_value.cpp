#include "calibrate/import/json_value.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/text/untrusted_json.hpp"

namespace orrery::calibration_import {

std::optional<ParsedJson> parse_json(const LogFile& file, Diagnostics& diagnostics) {
  ReadJson<ParsedJson> read = read_json(file.text);
  if (read.ok()) {
    return std::move(read.value);
  }
  const std::size_t end = std::min(read.problem.byte, file.text.size());
  const auto newlines =
      std::count(file.text.begin(), file.text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  const bool cut_off = end >= file.text.size();
  diagnostics.error({file.name, static_cast<int>(newlines) + 1},
                    "",
                    cut_off ? "the JSON ends too early: its test did not finish"
                            : "is not JSON from here on: " + read.problem.what,
                    cut_off ? "import the text output of the test" : "");
  return std::nullopt;
}

bool looks_like_json_with(const LogFile& file, std::string_view key) {
  const std::size_t first = file.text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && (file.text[first] == '{' || file.text[first] == '[') &&
         file.text.find(fmt::format("\"{}\"", key)) != std::string::npos;
}

const ParsedJson* member(const ParsedJson& value, std::string_view key) {
  if (!value.is_object()) {
    return nullptr;
  }
  const auto found = value.find(std::string(key));
  return found == value.end() ? nullptr : &*found;
}

std::string text_member(const ParsedJson& value, std::string_view key) {
  const ParsedJson* found = member(value, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<double> number_of(const ParsedJson& value) {
  if (value.is_number()) {
    return value.get<double>();
  }
  if (value.is_string()) {
    const auto number = printed_number(trimmed(value.get_ref<const std::string&>()));
    return number ? std::optional(number->value) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> number_member(const ParsedJson& value, std::string_view key) {
  const ParsedJson* found = member(value, key);
  return found == nullptr ? std::nullopt : number_of(*found);
}

std::optional<std::int64_t> integer_member(const ParsedJson& value, std::string_view key) {
  const auto number = number_member(value, key);
  constexpr double kLargest = 9.0e15;  // below 2^53: exact
  if (!number || std::abs(*number) > kLargest || *number != std::floor(*number)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

}  // namespace orrery::calibration_import
