// JSON to a tree: nlohmann-json reads, this file keeps positions and limits.

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "sim/import_config/trees/source_tree.hpp"
#include "sim/yaml/text_check.hpp"

namespace orrery::import_config {

namespace {

using yaml::Entry;
using yaml::Value;

// Characters of a text that tells how far it has been read.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}

  reference operator*() const {
    return *at_;
  }

  Cursor& operator++() {
    ++at_;
    *furthest_ = at_;
    return *this;
  }

  Cursor operator++(int) {
    Cursor before = *this;
    ++*this;
    return before;
  }

  friend bool operator==(const Cursor& a, const Cursor& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  const char** furthest_;
};

// Receives the events of the parser. A method that returns false ends the reading.
class TreeMaker {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  TreeMaker(std::string_view text,
            const std::string& file,
            const char* const* furthest,
            Diagnostics& diagnostics)
      : text_(text), file_(file), furthest_(furthest), diagnostics_(diagnostics), lines_(text) {}

  bool null() {
    return scalar(Value::Kind::null, {}, false);
  }

  bool boolean(bool value) {
    return scalar(Value::Kind::scalar, value ? "true" : "false", false);
  }

  bool number_integer(number_integer_t /*value*/) {
    return number();
  }

  bool number_unsigned(number_unsigned_t /*value*/) {
    return number();
  }

  bool number_float(number_float_t /*value*/, const string_t& /*text*/) {
    return number();
  }

  bool string(string_t& value) {
    return scalar(Value::Kind::scalar, std::move(value), true);
  }

  bool binary(binary_t& /*value*/) {
    return false;
  }

  bool start_object(std::size_t /*elements*/) {
    return start(Value::Kind::mapping);
  }

  bool start_array(std::size_t /*elements*/) {
    return start(Value::Kind::sequence);
  }

  bool end_object() {
    return end();
  }

  bool end_array() {
    return end();
  }

  bool key(string_t& name) {
    const SourceLocation where = next_token();
    read_up_to_here();
    Frame& frame = frames_.back();
    const auto [first, added] = frame.seen.try_emplace(name, where.line);
    if (!added) {
      return fail(
          where, name, fmt::format("is stated twice; the first one is in line {}", first->second));
    }
    frame.key = std::move(name);
    frame.key_where = where;
    return true;
  }

  bool parse_error(std::size_t position,
                   const std::string& /*token*/,
                   const nlohmann::json::exception& error) {
    std::string message = error.what();
    const std::size_t column = message.find("column ");
    const std::size_t colon = message.find(": ", column == std::string::npos ? 0 : column);
    if (colon != std::string::npos) {
      message.erase(0, colon + 2);
    }
    return fail(lines_.location_of(file_, std::min(position > 0 ? position - 1 : 0, text_.size())),
                "",
                "is no JSON: " + message);
  }

  [[nodiscard]] std::optional<Value> take() {
    return std::move(root_);
  }

 private:
  struct Frame {
    Value value;
    std::string key;
    SourceLocation key_where;
    std::unordered_map<std::string, int> seen;
  };

  [[nodiscard]] std::size_t position() const {
    return static_cast<std::size_t>(*furthest_ - text_.data());
  }

  void read_up_to_here() {
    behind_ = position();
  }

  // Where the token of this event begins: behind the one before, blanks and separators.
  SourceLocation next_token() {
    begin_ = std::min(text_.find_first_not_of(" \t\r\n,:", behind_), text_.size());
    return lines_.location_of(file_, begin_);
  }

  bool number() {
    const SourceLocation where = next_token();
    const std::size_t stop =
        std::min(text_.find_first_not_of("+-.0123456789eE", begin_), text_.size());
    behind_ = stop;
    return add({Value::Kind::scalar,
                false,
                std::string(text_.substr(begin_, stop - begin_)),
                where,
                {},
                {}});
  }

  bool scalar(Value::Kind kind, std::string text, bool quoted) {
    const SourceLocation where = next_token();
    read_up_to_here();
    return add({kind, quoted, std::move(text), where, {}, {}});
  }

  bool start(Value::Kind kind) {
    const SourceLocation where = next_token();
    read_up_to_here();
    if (frames_.size() >= kMostLevels) {
      return fail(where, "", fmt::format("has more than {} levels of nesting", kMostLevels));
    }
    Frame frame;
    frame.value.kind = kind;
    frame.value.where = where;
    frames_.push_back(std::move(frame));
    return true;
  }

  bool end() {
    read_up_to_here();
    Value value = std::move(frames_.back().value);
    frames_.pop_back();
    return add(std::move(value));
  }

  bool add(Value value) {
    if (++values_ > kMostValues) {
      return fail(value.where, "", fmt::format("holds more than {} values", kMostValues));
    }
    if (frames_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Frame& frame = frames_.back();
    if (frame.value.kind == Value::Kind::mapping) {
      frame.value.entries.push_back({frame.key, frame.key_where, std::move(value)});
    } else {
      frame.value.items.push_back(std::move(value));
    }
    return true;
  }

  bool fail(const SourceLocation& where, std::string_view key, std::string_view message) {
    diagnostics_.error(where, key, message);
    return false;
  }

  std::string_view text_;
  const std::string& file_;
  const char* const* furthest_;
  Diagnostics& diagnostics_;
  yaml::LineIndex lines_;
  std::vector<Frame> frames_;
  std::optional<Value> root_;
  std::size_t begin_ = 0;
  std::size_t behind_ = 0;
  std::size_t values_ = 0;
};

// Python writes Infinity and NaN, which JSON lacks: a text of the same length in their place.
std::string without_infinities(std::string_view text) {
  std::string plain(text);
  bool quoted = false;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    if (plain[at] == '\\' && quoted) {
      ++at;
      continue;
    }
    quoted = plain[at] == '"' ? !quoted : quoted;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (!quoted && std::string_view(plain).substr(at).starts_with(word)) {
        plain.replace(at, word.size(), "\"?\"" + std::string(word.size() - 3, ' '));
        at += word.size() - 1;
        break;
      }
    }
  }
  return plain;
}

}  // namespace

std::optional<Value> parse_json(std::string_view text,
                                const std::string& file,
                                Diagnostics& diagnostics) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  if (!yaml::check_text(text, file, yaml::LineIndex(text), diagnostics)) {
    return std::nullopt;
  }
  const std::string plain = without_infinities(text);
  text = plain;
  const char* furthest = text.data();
  TreeMaker maker(text, file, &furthest, diagnostics);
  const char* end = text.data() + text.size();
  if (!nlohmann::json::sax_parse(Cursor(text.data(), &furthest), Cursor(end, &furthest), &maker)) {
    return std::nullopt;
  }
  return maker.take();
}

}  // namespace orrery::import_config
