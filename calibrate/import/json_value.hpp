#pragma once

// Lenient reading of third-party JSON: a value of the expected type, or none.
//
// Programs write numbers as strings ("55.6"), booleans as "true", not-a-number as "nan"; a missing
// key and a value of another type are the same here: nothing.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "calibrate/import/log_text.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::calibration_import {

using ParsedJson = nlohmann::json;

// The whole file, or nothing after a diagnostic with the line at which it stops being JSON.
[[nodiscard]] std::optional<ParsedJson> parse_json(const LogFile& file, Diagnostics& diagnostics);

// True when the text begins like an object or list and holds `"key"`.
[[nodiscard]] bool looks_like_json_with(const LogFile& file, std::string_view key);

// nullptr when the value is no object or has no such key.
[[nodiscard]] const ParsedJson* member(const ParsedJson& value, std::string_view key);

[[nodiscard]] std::string text_member(const ParsedJson& value, std::string_view key);
[[nodiscard]] std::optional<double> number_of(const ParsedJson& value);
[[nodiscard]] std::optional<double> number_member(const ParsedJson& value, std::string_view key);
[[nodiscard]] std::optional<std::int64_t> integer_member(const ParsedJson& value,
                                                         std::string_view key);

}  // namespace orrery::calibration_import
