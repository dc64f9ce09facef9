#pragma once

// Cleans a line of a program's log: strips colours, launchers' prefixes and carriage returns, and
// keeps the precision that a number was printed with.
//
//   a number printed as 12.34 lies in 12.34 -+ half_step, half_step = 0.5 x 10^-2
//
// symbol    | meaning                                               | unit     | origin
// ----------|-------------------------------------------------------|----------|--------
// half_step | half of the last printed digit: rounding of the print | as value | computed
//
// Prefixes seen: `0: ` (srun -l), `[1,0]<stdout>:` (mpirun --tag-output), `[0] `, and words in
// front of a row (timestamps, pods), which the reader of rows steps over.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"

namespace orrery::calibration_import {

struct LogFile {
  std::string name;  // as given by the user
  std::string text;
};

struct PrintedNumber {
  double value = 0.0;
  double half_step = 0.0;
};

// The line without ANSI escapes, control characters and a launcher's prefix; tabs become spaces.
[[nodiscard]] std::string clean_line(std::string_view line);

// All lines, cleaned; line i + 1 of the file is at i.
[[nodiscard]] std::vector<std::string> clean_lines(std::string_view text);

// Split at blanks. The views live as long as `line`.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);

// The whole word is a decimal integer, or nothing.
[[nodiscard]] std::optional<std::int64_t> whole_integer(std::string_view word);

// The whole word is a finite decimal number, or nothing.
[[nodiscard]] std::optional<PrintedNumber> printed_number(std::string_view word);

// The text after `marker`, blanks trimmed, or nothing when the line lacks it.
[[nodiscard]] std::optional<std::string_view> text_after(std::string_view line,
                                                         std::string_view marker);

[[nodiscard]] std::string_view trimmed(std::string_view text);

// The part of a path behind the last slash.
[[nodiscard]] std::string_view base_name(std::string_view path);

// 8GiB, 64MiB, 1000B: exact, as profiles write sizes.
[[nodiscard]] std::string exact_size(std::int64_t bytes);

// Lenient reading of third-party JSON: a value of the expected type, or none.
//
// Programs write numbers as strings ("55.6"), booleans as "true", not-a-number as "nan"; a missing
// key and a value of another type are the same here: nothing.

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
