#include "sim/answer/report/text/printed_sum.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/units.hpp"

namespace orrery::report {

namespace {

struct Printed {
  double value = 0.0;
  double last_digit = 0.0;  // what one more in the last place would add
};

using Scale = std::pair<std::string_view, double>;

constexpr std::array<Scale, 4> kMultiples = {
    {{"k", kKilo}, {"M", kMega}, {"B", kGiga}, {"T", kTera}}};

constexpr std::array<Scale, 10> kUnits = {{{"%", 1.0 / kPercent},
                                           {"pt", 1.0 / kPercent},
                                           {"points", 1.0 / kPercent},
                                           {"ns", kNano},
                                           {"us", kMicro},
                                           {"ms", kMilli},
                                           {"min", kSecondsPerMinute},
                                           {"h", kSecondsPerHour},
                                           {"d", kSecondsPerDay},
                                           {"s", 1.0}}};

template <std::size_t N>
double scale_of(const std::array<Scale, N>& scales, std::string_view word) {
  const auto found = std::ranges::find(scales, word, &Scale::first);
  return found == scales.end() ? 1.0 : found->second;
}

// "-$1,234.5k GPU-hours": sign, figure, multiple, unit.
Printed read_printed(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789.,";
  const std::size_t begin = std::min(text.find_first_of(kDigits), text.size());
  const std::string_view sign = text.substr(0, begin);
  if (begin == text.size() || sign.find('<') != std::string_view::npos) {
    return {};
  }
  const std::size_t end = std::min(text.find_first_not_of(kDigits, begin), text.size());
  std::string figure(text.substr(begin, end - begin));
  std::erase(figure, ',');
  Printed printed;
  std::from_chars(figure.data(), figure.data() + figure.size(), printed.value);
  const std::size_t point = figure.find('.');
  const std::size_t places = point == std::string::npos ? 0 : figure.size() - point - 1;
  const std::string_view rest = text.substr(end);
  const std::size_t blank = rest.find(' ');
  std::string_view unit = blank == std::string_view::npos ? rest : rest.substr(blank + 1);
  unit = unit.substr(0, unit.find_first_of(" ,"));
  const double scale = scale_of(kMultiples, rest.substr(0, blank)) * scale_of(kUnits, unit);
  printed.last_digit = scale * std::pow(10.0, -static_cast<double>(places));
  const bool negative =
      sign.find('-') != std::string_view::npos || sign.find("\u2212") != std::string_view::npos;
  printed.value *= negative ? -scale : scale;
  return printed;
}

}  // namespace

double printed_remainder(std::span<const std::string> parts, std::string_view whole) {
  const Printed all = read_printed(whole);
  double coarsest = all.last_digit;
  double remainder = all.value;
  for (const std::string& part : parts) {
    const Printed one = read_printed(part);
    remainder -= one.value;
    coarsest = std::max(coarsest, one.last_digit);
  }
  constexpr double kHalf = 0.5 + 1e-6;  // digits are no binary fractions
  return std::abs(remainder) > kHalf * coarsest ? remainder : 0.0;
}

std::string rounding_text(Dimension dimension, std::span<const std::string> parts,
                          std::string_view whole) {
  const double remainder = printed_remainder(parts, whole);
  if (remainder == 0.0) {
    return {};
  }
  const double size = std::abs(remainder);
  return fmt::format("{}{}", remainder < 0.0 ? "-" : "+",
                     dimension == Dimension::fraction ? fmt::format("{:.2f}%", kPercent * size)
                                                      : format_value(dimension, size));
}

}  // namespace orrery::report
