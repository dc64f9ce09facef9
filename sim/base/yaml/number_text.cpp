#include "sim/base/yaml/number_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <system_error>

#include "sim/base/text/text.hpp"

namespace orrery::yaml {

namespace {

// Number of digits at the start of `text`.
std::size_t count_digits(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  return static_cast<std::size_t>(end - text.begin());
}

// Length of ".5" at the start, 0 when there is no digit after the point.
std::size_t fraction_length(std::string_view text) {
  if (!text.starts_with('.')) {
    return 0;
  }
  const std::size_t digits = count_digits(text.substr(1));
  return digits == 0 ? 0 : digits + 1;
}

// Length of "e-5" at the start, 0 when it is no exponent (as in the unit EFLOP/s).
std::size_t exponent_length(std::string_view text) {
  if (!text.starts_with('e') && !text.starts_with('E')) {
    return 0;
  }
  const bool sign = text.size() > 1 && (text[1] == '+' || text[1] == '-');
  const std::size_t head = sign ? 2 : 1;
  const std::size_t digits = count_digits(text.substr(head));
  return digits == 0 ? 0 : digits + head;
}

bool is_not_finite(std::string_view text) {
  constexpr std::array<std::string_view, 6> kWords = {"nan",  ".nan",     "inf",
                                                      ".inf", "infinity", "-.inf"};
  std::string word = lower_case(text);
  if (word.starts_with('+') || word == "-inf" || word == "-infinity" || word == "-nan") {
    word.erase(0, 1);
  }
  return std::ranges::find(kWords, word) != kWords.end();
}

std::string problem_of_start(std::string_view text) {
  if (text.empty()) {
    return "is empty";
  }
  if (is_not_finite(text)) {
    return "is not a finite number";
  }
  if (text.starts_with('+')) {
    return "begins with a plus sign";
  }
  const std::string_view unsigned_text = text.starts_with('-') ? text.substr(1) : text;
  if (unsigned_text.starts_with('.') && count_digits(unsigned_text.substr(1)) > 0) {
    return "has no digit before the point";
  }
  return "does not begin with a number";
}

std::string problem_of_rest(std::string_view number, std::string_view rest) {
  if (rest.starts_with('_')) {
    return "has an underscore between digits";
  }
  if (rest.starts_with(',')) {
    return "has a comma in the number";
  }
  if (rest.starts_with('.')) {
    return "has no digit after the point";
  }
  if (rest.starts_with(':')) {
    return "has a colon in the number";
  }
  const bool based = rest.starts_with('x') || rest.starts_with('X') || rest.starts_with('o');
  if ((number == "0" || number == "-0") && based) {
    return "is not a decimal number";
  }
  return {};
}

}  // namespace

NumberText split_number(std::string_view text) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const std::size_t integer = count_digits(text.substr(sign));
  if (integer == 0) {
    return {{}, text, problem_of_start(text)};
  }
  std::size_t length = sign + integer;
  length += fraction_length(text.substr(length));
  length += exponent_length(text.substr(length));
  NumberText split{text.substr(0, length), text.substr(length), {}};
  split.problem = problem_of_rest(split.number, split.rest);
  if (split.problem.empty() && integer > 1 && text[sign] == '0') {
    split.problem = "has a leading zero";
  }
  if (split.rest.size() > 1 && split.rest.front() == ' ') {
    split.rest.remove_prefix(1);
  }
  return split;
}

NumberValue number_value(std::string_view number) {
  double value = 0.0;
  const auto result = std::from_chars(number.data(), number.data() + number.size(), value);
  if (result.ec == std::errc::result_out_of_range || !std::isfinite(value)) {
    return {0.0, "is outside the range of a double"};
  }
  return {value == 0.0 ? 0.0 : value, {}};  // -0 becomes 0
}

}  // namespace orrery::yaml
