#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "calibrate/import/formats.hpp"
#include "sim/base/text/untrusted_json.hpp"

namespace orrery::calibration_import {

namespace {

constexpr char kEscape = '\x1b';

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Past an ANSI sequence that starts at `at`: ESC [ parameters letter, or ESC and one character.
std::size_t past_escape(std::string_view line, std::size_t at) {
  ++at;
  if (at >= line.size() || line[at] != '[') {
    return std::min(at + 1, line.size());
  }
  ++at;
  while (at < line.size() && (is_digit(line[at]) || line[at] == ';' || line[at] == '?')) {
    ++at;
  }
  return std::min(at + 1, line.size());
}

std::string without_escapes(std::string_view line) {
  std::string clean;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == kEscape) {
      at = past_escape(line, at);
      continue;
    }
    const char c = line[at++];
    if (c == '\t') {
      clean += ' ';
    } else if (std::iscntrl(static_cast<unsigned char>(c)) == 0) {
      clean += c;
    }
  }
  return clean;
}

std::size_t past_digits(std::string_view line, std::size_t at) {
  while (at < line.size() && is_digit(line[at])) {
    ++at;
  }
  return at;
}

// Length of `[1,0]<stdout>:`, `[0] ` or `0: ` at the start, 0 without one.
std::size_t prefix_length(std::string_view line) {
  const bool bracket = line.starts_with('[');
  std::size_t at = past_digits(line, bracket ? 1 : 0);
  if (at == (bracket ? 1U : 0U)) {
    return 0;
  }
  if (!bracket) {
    return line.substr(at).starts_with(": ") ? at + 2 : 0;
  }
  if (at < line.size() && line[at] == ',') {
    at = past_digits(line, at + 1);
  }
  if (at >= line.size() || line[at] != ']') {
    return 0;
  }
  ++at;
  for (const std::string_view stream : {"<stdout>:", "<stderr>:", "<stddiag>:", " ", ": "}) {
    if (line.substr(at).starts_with(stream)) {
      return at + stream.size();
    }
  }
  return 0;
}

}  // namespace

std::string clean_line(std::string_view line) {
  const std::string clean = without_escapes(line);
  std::string_view rest = clean;
  const std::size_t start = rest.find_first_not_of(' ');
  if (start == std::string_view::npos) {
    return {};
  }
  // `    0: ` of a wide job, but not the row of a table.
  const std::size_t prefix = prefix_length(rest.substr(start));
  return std::string(rest.substr(prefix == 0 ? 0 : start + prefix));
}

std::vector<std::string> clean_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(clean_line(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < line.size()) {
    while (at < line.size() && is_blank(line[at])) {
      ++at;
    }
    const std::size_t start = at;
    while (at < line.size() && !is_blank(line[at])) {
      ++at;
    }
    if (at > start) {
      words.push_back(line.substr(start, at - start));
    }
  }
  return words;
}

std::optional<std::int64_t> whole_integer(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<PrintedNumber> printed_number(std::string_view word) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc() || end != word.data() + word.size() ||
      !std::isfinite(value)) {
    return std::nullopt;
  }
  const std::size_t exponent_at = std::min(word.find_first_of("eE"), word.size());
  const std::string_view mantissa = word.substr(0, exponent_at);
  const std::size_t point = mantissa.find('.');
  const std::size_t decimals = point == std::string_view::npos ? 0 : mantissa.size() - point - 1;
  std::string_view power = word.substr(std::min(exponent_at + 1, word.size()));
  if (power.starts_with('+')) {
    power.remove_prefix(1);
  }
  const auto exponent = static_cast<double>(whole_integer(power).value_or(0));
  return PrintedNumber{value, 0.5 * std::pow(10.0, exponent - static_cast<double>(decimals))};
}

std::optional<std::string_view> text_after(std::string_view line, std::string_view marker) {
  const std::size_t at = line.find(marker);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  return trimmed(line.substr(at + marker.size()));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string exact_size(std::int64_t size) {
  constexpr std::int64_t kStep = std::int64_t{1} << 10U;
  std::int64_t count = size;
  std::string_view unit = "B";
  for (const std::string_view larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (count == 0 || count % kStep != 0) {
      break;
    }
    count /= kStep;
    unit = larger;
  }
  return fmt::format("{}{}", count, unit);
}

std::optional<ParsedJson> parse_json(const LogFile& file, Diagnostics& diagnostics) {
  ReadJson<ParsedJson> read = read_json(file.text);
  if (read.ok()) {
    return std::move(read.value);
  }
  const std::size_t end = std::min(read.problem.byte, file.text.size());
  const auto newlines =
      std::count(file.text.begin(), file.text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  const bool cut_off = end >= file.text.size();
  diagnostics.error({file.name, static_cast<int>(newlines) + 1}, "",
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

const ParsedJson& list_member(const ParsedJson& value, std::string_view key) {
  static const ParsedJson none = ParsedJson::array();
  const ParsedJson* found = member(value, key);
  return found != nullptr && found->is_array() ? *found : none;
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
