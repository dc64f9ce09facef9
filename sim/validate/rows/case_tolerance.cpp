#include "sim/validate/rows/case_tolerance.hpp"

#include <algorithm>

#include "sim/base/text/text.hpp"
#include "sim/yaml/scalar.hpp"

namespace orrery::validate {

namespace {

constexpr double kOnePercent = 0.01;
constexpr double kExact = 1e-9;

double number_in(const std::string& text) {
  return yaml::parse_number(text).value.value_or(0.0);
}

// One part of the words, such as `0.1 %` or `exact`.
Tolerance one_of(const std::string& part) {
  const std::size_t begin = part.find_first_of("0123456789.");
  if (begin == std::string::npos) {
    return part.find("exact") != std::string::npos ? Tolerance{0.0, kExact} : Tolerance{};
  }
  const std::size_t end = std::min(part.find_first_not_of("0123456789.", begin), part.size());
  const double value = number_in(part.substr(begin, end - begin));
  const std::size_t next = part.find_first_not_of(' ', end);
  const bool percent = next != std::string::npos && part[next] == '%';
  return percent ? Tolerance{0.0, kOnePercent * value} : Tolerance{value, 0.0};
}

}  // namespace

Tolerance tolerance_of(const std::string& words, std::size_t index) {
  const std::string lower = lower_case(words);
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= lower.size()) {
    const std::size_t end = std::min(lower.find(" / ", begin), lower.size());
    parts.push_back(lower.substr(begin, end - begin));
    begin = end + 3;
  }
  return one_of(parts[std::min(index, parts.size() - 1)]);
}

double rounding_of(const std::string& printed) {
  const std::size_t mantissa = std::min(printed.find_first_of("eE"), printed.size());
  const std::size_t dot = printed.find('.');
  const double digits = dot < mantissa ? static_cast<double>(mantissa - dot - 1) : 0.0;
  double exponent = 0.0;
  if (mantissa < printed.size()) {
    const std::size_t sign = mantissa + 1 < printed.size() && printed[mantissa + 1] == '+' ? 1 : 0;
    exponent = number_in(printed.substr(mantissa + 1 + sign));
  }
  constexpr double kHalf = 0.5;
  return kHalf * std::pow(10.0, exponent - digits);
}

}  // namespace orrery::validate
