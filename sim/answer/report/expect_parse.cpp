#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "sim/answer/report/expect.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/text.hpp"
#include "sim/base/yaml/scalar.hpp"

namespace orrery::report {

namespace {

constexpr std::size_t kMaxDepth = 64;

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string metric_names() {
  std::vector<std::string_view> names;
  for (const MetricInfo& metric : metric_registry()) {
    names.push_back(metric.name);
  }
  return fmt::format("metrics: {}", fmt::join(names, ", "));
}

struct UnitSize {
  std::string_view unit;
  double size;
};

yaml::Parsed<double> parse_amount(std::string_view text, std::span<const UnitSize> units,
                                  std::string_view message, std::string_view allowed) {
  for (const auto& [unit, size] : units) {
    if (text.ends_with(unit)) {
      yaml::Parsed<double> number = yaml::parse_number(text.substr(0, text.size() - unit.size()));
      if (number.value) {
        number.value = *number.value * size;
      }
      return number;
    }
  }
  return {std::nullopt, std::string(message), std::string(allowed)};
}

// In kWh.
yaml::Parsed<double> parse_energy(std::string_view text) {
  constexpr std::array kUnits = {UnitSize{"kWh", 1.0}, UnitSize{"MWh", kKilo},
                                 UnitSize{"GWh", kMega}};
  return parse_amount(text, kUnits, "needs a unit of energy", "such as 250MWh, 1.2GWh or 800kWh");
}

// In kg.
yaml::Parsed<double> parse_mass(std::string_view text) {
  constexpr std::array kUnits = {UnitSize{"kg", 1.0}, UnitSize{"kt", kMega}, UnitSize{"t", kKilo}};
  return parse_amount(text, kUnits, "needs a unit of mass", "such as 800kg, 250t or 1.2kt");
}

// Fractions of tokens and steps have no place in a bound: counts are whole, suffixes allowed.
yaml::Parsed<double> parse_bound(Dimension dimension, std::string_view text) {
  const auto raw = [](const auto& parsed, auto accessor) {
    yaml::Parsed<double> out{std::nullopt, parsed.message, parsed.allowed};
    if (parsed.value) {
      out.value = accessor(*parsed.value);
    }
    return out;
  };
  switch (dimension) {
    case Dimension::time:
      return raw(yaml::parse_time(text), [](Seconds x) { return in_seconds(x); });
    case Dimension::bytes:
      return raw(yaml::parse_bytes(text), [](Bytes x) { return in_bytes(x); });
    case Dimension::dollars:
      return raw(yaml::parse_money(text), [](Dollars x) { return in_dollars(x); });
    case Dimension::fraction:
      return raw(yaml::parse_fraction(text), [](double x) { return x; });
    case Dimension::flop_rate:
      return raw(yaml::parse_flop_rate(text),
                 [](FlopPerSecond x) { return in_flop_per_second(x); });
    case Dimension::date:
      return raw(yaml::parse_date_time(text),
                 [](yaml::DateTime x) { return static_cast<double>(x.unix_seconds); });
    case Dimension::energy:
      return parse_energy(text);
    case Dimension::mass:
      return parse_mass(text);
    case Dimension::price:
      return raw(yaml::parse_price_rate(text),
                 [](DollarsPerSecond x) { return in_dollars_per_hour(x); });
    case Dimension::count:
    case Dimension::tokens_per_second: {
      auto whole =
          raw(yaml::parse_count(text), [](std::int64_t x) { return static_cast<double>(x); });
      return whole.value ? whole : raw(yaml::parse_number(text), [](double x) { return x; });
    }
  }
  return {};
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::variant<ExpectNode, ExpectError> parse() {
    ExpectNode node;
    if (!parse_any(node, 0)) {
      return *error_;
    }
    skip_space();
    if (at_ < text_.size()) {
      fail(fmt::format("`{}` is left over", text_.substr(at_)), "and, or, or the end of the line");
      return *error_;
    }
    return node;
  }

  std::variant<Operand, ExpectError> parse_operand_alone() {
    Operand operand;
    const MetricInfo* bare = find_metric(trimmed(text_, " "));
    if (bare != nullptr) {
      operand.metric = bare->id;
      return operand;
    }
    if (!parse_operand(operand)) {
      return *error_;
    }
    skip_space();
    if (at_ < text_.size()) {
      fail(fmt::format("`{}` is left over", text_.substr(at_)), "one metric or p90(metric)");
      return *error_;
    }
    return operand;
  }

 private:
  bool fail(std::string message, std::string allowed) {
    if (!error_) {
      error_ = ExpectError{at_, std::move(message), std::move(allowed)};
    }
    return false;
  }

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }

  // The word at the cursor, without consuming it.
  std::string_view peek_word() {
    skip_space();
    std::size_t end = at_;
    while (end < text_.size() && is_word_character(text_[end])) {
      ++end;
    }
    return text_.substr(at_, end - at_);
  }

  bool take_keyword(std::string_view word) {
    if (peek_word() != word) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  bool take_character(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) {
      return false;
    }
    ++at_;
    return true;
  }

  bool parse_chain(ExpectNode& out, std::size_t depth, std::string_view keyword,
                   ExpectNode::Kind kind, bool (Parser::*parse_part)(ExpectNode&, std::size_t)) {
    ExpectNode first;
    if (!(this->*parse_part)(first, depth)) {
      return false;
    }
    if (peek_word() != keyword) {
      out = std::move(first);
      return true;
    }
    out.kind = kind;
    out.children.push_back(std::move(first));
    while (take_keyword(keyword)) {
      ExpectNode next;
      if (!(this->*parse_part)(next, depth)) {
        return false;
      }
      out.children.push_back(std::move(next));
    }
    return true;
  }

  bool parse_any(ExpectNode& out, std::size_t depth) {
    return parse_chain(out, depth, "or", ExpectNode::Kind::any_of, &Parser::parse_all);
  }

  bool parse_all(ExpectNode& out, std::size_t depth) {
    return parse_chain(out, depth, "and", ExpectNode::Kind::all_of, &Parser::parse_factor);
  }

  bool parse_factor(ExpectNode& out, std::size_t depth) {
    if (depth > kMaxDepth) {
      return fail("nested too deeply", fmt::format("at most {} levels", kMaxDepth));
    }
    if (take_keyword("not")) {
      out.kind = ExpectNode::Kind::negation;
      out.children.emplace_back();
      return parse_factor(out.children.front(), depth + 1);
    }
    if (take_character('(')) {
      return parse_any(out, depth + 1) &&
             (take_character(')') || fail("a parenthesis is not closed", ")"));
    }
    if (take_keyword("fits_memory")) {
      out.kind = ExpectNode::Kind::fits_memory;
      return true;
    }
    out.kind = ExpectNode::Kind::comparison;
    return parse_operand(out.operand) && parse_comparison(out.comparison) &&
           parse_value(dimension_of(out.operand), out.bound);
  }

  bool parse_metric(MetricId& metric) {
    const std::string_view word = peek_word();
    if (word.empty()) {
      return fail("a metric is missing", metric_names());
    }
    const MetricInfo* found = find_metric(word);
    if (found == nullptr) {
      std::vector<std::string_view> names = {"fits_memory"};
      for (const MetricInfo& candidate : metric_registry()) {
        names.push_back(candidate.name);
      }
      const std::string_view near = nearest_name(word, names);
      return fail(fmt::format("unknown metric `{}`", word),
                  near.empty() ? metric_names() : fmt::format("did you mean `{}`?", near));
    }
    at_ += word.size();
    metric = found->id;
    return true;
  }

  // p1 ... p99, without the parenthesis.
  static std::optional<double> quantile_of(std::string_view word) {
    const bool digits = word.size() >= 2 && word.size() <= 3 && word[0] == 'p' &&
                        std::all_of(word.begin() + 1, word.end(), [](char c) {
                          return std::isdigit(static_cast<unsigned char>(c)) != 0;
                        });
    if (!digits || word[1] == '0') {
      return std::nullopt;
    }
    double value = 0.0;
    for (const char c : word.substr(1)) {
      value = value * 10.0 + static_cast<double>(c - '0');
    }
    return value / kPercent;
  }

  bool parse_operand(Operand& operand) {
    const std::string_view word = peek_word();
    if (const auto quantile = quantile_of(word)) {
      operand.kind = OperandKind::quantile;
      operand.quantile = *quantile;
    } else if (word == "mean") {
      operand.kind = OperandKind::mean;
    } else if (word == "probability") {
      operand.kind = OperandKind::probability;
    } else {
      return parse_plain(operand);
    }
    at_ += word.size();
    if (!take_character('(')) {
      return fail(fmt::format("`{}` needs a metric in parentheses", word),
                  fmt::format("{}(goodput)", word));
    }
    if (!parse_metric(operand.metric)) {
      return false;
    }
    if (operand.kind == OperandKind::probability &&
        !(parse_comparison(operand.inner) &&
          parse_value(info(operand.metric).dimension, operand.inner_bound))) {
      return false;
    }
    return take_character(')') || fail("a parenthesis is not closed", ")");
  }

  bool parse_plain(Operand& operand) {
    const std::size_t start = at_;
    if (!parse_metric(operand.metric)) {
      return false;
    }
    const MetricInfo& metric = info(operand.metric);
    if (metric.stochastic) {
      at_ = start;
      return fail(
          fmt::format("{} varies over trials: a quantile or the mean is needed", metric.name),
          fmt::format("p50({0}), mean({0}), probability({0} >= ...)", metric.name));
    }
    return true;
  }

  bool parse_comparison(Comparison& comparison) {
    skip_space();
    constexpr std::array<std::pair<std::string_view, Comparison>, 6> kSigns = {{
        {">=", Comparison::at_least},
        {"<=", Comparison::at_most},
        {"==", Comparison::equal},
        {"!=", Comparison::not_equal},
        {">", Comparison::above},
        {"<", Comparison::below},
    }};
    for (const auto& [sign, value] : kSigns) {
      if (text_.substr(at_, sign.size()) == sign) {
        at_ += sign.size();
        comparison = value;
        return true;
      }
    }
    return fail("a comparison is missing", ">=, <=, >, <, ==, !=");
  }

  // Up to the next keyword or parenthesis: values may hold spaces ("25 GB/s").
  bool parse_value(Dimension dimension, double& bound) {
    skip_space();
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != ')' && !keyword_at(end)) {
      ++end;
    }
    std::string_view word = text_.substr(at_, end - at_);
    while (!word.empty() && word.back() == ' ') {
      word.remove_suffix(1);
    }
    const yaml::Parsed<double> parsed = parse_bound(dimension, word);
    if (!parsed.value) {
      return fail(word.empty() ? "a value is missing" : parsed.message, parsed.allowed);
    }
    at_ = end;
    bound = *parsed.value;
    return true;
  }

  [[nodiscard]] bool keyword_at(std::size_t i) const {
    for (const std::string_view keyword : {" and", " or"}) {
      const std::size_t end = i + keyword.size();
      if (text_.substr(i, keyword.size()) == keyword &&
          (end >= text_.size() || !is_word_character(text_[end]))) {
        return true;
      }
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<ExpectError> error_;
};

}  // namespace

std::variant<ExpectNode, ExpectError> parse_expectation(std::string_view text) {
  return Parser(text).parse();
}

std::variant<Operand, ExpectError> parse_operand(std::string_view text) {
  return Parser(text).parse_operand_alone();
}

bool mentions_memory(const ExpectNode& node) {
  if (node.kind == ExpectNode::Kind::fits_memory) {
    return true;
  }
  if (node.kind == ExpectNode::Kind::comparison) {
    return node.operand.metric == MetricId::memory_headroom ||
           node.operand.metric == MetricId::peak_memory;
  }
  return std::ranges::any_of(node.children, mentions_memory);
}

}  // namespace orrery::report
