#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>

#include "sim/import_config/shell/shell_script.hpp"

namespace orrery::import_config {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::size_t kNone = std::string_view::npos;
constexpr int kMostNesting = 32;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::size_t name_length(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_') &&
         (end > 0 || !is_digit(text[0]))) {
    ++end;
  }
  return end;
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

// Behind the quote that ends what begins at `at`.
std::size_t behind_quote(std::string_view text, std::size_t at) {
  return std::min(text.find(text[at], at + 1), text.size() - 1) + 1;
}

// Whole numbers and operators, those that bind least first; nothing when it is anything else.
class Arithmetic {
 public:
  explicit Arithmetic(std::string_view text) : text_(text) {}

  std::optional<std::int64_t> value() {
    const std::int64_t result = choice(0);
    return sound_ && next() == '\0' ? std::optional(result) : std::nullopt;
  }

 private:
  static constexpr std::int64_t kMost = std::int64_t{1} << 40U;
  static constexpr std::array<std::string_view, 3> kOperators = {"><", "+-", "*/%"};

  char next() {
    at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char c) {
    const bool there = next() == c;
    at_ += there ? 1 : 0;
    return there;
  }

  // a > b ? c : d
  std::int64_t choice(int depth) {
    const std::int64_t left = joined(0, depth);
    if (!take('?')) {
      return left;
    }
    const std::int64_t yes = choice(depth + 1);
    sound_ = sound_ && take(':');
    const std::int64_t no = choice(depth + 1);
    return left != 0 ? yes : no;
  }

  std::int64_t joined(std::size_t level, int depth) {
    if (level == kOperators.size()) {
      return factor(depth);
    }
    std::int64_t left = joined(level + 1, depth);
    while (sound_ && next() != '\0' && kOperators[level].find(next()) != kNone) {
      const char sign = text_[at_++];
      const bool same = level == 0 && take('=');
      left = applied(sign, left, joined(level + 1, depth), same);
    }
    return left;
  }

  std::int64_t applied(char sign, std::int64_t left, std::int64_t right, bool same) {
    const bool large = std::abs(static_cast<double>(left) * static_cast<double>(right)) > kMost;
    sound_ = sound_ && !(sign == '*' && large) && !((sign == '/' || sign == '%') && right == 0);
    if (!sound_) {
      return 0;
    }
    switch (sign) {
      case '>':
        return left > right || (same && left == right) ? 1 : 0;
      case '<':
        return left < right || (same && left == right) ? 1 : 0;
      case '+':
        return checked(left + right);
      case '-':
        return checked(left - right);
      case '*':
        return left * right;
      case '/':
        return left / right;
      default:
        return left % right;
    }
  }

  std::int64_t checked(std::int64_t value) {
    sound_ = sound_ && value <= kMost && value >= -kMost;
    return sound_ ? value : 0;
  }

  std::int64_t factor(int depth) {
    sound_ = sound_ && depth <= kMostNesting;
    std::int64_t number = 0;
    if (sound_ && take('(')) {
      number = choice(depth + 1);
      sound_ = sound_ && take(')');
      return number;
    }
    next();
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

// ${NAME}, ${NAME:-default}, ${NAME[@]}, $NAME or $1, as it stands at the begin of the text.
struct Reference {
  std::string_view name;
  std::optional<std::string_view> fallback;
  bool assigns = false;   // the default becomes the value
  bool instead = false;   // what stands for a value, where there is one
  bool colon = false;     // an empty value counts as none
  bool readable = false;  // a form that is understood
  std::size_t length = 0;
};

Reference reference_of(std::string_view text) {
  const bool braces = text.substr(1).starts_with("{");
  const std::size_t end = braces ? closing(text, 1, '{', '}') : text.size();
  std::string_view inner = text.substr(1, end - 1);
  if (braces) {
    inner = inner.size() > 1 ? inner.substr(1, inner.size() - 2) : std::string_view();
  }
  // Digits: what the caller of the script passes.
  const bool passed = !inner.empty() && is_digit(inner[0]);
  const std::size_t digits = std::min(inner.find_first_not_of("0123456789"), inner.size());
  const std::size_t length = !passed ? name_length(inner) : braces ? digits : 1;
  Reference found;
  found.name = inner.substr(0, length);
  if (!braces) {
    found.readable = length > 0;
    found.length = std::min(text.size(), 1 + std::max<std::size_t>(length, 1));
    return found;
  }
  found.length = end;
  const std::string_view rest = inner.substr(length);
  const std::size_t sign = rest.starts_with(":") ? 1 : 0;
  if (rest.size() > sign && (rest[sign] == '-' || rest[sign] == '=' || rest[sign] == '+')) {
    found.fallback = rest.substr(sign + 1);
    found.assigns = rest[sign] == '=';
    found.instead = rest[sign] == '+';
    found.colon = sign == 1;
  }
  found.readable = length > 0 && (rest.empty() || rest == "[@]" || rest == "[*]" || found.fallback);
  return found;
}

}  // namespace

bool is_unread(std::string_view text) { return text.find_first_of("$`") != kNone; }

bool is_option(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") &&
         std::isalpha(static_cast<unsigned char>(word[2])) != 0;
}

std::size_t piece_end(std::string_view text, std::size_t at) {
  while (at < text.size() && kBlanks.find(text[at]) == kNone) {
    at = text.substr(at).starts_with("$(") ? closing(text, at + 1, '(', ')')
         : text[at] == '`'                 ? behind_quote(text, at)
                                           : at + 1;
  }
  return at;
}

std::size_t token_length(std::string_view script, std::size_t at) {
  std::size_t i = at;
  while (i < script.size() && std::string_view(" \t\r\n;&|()<>").find(script[i]) == kNone) {
    const std::string_view two = script.substr(i, 2);
    if (script[i] == '\\') {
      i += 2;
    } else if (script[i] == '\'' || script[i] == '`') {
      i = behind_quote(script, i);
    } else if (script[i] == '"') {
      for (++i; i < script.size() && script[i] != '"'; ++i) {
        i += script[i] == '\\' ? 1U : 0U;
      }
      ++i;
    } else if (two == "$(" || two == "${") {
      i = closing(script, i + 1, two[1], two == "$(" ? ')' : '}');
    } else {
      ++i;
    }
  }
  return std::min(i, script.size()) - at;
}

std::size_t ShellVariables::place_of(std::string_view option, std::size_t from,
                                     std::size_t otherwise) const {
  constexpr std::size_t kFar = std::size_t{64} << 10U;
  const std::string_view window = script_.substr(std::min(from, script_.size()), kFar);
  const std::size_t found = window.find(option.substr(0, option.find_first_of("= ")));
  const bool told = is_option(option) || is_unread(option);
  return !told || found == kNone ? otherwise : from + found;
}

std::vector<ShellWord> ShellVariables::expand(std::string_view token, std::size_t offset) {
  Output output{.words = {}, .offset = offset};
  write(token, output);
  for (ShellWord& word : output.words) {
    word.offset = place_of(word.text, word.offset, offset);
  }
  return std::move(output.words);
}

std::string ShellVariables::expand_whole(std::string_view token) {
  Output output{.words = {}, .split = false};
  write(token, output);
  std::string text;
  for (const ShellWord& word : output.words) {
    text += text.empty() ? word.text : " " + word.text;
  }
  return text;
}

void ShellVariables::assign(const std::string& name, std::vector<ShellWord> words, bool array,
                            bool more) {
  Variable& variable = variables_[name];
  if (!more || variable.words.empty()) {
    variable = {std::move(words), array};
  } else if (array) {
    variable.array = true;
    variable.words.insert(variable.words.end(), words.begin(), words.end());
  } else {
    variable.words.back().text += words.front().text;
    spent_ += words.front().text.size();
  }
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

void ShellVariables::put(std::string_view text, Output& output) {
  spent_ += text.size() + 1;
  if (!output.open) {
    output.words.push_back({"", output.offset});
    output.open = true;
  }
  if (!overflowed()) {
    output.words.back().text += text;
  }
}

void ShellVariables::put_words(const Variable& variable, bool quoted, Output& output) {
  const std::size_t before = output.offset;
  for (std::size_t i = 0; i < variable.words.size() && !overflowed(); ++i) {
    const auto& [text, offset] = variable.words[i];
    output.offset = offset;
    output.open = output.open && i == 0;
    if (quoted || !output.split) {
      put(text, output);
      continue;
    }
    for (std::size_t at = 0; at < text.size() && !overflowed();) {
      const std::size_t begin = std::min(text.find_first_not_of(kBlanks, at), text.size());
      output.open = output.open && begin == at;
      at = piece_end(text, begin);
      if (at > begin) {
        put(std::string_view(text).substr(begin, at - begin), output);
      }
    }
  }
  output.offset = before;
}

std::optional<std::string> ShellVariables::arithmetic(std::string_view expression) {
  constexpr std::size_t kLongest = 4096;
  if (expression.size() > kLongest) {
    return std::nullopt;
  }
  const std::string text = expand_whole(expression);
  std::string plain;  // names stand for their values without a dollar sign, too
  for (std::string_view rest = text; !rest.empty() && plain.size() <= kLongest;) {
    const std::size_t length = name_length(rest);
    const auto known = variables_.find(rest.substr(0, length));
    if (length > 0 && (known == variables_.end() || known->second.words.size() != 1)) {
      return std::nullopt;
    }
    plain += length > 0 ? known->second.words.front().text : std::string(rest.substr(0, 1));
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  const std::optional<std::int64_t> value = Arithmetic(plain).value();
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}

Truth ShellVariables::calculate(std::string_view expression) {
  const std::size_t begin = std::min(expression.find_first_not_of(kBlanks), expression.size());
  expression.remove_prefix(begin);
  const std::size_t length = name_length(expression);
  const std::size_t sign =
      std::min(expression.find_first_not_of(kBlanks, length), expression.size());
  const std::string_view rest = expression.substr(sign);
  if (length > 0 && rest.starts_with("=") && !rest.starts_with("==")) {
    const std::string name(expression.substr(0, length));
    const auto value = arithmetic(rest.substr(1));
    if (!value) {
      forget(name);
      return Truth::unknown;
    }
    assign(name, {{*value, 0}}, false, false);
    return *value == "0" ? Truth::no : Truth::yes;
  }
  const auto value = arithmetic(expression);
  if (!value) {
    const bool compares = expression.find("++") == kNone && expression.find("--") == kNone &&
                          expression.find("= ") == kNone && expression.find("*=") == kNone &&
                          expression.find("+=") == kNone && expression.find("-=") == kNone &&
                          expression.find("/=") == kNone;
    if (!compares || expression.find(',') != kNone) {
      forget_named(expression);
    }
    return Truth::unknown;
  }
  return *value == "0" ? Truth::no : Truth::yes;
}

void ShellVariables::forget_set_by(std::span<const ShellToken> command) {
  const std::string_view first = command.front().text;
  const bool sets = is_among(first, {"eval", "read", "printf", "mapfile", "readarray", "declare",
                                     "typeset", "export", "local", "readonly", "unset"});
  for (std::size_t i = 1; i < command.size() && (sets || first == "let"); ++i) {
    const std::string text = expand_whole(command[i].text);
    const std::size_t sign = std::min(assignment_at(text), text.size());
    if (first == "let") {
      static_cast<void>(calculate(text));
    } else if ((first != "eval" || sign < text.size()) && !text.starts_with("-")) {
      forget_named(std::string_view(text).substr(0, sign));
    }
  }
}

void ShellVariables::forget_named(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = name_length(text);
    if (length > 0) {
      forget(std::string(text.substr(0, length)));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

std::size_t ShellVariables::write_value(std::string_view token, bool quoted, Output& output) {
  const bool deep = ++depth_ > kMostNesting;
  Reference reference;
  if (token.starts_with("$(")) {
    reference.length = closing(token, 1, '(', ')');
    constexpr std::size_t kBrackets = 5;
    const auto value = token.starts_with("$((") && reference.length > kBrackets && !deep
                           ? arithmetic(token.substr(3, reference.length - kBrackets))
                           : std::nullopt;
    put(value ? std::string_view(*value) : token.substr(0, reference.length), output);
  } else {
    reference = reference_of(token);
    const auto known = variables_.find(reference.name);
    const bool set = reference.readable && known != variables_.end();
    const bool empty = set && reference.colon && known->second.words.size() == 1 &&
                       known->second.words[0].text.empty();
    if (set && reference.instead && !deep) {
      put_words({{{empty ? "" : expand_whole(*reference.fallback), output.offset}}, false}, quoted,
                output);
    } else if (set && !empty) {
      put_words(Variable(known->second), quoted, output);
    } else if (reference.readable && reference.fallback && !reference.instead && !deep) {
      const Variable value{{{expand_whole(*reference.fallback), output.offset}}, false};
      if (reference.assigns) {
        variables_[std::string(reference.name)] = value;
      }
      put_words(value, quoted, output);
    } else {
      put(token.substr(0, reference.length), output);
    }
  }
  --depth_;
  return reference.length;
}

void ShellVariables::write(std::string_view token, Output& output) {
  bool quoted = false;
  for (std::size_t i = 0; i < token.size() && !overflowed();) {
    const char c = token[i];
    std::size_t end = i + 1;
    if (c == '\'' && !quoted) {
      end = behind_quote(token, i);
      put(token.substr(i + 1, end - i - 2), output);
    } else if (c == '"') {
      quoted = !quoted;
      put("", output);
    } else if (c == '\\' && i + 1 < token.size()) {
      end = i + 2;
      const bool kept = quoted && std::string_view("$`\"\\\n").find(token[i + 1]) == kNone;
      if (token[i + 1] != '\n') {
        put(token.substr(kept ? i : i + 1, kept ? 2 : 1), output);
      }
    } else if (c == '`') {
      end = behind_quote(token, i);
      put(token.substr(i, end - i), output);
    } else if (c == '$') {
      end = i + write_value(token.substr(i), quoted, output);
    } else {
      put(token.substr(i, 1), output);
    }
    i = end;
  }
}

bool is_among(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace orrery::import_config
