#include "sim/import_config/shell/shell_variables.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>

namespace orrery::import_config {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr int kMostFallbacks = 32;  // of defaults inside defaults

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_name(char c) {
  return is_name_start(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::size_t name_length(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (end == at ? is_name_start(text[end]) : is_name(text[end]))) {
    ++end;
  }
  return end - at;
}

// One past the bracket that closes the one at `at`; the end of the text when it stays open.
std::size_t closing(std::string_view text, std::size_t at, char open, char close) {
  int depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    depth += text[i] == open ? 1 : 0;
    depth -= text[i] == close ? 1 : 0;
    if (depth == 0) {
      return i + 1;
    }
  }
  return text.size();
}

// Whole numbers with + - * / %, > <, ? : and parentheses; nothing when it is anything else.
class Arithmetic {
 public:
  explicit Arithmetic(std::string_view text) : text_(text) {}

  std::optional<std::int64_t> value() {
    const std::int64_t result = choice(0);
    skip();
    return sound_ && at_ == text_.size() ? std::optional(result) : std::nullopt;
  }

 private:
  static constexpr std::int64_t kMost = std::int64_t{1} << 40U;

  void skip() {
    at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
  }

  bool take(char c) {
    skip();
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }

  std::int64_t checked(std::int64_t value) {
    sound_ = sound_ && value <= kMost && value >= -kMost;
    return sound_ ? value : 0;
  }

  // a > b ? c : d
  std::int64_t choice(int depth) {
    std::int64_t left = sum(depth);
    if (const bool more = take('>'); more || take('<')) {
      const bool same = take('=');
      const std::int64_t right = sum(depth);
      left = (more ? left > right : left < right) || (same && left == right) ? 1 : 0;
    }
    if (take('?')) {
      const std::int64_t yes = choice(depth + 1);
      sound_ = sound_ && take(':');
      const std::int64_t no = choice(depth + 1);
      left = left != 0 ? yes : no;
    }
    return left;
  }

  std::int64_t sum(int depth) {
    std::int64_t left = product(depth);
    while (sound_) {
      if (take('+')) {
        left = checked(left + product(depth));
      } else if (take('-')) {
        left = checked(left - product(depth));
      } else {
        break;
      }
    }
    return left;
  }

  std::int64_t product(int depth) {
    std::int64_t left = factor(depth);
    while (sound_) {
      const bool times = take('*');
      const bool over = !times && take('/');
      const bool modulo = !times && !over && take('%');
      if (!times && !over && !modulo) {
        break;
      }
      const std::int64_t right = factor(depth);
      if (times) {
        const bool large = right != 0 && std::abs(left) > kMost / std::abs(right);
        sound_ = sound_ && !large;
        left = sound_ ? left * right : 0;
      } else {
        sound_ = sound_ && right != 0;
        left = sound_ ? (over ? left / right : left % right) : 0;
      }
    }
    return left;
  }

  std::int64_t factor(int depth) {
    if (depth > kMostFallbacks) {
      sound_ = false;
      return 0;
    }
    if (take('(')) {
      const std::int64_t inner = choice(depth + 1);
      sound_ = sound_ && take(')');
      return inner;
    }
    skip();
    std::int64_t number = 0;
    const char* begin = text_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    sound_ = sound_ && error == std::errc{};
    at_ += static_cast<std::size_t>(stop - begin);
    return checked(number);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool sound_ = true;
};

}  // namespace

bool is_unread(std::string_view text) {
  return text.find_first_of("$`") != std::string_view::npos;
}

std::size_t piece_end(std::string_view text, std::size_t at) {
  while (at < text.size() && kBlanks.find(text[at]) == std::string_view::npos) {
    if (text.substr(at).starts_with("$(")) {
      at = closing(text, at + 1, '(', ')');
    } else if (text[at] == '`') {
      at = std::min(text.find('`', at + 1), text.size() - 1) + 1;
    } else {
      ++at;
    }
  }
  return at;
}

std::size_t token_length(std::string_view script, std::size_t at) {
  std::size_t i = at;
  while (i < script.size()) {
    const char c = script[i];
    if (c == '\\') {
      i += 2;
    } else if (c == '\'') {
      i = std::min(script.find('\'', i + 1), script.size()) + 1;
    } else if (c == '"') {
      for (++i; i < script.size() && script[i] != '"'; ++i) {
        i += script[i] == '\\' ? 1U : 0U;
      }
      ++i;
    } else if (c == '`') {
      i = std::min(script.find('`', i + 1), script.size()) + 1;
    } else if (c == '$' && i + 1 < script.size() && script[i + 1] == '(') {
      i = closing(script, i + 1, '(', ')');
    } else if (c == '$' && i + 1 < script.size() && script[i + 1] == '{') {
      i = closing(script, i + 1, '{', '}');
    } else if (std::string_view(" \t\r\n;&|()<>").find(c) != std::string_view::npos) {
      break;
    } else {
      ++i;
    }
  }
  return std::min(i, script.size()) - at;
}

std::vector<ShellWord> ShellVariables::expand(std::string_view token, std::size_t offset) {
  Output output;
  output.offset = offset;
  expand_into(token, output);
  end_word(output);
  return std::move(output.words);
}

std::string ShellVariables::expand_whole(std::string_view token) {
  Output output;
  output.split = false;
  expand_into(token, output);
  end_word(output);
  std::string text;
  for (const ShellWord& word : output.words) {
    text += text.empty() ? word.text : " " + word.text;
  }
  return text;
}

void ShellVariables::assign(const std::string& name,
                            std::string value,
                            std::size_t offset,
                            std::size_t length) {
  variables_[name] = {{{std::move(value), offset}}, false, offset, length};
}

void ShellVariables::assign_array(const std::string& name, std::vector<ShellWord> words) {
  variables_[name] = {std::move(words), true, 0, 0};
}

void ShellVariables::append(const std::string& name, const std::string& value) {
  Variable& variable = variables_[name];
  if (variable.words.empty()) {
    variable.words.emplace_back();
  }
  variable.words.back().text += value;
  variable.length = 0;
  spent_ += value.size();
}

void ShellVariables::append_array(const std::string& name, std::vector<ShellWord> words) {
  Variable& variable = variables_[name];
  variable.array = true;
  variable.words.insert(variable.words.end(),
                        std::make_move_iterator(words.begin()),
                        std::make_move_iterator(words.end()));
}

void ShellVariables::forget(const std::string& name) {
  variables_.erase(name);
}

std::vector<std::string> ShellVariables::texts() const {
  std::vector<std::string> texts;
  for (const auto& [name, variable] : variables_) {
    std::string text;
    for (const ShellWord& word : variable.words) {
      text += text.empty() ? word.text : " " + word.text;
    }
    if (text.find("--") != std::string::npos) {
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

const ShellVariables::Variable* ShellVariables::find(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

void ShellVariables::put(std::string_view text, Output& output) {
  spent_ += text.size() + 1;
  output.open = true;
  if (!overflowed()) {
    output.text += text;
  }
}

void ShellVariables::end_word(Output& output) {
  if (output.open) {
    output.words.push_back({std::move(output.text), output.offset});
  }
  output.text.clear();
  output.open = false;
}

// Pieces of a text of several words stand where they were written, where they can be found there.
void ShellVariables::put_split(const Variable& variable, const std::string& text, Output& output) {
  std::size_t from = variable.begin;
  const std::size_t until = variable.begin + variable.length;
  std::size_t at = 0;
  while (at < text.size() && !overflowed()) {
    const std::size_t begin = text.find_first_not_of(kBlanks, at);
    if (begin == std::string::npos) {
      end_word(output);
      return;
    }
    if (begin > at) {
      end_word(output);
    }
    const std::size_t end = piece_end(text, begin);
    const std::string_view piece = std::string_view(text).substr(begin, end - begin);
    const std::size_t found = script_.find(piece, from);
    const std::size_t before = output.offset;
    if (variable.length > 0 && found != std::string_view::npos && found < until && !output.open) {
      output.offset = found;
      from = found + piece.size();
    }
    put(piece, output);
    if (end < text.size()) {
      end_word(output);
    }
    output.offset = before;
    at = end;
  }
}

void ShellVariables::put_value(const Variable& variable,
                               bool quoted,
                               bool whole_token,
                               Output& output) {
  for (std::size_t i = 0; i < variable.words.size() && !overflowed(); ++i) {
    const ShellWord& word = variable.words[i];
    if (i > 0) {
      end_word(output);
    }
    const std::size_t before = output.offset;
    if (variable.array && whole_token) {
      output.offset = word.offset;
    }
    if (quoted || !output.split) {
      put(word.text, output);
    } else {
      put_split(variable, word.text, output);
    }
    if (variable.array && whole_token) {
      end_word(output);
    }
    output.offset = before;
  }
}

ShellVariables::Reference ShellVariables::reference_at(std::string_view token, std::size_t at) {
  Reference reference;
  const std::size_t begin = at + 1;
  if (begin < token.size() && token[begin] != '{') {
    // $1 is what the caller of the script passes.
    const bool passed = std::isdigit(static_cast<unsigned char>(token[begin])) != 0;
    const std::size_t length = passed ? 1 : name_length(token, begin);
    reference.name = std::string(token.substr(begin, length));
    reference.readable = length > 0;
    reference.length = 1 + std::max<std::size_t>(length, 1);
    return reference;
  }
  const std::size_t end = closing(token, begin, '{', '}');
  reference.length = end - at;
  const std::string_view inner =
      end > begin + 1 ? token.substr(begin + 1, end - begin - 2) : std::string_view();
  // ${1:-x}: what the caller of the script passes, or the default.
  const bool passed = !inner.empty() && std::isdigit(static_cast<unsigned char>(inner[0])) != 0;
  const std::size_t digits = std::min(inner.find_first_not_of("0123456789"), inner.size());
  const std::size_t length = passed ? digits : name_length(inner, 0);
  reference.name = std::string(inner.substr(0, length));
  const std::string_view rest = inner.substr(length);
  reference.all = rest == "[@]" || rest == "[*]";
  const bool with_colon = rest.starts_with(":-") || rest.starts_with(":=");
  reference.has_fallback = with_colon || rest.starts_with("-") || rest.starts_with("=");
  reference.assigns = rest.starts_with(":=") || rest.starts_with("=");
  if (reference.has_fallback) {
    reference.fallback = std::string(rest.substr(with_colon ? 2 : 1));
  }
  reference.readable = length > 0 && (rest.empty() || reference.all || reference.has_fallback);
  return reference;
}

std::optional<std::string> ShellVariables::arithmetic(std::string_view expression) {
  // Names stand for their values with and without a dollar sign.
  std::string plain;
  for (std::size_t i = 0; i < expression.size();) {
    const std::size_t length = name_length(expression, i);
    if (length > 0 && (i == 0 || expression[i - 1] != '$') &&
        (i < 2 || expression.substr(i - 2, 2) != "${")) {
      const Variable* variable = find(std::string(expression.substr(i, length)));
      if (variable == nullptr || variable->words.size() != 1) {
        return std::nullopt;
      }
      plain += variable->words.front().text;
      i += length;
    } else {
      plain += expression.substr(i, std::max<std::size_t>(length, 1));
      i += std::max<std::size_t>(length, 1);
    }
    if (plain.size() > 4096) {
      return std::nullopt;
    }
  }
  const std::optional<std::int64_t> value = Arithmetic(expand_whole(plain)).value();
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}

std::size_t ShellVariables::expand_dollar(std::string_view token,
                                          std::size_t at,
                                          bool quoted,
                                          Output& output) {
  const std::string_view rest = token.substr(at);
  if (rest.starts_with("$(")) {
    const std::size_t length = closing(token, at + 1, '(', ')') - at;
    const bool sum = rest.starts_with("$((") && length > 5;
    const auto value =
        sum && depth_ < kMostFallbacks ? arithmetic(rest.substr(3, length - 5)) : std::nullopt;
    put(value ? std::string_view(*value) : rest.substr(0, length), output);
    return length;
  }
  if (rest.size() < 2) {
    put("$", output);
    return 1;
  }
  const Reference reference = reference_at(token, at);
  const std::string_view written = token.substr(at, reference.length);
  const Variable* variable = reference.readable ? find(reference.name) : nullptr;
  if (variable != nullptr) {
    const Variable value = *variable;  // a default inside may assign
    const std::size_t quotes = quoted ? 2 : 0;
    put_value(value, quoted, written.size() + quotes == token.size(), output);
  } else if (reference.has_fallback && depth_ < kMostFallbacks) {
    ++depth_;
    const std::string value = expand_whole(reference.fallback);
    --depth_;
    if (reference.assigns) {
      assign(reference.name, value, output.offset, 0);
    }
    const Variable fallback = {{{value, output.offset}}, false, 0, 0};
    put_value(fallback, quoted, false, output);
  } else {
    put(written, output);
  }
  return std::max<std::size_t>(reference.length, 1);
}

void ShellVariables::expand_into(std::string_view token, Output& output) {
  bool quoted = false;
  for (std::size_t i = 0; i < token.size() && !overflowed();) {
    const char c = token[i];
    if (c == '\'' && !quoted) {
      const std::size_t end = std::min(token.find('\'', i + 1), token.size());
      put(token.substr(i + 1, end - i - 1), output);
      i = end + 1;
    } else if (c == '"') {
      quoted = !quoted;
      output.open = true;
      ++i;
    } else if (c == '\\' && i + 1 < token.size()) {
      const char next = token[i + 1];
      const bool kept = quoted && std::string_view("$`\"\\\n").find(next) == std::string_view::npos;
      if (next != '\n') {
        put(token.substr(kept ? i : i + 1, kept ? 2 : 1), output);
      }
      i += 2;
    } else if (c == '`') {
      const std::size_t end = std::min(token.find('`', i + 1), token.size() - 1);
      put(token.substr(i, end - i + 1), output);
      i = end + 1;
    } else if (c == '$') {
      i += expand_dollar(token, i, quoted, output);
    } else {
      put(token.substr(i, 1), output);
      ++i;
    }
  }
}

}  // namespace orrery::import_config
