#include "sim/import_config/logs/log_lines.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "sim/base/units.hpp"

namespace orrery::import_config {

using yaml::Value;

std::vector<LogLine> log_lines(std::string_view text) {
  std::vector<LogLine> lines;
  int number = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    constexpr std::size_t kNone = std::string_view::npos;
    std::size_t over = line.find('\r');
    for (; over != kNone && over + 1 < line.size(); over = line.find('\r')) {
      lines.push_back({line.substr(0, over), number});
      line.remove_prefix(over + 1);
    }
    lines.push_back({line, number++});
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

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

namespace {

bool is_digit_at(std::string_view text, std::size_t at) {
  return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
}

// The number with which `text` begins, commas between thousands left out, and its length. Nothing
// where the word that it begins is not a number and a unit: 419_104.0, 1.2.3, 0x10, 12-13.
struct FrontNumber {
  double value = 0.0;
  std::size_t length = 0;
};

std::optional<FrontNumber> front_number(std::string_view text) {
  std::string digits;
  std::size_t at = 0;
  const auto take_digits = [&](bool thousands) {
    while (is_digit_at(text, at) ||
           (thousands && at > 0 && text.substr(at, 1) == "," && is_digit_at(text, at + 1))) {
      if (text[at] != ',') {
        digits += text[at];
      }
      ++at;
    }
  };
  take_digits(true);
  if (at == 0) {
    return std::nullopt;
  }
  if (text.substr(at, 1) == ".") {
    digits += text[at++];
    take_digits(false);
  }
  const std::size_t sign = text.find_first_of("+-", at) == at + 1 ? 1 : 0;
  if ((text.substr(at, 1) == "e" || text.substr(at, 1) == "E") &&
      is_digit_at(text, at + 1 + sign)) {
    digits += text.substr(at, 1 + sign);
    at += 1 + sign;
    take_digits(false);
  }
  const std::string_view rest = text.substr(at);
  const bool goes_on =
      (!rest.empty() && (rest.front() == '_' || rest.front() == '.' || rest.front() == '-' ||
                         rest.front() == '+')) ||
      (!rest.empty() && std::isalpha(static_cast<unsigned char>(rest.front())) != 0 &&
       is_digit_at(rest, 1));
  FrontNumber number{0.0, at};
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number.value);
  const bool whole = error == std::errc{} && stop == digits.data() + digits.size();
  return whole && !goes_on ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<double> number_behind(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const auto number = front_number(trimmed(line.substr(at + words.size())));
  return number ? std::optional(number->value) : std::nullopt;
}

std::optional<double> short_number_behind(std::string_view line, std::string_view words) {
  const auto value = number_behind(line, words);
  if (!value) {
    return std::nullopt;
  }
  std::string_view rest = trimmed(line.substr(line.find(words) + words.size()));
  rest.remove_prefix(std::min(rest.find_first_not_of("0123456789.,"), rest.size()));
  if (rest.starts_with("K")) {
    return *value * kKilo;
  }
  return rest.starts_with("M") ? *value * kMega : *value;
}

std::optional<std::int64_t> step_number(std::string_view line) {
  constexpr std::array<std::string_view, 6> kWords = {
      "global_step=", "global_step:", "iteration:", " iteration ", "steps:", "step:"};
  for (const std::string_view words : kWords) {
    const auto number = number_behind(line, words);
    if (number && *number < kPeta) {
      return static_cast<std::int64_t>(*number);
    }
  }
  return std::nullopt;
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
