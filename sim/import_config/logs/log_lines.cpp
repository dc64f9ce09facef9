#include "sim/import_config/logs/log_lines.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/base/units.hpp"

namespace orrery::import_config {

using yaml::Value;

std::vector<LogLine> log_lines(std::string_view text) {
  std::vector<LogLine> lines;
  int number = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(kGap)) {
      std::from_chars(line.data() + 1, line.data() + line.size(), number);
    } else {
      lines.push_back({line, number++});
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  return text;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

namespace {

bool is_digit_at(std::string_view text, std::size_t at) {
  return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
}

// As it is printed, and the place behind it: 1,024 or 4.71, commas between thousands left out.
struct Digits {
  std::array<char, 40> text = {};
  std::size_t size = 0;
  std::size_t end = 0;
  int decimals = 0;

  void take(char c) {
    if (size < text.size()) {
      text[size] = c;
    }
    ++size;
  }
};

// Whether a comma and just three digits stand there: 1,024, but not the columns 1,2.11.
bool is_group_at(std::string_view line, std::size_t at) {
  return line.substr(at, 1) == "," && is_digit_at(line, at + 1) && is_digit_at(line, at + 2) &&
         is_digit_at(line, at + 3) && !is_digit_at(line, at + 4);
}

Digits digits_at(std::string_view line, std::size_t at) {
  Digits digits{.end = at};
  while (is_digit_at(line, digits.end)) {
    digits.take(line[digits.end++]);
  }
  constexpr std::size_t kGroup = 3;
  const bool may_group = digits.size > 0 && digits.size <= kGroup;
  while (may_group && is_group_at(line, digits.end)) {
    ++digits.end;
    while (is_digit_at(line, digits.end)) {
      digits.take(line[digits.end++]);
    }
  }
  if (digits.size > 0 && line.substr(digits.end, 1) == ".") {
    digits.take(line[digits.end++]);
    for (; is_digit_at(line, digits.end); ++digits.decimals) {
      digits.take(line[digits.end++]);
    }
  }
  const auto at_end = [&](std::size_t more) {
    return digits.end + more < line.size() ? line[digits.end + more] : '\0';
  };
  const std::size_t sign = at_end(1) == '+' || at_end(1) == '-' ? 1 : 0;
  if (digits.size > 0 && (at_end(0) == 'e' || at_end(0) == 'E') &&
      is_digit_at(line, digits.end + 1 + sign)) {
    for (std::size_t i = 0; i <= sign; ++i) {
      digits.take(line[digits.end++]);
    }
    while (is_digit_at(line, digits.end)) {
      digits.take(line[digits.end++]);
    }
  }
  return digits;
}

// 4.71K, 15.933 billion; 1 where no such word follows.
double thousands_at(std::string_view line, std::size_t& at) {
  struct Scale {
    std::string_view word;
    double factor;
  };

  constexpr std::array<Scale, 7> kScales = {{{"K", kKilo},
                                             {"M", kMega},
                                             {"B", kGiga},
                                             {"T", kTera},
                                             {" thousand", kKilo},
                                             {" million", kMega},
                                             {" billion", kGiga}}};
  for (const Scale& scale : kScales) {
    const std::size_t end = at + scale.word.size();
    if (line.substr(at).starts_with(scale.word) && (end >= line.size() || !is_word(line[end]))) {
      at = end;
      return scale.factor;
    }
  }
  return 1.0;
}

}  // namespace

// Nothing where the word that it begins is not a number and a unit: 419_104.0, 1.2.3, 0x10, 12-13.
std::optional<LogNumber> number_at(std::string_view line, std::size_t at) {
  at = std::min(line.find_first_not_of(" \t", at), line.size());
  const Digits digits = digits_at(line, at);
  double value = 0.0;
  const auto [stop, error] =
      std::from_chars(digits.text.data(), digits.text.data() + digits.size, value);
  if (digits.size == 0 || digits.size > digits.text.size() || error != std::errc{} ||
      stop != digits.text.data() + digits.size) {
    return std::nullopt;
  }
  const std::string_view rest = line.substr(digits.end);
  const bool goes_on =
      !rest.empty() &&
      (rest.front() == '_' || rest.front() == '.' || rest.front() == '-' || rest.front() == '+' ||
       (std::isalpha(static_cast<unsigned char>(rest.front())) != 0 && is_digit_at(rest, 1)));
  if (goes_on) {
    return std::nullopt;
  }
  LogNumber number{value, 0.0, digits.end};
  const double factor = thousands_at(line, number.end);
  if (factor > 1.0 && value > 0.0) {
    constexpr double kHalf = 0.5;
    constexpr double kTen = 10.0;
    number.rounding = kHalf * std::pow(kTen, -digits.decimals) / value;
    number.value *= factor;
  }
  return number;
}

std::optional<double> number_behind(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  const auto number =
      at == std::string_view::npos ? std::nullopt : number_at(line, at + words.size());
  return number ? std::optional(number->value) : std::nullopt;
}

// ECMA-48: ESC, [, parameters and a letter that ends the sequence; ESC, ], a text that BEL, or ESC
// and a backslash, end. Of others the ESC alone is dropped.
std::string without_colours(std::string_view text) {
  constexpr char kEscape = '\x1B';
  constexpr char kBell = '\a';
  std::string plain;
  plain.reserve(text.size());
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t escape = std::min(text.find(kEscape, at), text.size());
    plain += text.substr(at, escape - at);
    at = escape + 1;
    if (at >= text.size()) {
      break;
    }
    if (text[at] == '[') {
      ++at;
      while (at < text.size() && (text[at] < '@' || text[at] > '~')) {
        ++at;
      }
      ++at;
    } else if (text[at] == ']') {
      const std::size_t end = text.find_first_of("\a\x1B", at);
      at = end == std::string_view::npos ? text.size() : end + (text[end] == kBell ? 1 : 2);
    }
  }
  return plain;
}

std::optional<KeptLine> kept_line(std::string_view line) {
  if (!line.starts_with("{\"log\":")) {
    return std::nullopt;
  }
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object() || !object["log"].is_string()) {
    return std::nullopt;
  }
  KeptLine kept;
  kept.text = object["log"].get<std::string>();
  kept.time = object.value("time", nlohmann::json()).is_string() ? object["time"] : "";
  kept.whole = kept.text.ends_with('\n');
  if (kept.whole) {
    kept.text.pop_back();
  }
  return kept;
}

std::optional<std::string_view> without_prefix(std::string_view line, std::string_view prefix) {
  if (!line.starts_with(prefix)) {
    return std::nullopt;
  }
  line.remove_prefix(prefix.size());
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

namespace {

// NOLINTNEXTLINE(misc-no-recursion): no deeper than the parsers allow
void move_down(Value& value, int lines) {
  value.where.line += value.where.line > 0 ? lines : 0;
  for (Value& item : value.items) {
    move_down(item, lines);
  }
  for (yaml::Entry& entry : value.entries) {
    entry.key_where.line += lines;
    move_down(entry.value, lines);
  }
}

}  // namespace

std::optional<Value> LogExcerpt::read(Parser parse, const std::string& file,
                                      Diagnostics& diagnostics) const {
  Diagnostics found;
  std::optional<Value> tree = parse(text_, file, found);
  for (Diagnostic problem : found.all()) {
    problem.where.line += problem.where.line > 0 ? before_ : 0;
    diagnostics.add(std::move(problem));
  }
  if (tree) {
    move_down(*tree, before_);
  }
  return tree;
}

namespace {

void place_at(Value& value, const SourceLocation& where) {
  value.where = where;
  for (Value& item : value.items) {
    place_at(item, where);
  }
  for (yaml::Entry& entry : value.entries) {
    entry.key_where = where;
    place_at(entry.value, where);
  }
}

}  // namespace

void open_dictionaries(Value& tree) {
  for (yaml::Entry& entry : tree.entries) {
    if (entry.value.kind == Value::Kind::scalar && entry.value.text.starts_with('{')) {
      Diagnostics unsaid;
      const SourceLocation where = entry.value.where;
      if (auto parsed = yaml::parse(entry.value.text, where.file, {}, unsaid)) {
        place_at(*parsed, where);
        entry.value = *std::move(parsed);
      }
    }
  }
}

LogSettings::LogSettings(const std::string& file) : file_(file) {
  tree_.kind = Value::Kind::mapping;
  tree_.where = {file, 1, 1};
}

void LogSettings::put(std::string key, std::string_view text, int line) {
  Value value = value_of(text, line);
  const auto known = places_.find(key);
  if (known != places_.end()) {
    tree_.entries[known->second].value = std::move(value);
    tree_.entries[known->second].key_where = {file_, line, 1};
    return;
  }
  places_.emplace(key, tree_.entries.size());
  tree_.entries.push_back({std::move(key), {file_, line, 1}, std::move(value)});
}

Value LogSettings::take() {
  // Megatron-DeepSpeed prints the experts of each layer as a list of one.
  const auto experts = places_.find("num_experts");
  if (experts != places_.end()) {
    Value& value = tree_.entries[experts->second].value;
    if (value.items.size() == 1) {
      value = Value(value.items.front());
    }
  }
  return std::move(tree_);
}

Value LogSettings::value_of(std::string_view text, int line) const {
  Value value;
  value.where = {file_, line, 1};
  if (text.empty() || text == "None") {
    return value;
  }
  if (text.front() != '[' || text.back() != ']') {
    value.kind = Value::Kind::scalar;
    value.text = std::string(text);
    return value;
  }
  value.kind = Value::Kind::sequence;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view item = trimmed(text.substr(0, end));
    if (item.size() >= 2 && (item.front() == '\'' || item.front() == '"')) {
      item = item.substr(1, item.size() - 2);
    }
    Value one;
    one.kind = Value::Kind::scalar;
    one.where = value.where;
    one.text = std::string(item);
    value.items.push_back(std::move(one));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return value;
}

}  // namespace orrery::import_config
