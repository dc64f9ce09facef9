#include "sim/answer/sweep/axis.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <type_traits>
#include <utility>

#include "sim/base/text/text.hpp"
#include "sim/base/yaml/scalar.hpp"

namespace orrery::sweep {

namespace {

// "$2.50/h" as prefix, number and unit.
struct Amount {
  std::string prefix;
  double number = 0.0;
  std::string suffix;
};

std::optional<Amount> amount_of(std::string_view text) {
  Amount amount;
  if (text.starts_with('$')) {
    amount.prefix = "$";
    text.remove_prefix(1);
  }
  if (text.empty() || !(is_digit(text.front()) || text.front() == '-')) {
    return std::nullopt;
  }
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), amount.number);
  const auto length = static_cast<std::size_t>(stop - text.data());
  amount.suffix = std::string(text.substr(length));
  const bool unit = std::ranges::none_of(amount.suffix, is_digit);
  if (error != std::errc{} || !unit || !std::isfinite(amount.number)) {
    return std::nullopt;
  }
  return amount;
}

// How many units of `a` one unit of `b` is, when both are units that `parse` knows.
template <typename Parse>
std::optional<double> ratio_by(Parse parse, const Amount& a, const Amount& b) {
  const auto unit_a = parse(a.prefix + "1" + a.suffix);
  const auto unit_b = parse(b.prefix + "1" + b.suffix);
  if (!unit_a.value || !unit_b.value) {
    return std::nullopt;
  }
  if constexpr (std::is_integral_v<std::decay_t<decltype(*unit_a.value)>>) {
    return static_cast<double>(*unit_b.value) / static_cast<double>(*unit_a.value);
  } else {
    return *unit_b.value / *unit_a.value;
  }
}

std::optional<double> unit_ratio(const Amount& a, const Amount& b) {
  if (a.prefix == b.prefix && a.suffix == b.suffix) {
    return 1.0;
  }
  for (const auto& ratio :
       {ratio_by(yaml::parse_time, a, b), ratio_by(yaml::parse_bytes, a, b),
        ratio_by(yaml::parse_bandwidth, a, b), ratio_by(yaml::parse_price_rate, a, b),
        ratio_by(yaml::parse_event_rate, a, b), ratio_by(yaml::parse_flop_rate, a, b),
        ratio_by(yaml::parse_money, a, b), ratio_by(yaml::parse_fraction, a, b),
        ratio_by(yaml::parse_count, a, b)}) {
    if (ratio) {
      return ratio;
    }
  }
  return std::nullopt;
}

// At separators outside brackets and quotes.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      quote = c == quote ? '\0' : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == separator && depth == 0) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && stop == text.data() + text.size() ? std::optional(value)
                                                                   : std::nullopt;
}

bool in_steps(std::string_view suffix) {
  return trimmed(suffix) == "steps" || trimmed(suffix) == "step";
}

// One item between commas on its way to values.
class ItemReader {
 public:
  ItemReader(Axis& axis, Diagnostics& diagnostics) : axis_(axis), diagnostics_(diagnostics) {}

  bool read(std::string_view item, bool alone) {
    const std::vector<std::string_view> parts = split(item, ':');
    const auto from = amount_of(parts.front());
    const auto to = parts.size() > 1 ? amount_of(parts[1]) : std::nullopt;
    if (item.empty()) {
      return fail("a value is empty", "values between commas");
    }
    if (!from || !to) {
      axis_.values.emplace_back(item);
      return true;
    }
    return read_range(parts, *from, *to, alone);
  }

 private:
  bool fail(std::string_view message, std::string_view allowed) {
    diagnostics_.error(axis_.where, axis_.key.path, message, allowed);
    return false;
  }

  bool read_range(const std::vector<std::string_view>& parts, Amount from, Amount to, bool alone) {
    constexpr std::string_view kForm = "from:to:steps or from:to:steps:log, at least 2 steps";
    constexpr std::size_t kMostParts = 4;
    if (from.number == 0.0 && from.prefix.empty() && from.suffix.empty()) {
      from.prefix = to.prefix;
      from.suffix = to.suffix;
    }
    const auto ratio = unit_ratio(from, to);
    if (!ratio) {
      return fail(fmt::format("`{}` and `{}` have units of different kinds", parts[0], parts[1]),
                  "one kind of unit");
    }
    const bool logarithmic = parts.size() > 2 && parts.back() == "log";
    OpenRange range{.from = from.number,
                    .to = to.number * *ratio,
                    .logarithmic = logarithmic,
                    .whole = axis_.key.whole_numbers || in_steps(from.suffix),
                    .prefix = from.prefix,
                    .suffix = from.suffix};
    if (logarithmic && (range.from <= 0.0 || range.to <= 0.0)) {
      return fail("a logarithmic range needs ends above 0", kForm);
    }
    const std::size_t plain = parts.size() - (logarithmic ? 1U : 0U);
    if (plain == 2) {
      if (!alone) {
        return fail("an open range stands alone", kForm);
      }
      axis_.range = std::move(range);
      return true;
    }
    const auto steps = plain == 3 ? whole_number(parts[2]) : std::nullopt;
    if (parts.size() > kMostParts || !steps || *steps < 2 || *steps > kMostPoints) {
      return fail("the range is not understood", kForm);
    }
    add_values(range, *steps, std::string(parts[0]), std::string(parts[1]));
    return true;
  }

  void add_values(const OpenRange& range, std::int64_t steps, std::string first, std::string last) {
    std::set<std::string> seen;
    for (std::int64_t i = 0; i < steps; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(steps - 1);
      std::string value = i == 0 ? first : i + 1 == steps ? last : range.at(share);
      if (seen.insert(value).second) {
        axis_.values.push_back(std::move(value));
      }
    }
  }

  Axis& axis_;
  Diagnostics& diagnostics_;
};

bool has_twins(const Axis& axis, Diagnostics& diagnostics) {
  std::set<std::string_view> seen;
  for (const std::string& value : axis.values) {
    if (!seen.insert(value).second) {
      diagnostics.error(axis.where, axis.key.path, fmt::format("`{}` stands twice", value),
                        "every value once");
      return true;
    }
  }
  return false;
}

}  // namespace

std::string OpenRange::at(double share) const {
  const double value = logarithmic ? from * std::pow(to / from, share) : from + (to - from) * share;
  if (whole) {
    return fmt::format("{}{:.0f}{}", prefix, std::round(value), suffix);
  }
  return fmt::format("{}{:.6g}{}", prefix, value, suffix);
}

std::optional<Axis> axis_of(std::string_view key, std::vector<std::string> values,
                            const SourceLocation& where, Diagnostics& diagnostics) {
  const auto facts = scenario::find_key(key, where, diagnostics);
  if (!facts) {
    return std::nullopt;
  }
  Axis axis{*facts, std::move(values), std::nullopt, where};
  if (axis.values.empty()) {
    diagnostics.error(where, key, "has no values", "at least one");
    return std::nullopt;
  }
  return has_twins(axis, diagnostics) ? std::nullopt : std::optional(std::move(axis));
}

std::optional<Axis> parse_axis(std::string_view key, std::string_view text,
                               const SourceLocation& where, Diagnostics& diagnostics) {
  const auto facts = scenario::find_key(key, where, diagnostics);
  if (!facts) {
    return std::nullopt;
  }
  Axis axis{*facts, {}, std::nullopt, where};
  ItemReader reader(axis, diagnostics);
  const std::vector<std::string_view> items = split(text, ',');
  for (const std::string_view item : items) {
    if (!reader.read(item, items.size() == 1)) {
      return std::nullopt;
    }
  }
  return has_twins(axis, diagnostics) ? std::nullopt : std::optional(std::move(axis));
}

std::optional<Axis> parse_vary(std::string_view argument, Diagnostics& diagnostics) {
  const SourceLocation where{"--vary", 0, 0};
  const std::size_t equals = argument.find('=');
  if (equals == std::string_view::npos) {
    diagnostics.error(where, argument, "has no values",
                      "KEY=V1,V2,... or KEY=from:to:steps, such as capacity.spares=0:32:9");
    return std::nullopt;
  }
  return parse_axis(trimmed(argument.substr(0, equals)), argument.substr(equals + 1), where,
                    diagnostics);
}

}  // namespace orrery::sweep
