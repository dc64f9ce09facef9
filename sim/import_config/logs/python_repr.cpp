
#include <algorithm>
#include <utility>

#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/trees/source_keys.hpp"

namespace orrery::import_config {

namespace {

using yaml::Value;

class ReprReader {
 public:
  ReprReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::optional<Value> read() {
    std::optional<Value> value = read_value(0);
    return value && value->kind == Value::Kind::mapping ? std::move(value) : std::nullopt;
  }

  [[nodiscard]] int line() const {
    return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + at_, '\n'));
  }

 private:
  [[nodiscard]] char now() const {
    return at_ < std::ssize(text_) ? text_[static_cast<std::size_t>(at_)] : '\0';
  }

  void skip_space() {
    while (now() == ' ' || now() == '\n' || now() == '\t' || now() == '\r') {
      ++at_;
    }
  }

  bool take(char wanted) {
    skip_space();
    if (now() != wanted) {
      return false;
    }
    ++at_;
    return true;
  }

  Value scalar(std::string text) {
    Value value;
    value.where = {file_, line(), 1};
    if (text != "None") {
      value.kind = Value::Kind::scalar;
      value.text = std::move(text);
    }
    return value;
  }

  // A number, a name with dots, a flag.
  std::string read_word() {
    const auto begin = static_cast<std::size_t>(at_);
    while (is_word(now()) || now() == '.' || now() == '+' || now() == '-') {
      ++at_;
    }
    return std::string(text_.substr(begin, static_cast<std::size_t>(at_) - begin));
  }

  std::optional<Value> read_quoted(char quote) {
    std::string text;
    for (++at_; now() != quote; ++at_) {
      if (now() == '\0') {
        return std::nullopt;
      }
      at_ += now() == '\\' ? 1 : 0;
      text += now();
    }
    ++at_;
    return scalar(std::move(text));
  }

  // <TensorParallelLinearMode.REDUCE_SCATTER: 2>
  std::optional<Value> read_object() {
    const auto begin = static_cast<std::size_t>(at_) + 1;
    const std::size_t end = text_.find('>', begin);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    at_ = static_cast<std::ptrdiff_t>(end) + 1;
    return scalar(std::string(text_.substr(begin, end - begin)));
  }

  std::optional<Value> read_list(char close, std::size_t depth) {
    Value list;
    list.kind = Value::Kind::sequence;
    list.where = {file_, line(), 1};
    ++at_;
    while (!take(close)) {
      std::optional<Value> item = read_value(depth + 1);
      if (!item) {
        return std::nullopt;
      }
      if (take(':')) {  // of a dictionary the values are kept
        item = read_value(depth + 1);
        if (!item) {
          return std::nullopt;
        }
      }
      list.items.push_back(*std::move(item));
      if (!take(',')) {
        return take(close) ? std::optional(std::move(list)) : std::nullopt;
      }
    }
    return list;
  }

  std::optional<Value> read_arguments(std::size_t depth) {
    Value made;
    made.kind = Value::Kind::mapping;
    made.where = {file_, line(), 1};
    while (!take(')')) {
      skip_space();
      const std::ptrdiff_t begin = at_;
      const SourceLocation where{file_, line(), 1};
      std::string name = read_word();
      const bool named = !name.empty() && take('=');
      at_ = named ? at_ : begin;
      std::optional<Value> value = read_value(depth + 1);
      if (!value) {
        return std::nullopt;
      }
      if (named) {
        made.entries.push_back({std::move(name), where, *std::move(value)});
      }
      if (!take(',')) {
        return take(')') ? std::optional(std::move(made)) : std::nullopt;
      }
    }
    return made;
  }

  std::optional<Value> read_value(std::size_t depth) {
    skip_space();
    if (depth > kMostLevels) {
      return std::nullopt;
    }
    switch (now()) {
      case '\'':
      case '"':
        return read_quoted(now());
      case '<':
        return read_object();
      case '[':
        return read_list(']', depth);
      case '(':
        return read_list(')', depth);
      case '{':
        return read_list('}', depth);
      default:
        break;
    }
    std::string word = read_word();
    if (word.empty()) {
      return std::nullopt;
    }
    return now() == '(' && ++at_ > 0 ? read_arguments(depth) : scalar(std::move(word));
  }

  std::string_view text_;
  const std::string& file_;
  std::ptrdiff_t at_ = 0;
};

}  // namespace

std::optional<Value> parse_python_repr(std::string_view text, const std::string& file,
                                       Diagnostics& diagnostics) {
  ReprReader reader(text, file);
  std::optional<Value> tree = reader.read();
  if (!tree) {
    diagnostics.error({file, reader.line(), 1}, "", "the printed configuration breaks off here");
  }
  return tree;
}

}  // namespace orrery::import_config
