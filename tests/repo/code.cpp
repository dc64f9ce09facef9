#include "tests/repo/code.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "tests/repo/tree.hpp"

namespace orrery::repo {

namespace {

bool is_word_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_word(char c) {
  return is_word_start(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Tokens run() {
    while (at_ < text_.size()) {
      next();
    }
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void next() {
    const char c = peek();
    if (c == '\n') {
      ++line_;
      ++at_;
      line_is_blank_ = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at_;
    } else if (c == '#' && line_is_blank_) {
      skip_preprocessor_line();
    } else if (c == '/' && peek(1) == '/') {
      skip_to(std::min(text_.find('\n', at_), text_.size()));
    } else if (c == '/' && peek(1) == '*') {
      skip_to(end_of("*/", at_ + 2));
    } else {
      line_is_blank_ = false;
      lex_token(c);
    }
  }

  void lex_token(char c) {
    const std::size_t begin = at_;
    if (c == 'R' && peek(1) == '"') {
      const std::size_t open = text_.find('(', at_);
      const std::string close = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
      push(TokenKind::text, at_ + 1, 1);
      skip_to(end_of(close, open));
    } else if (is_word_start(c)) {
      while (is_word(peek())) {
        ++at_;
      }
      push(TokenKind::word, begin, at_ - begin);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      lex_number();
    } else if (c == '"' || c == '\'') {
      push(TokenKind::text, begin, 1);
      ++at_;
      while (at_ < text_.size() && peek() != c) {
        at_ += peek() == '\\' ? 2U : 1U;
      }
      ++at_;
    } else {
      push(TokenKind::symbol, begin, 1);
      ++at_;
    }
  }

  void lex_number() {
    const std::size_t begin = at_;
    while (is_word(peek()) || peek() == '.' || peek() == '\'') {
      const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(peek())));
      const bool hex = text_.substr(begin, 2) == "0x";
      const bool exponent = c == (hex ? 'p' : 'e');
      at_ += exponent && (peek(1) == '+' || peek(1) == '-') ? 2U : 1U;
    }
    push(TokenKind::number, begin, at_ - begin);
  }

  void skip_preprocessor_line() {
    while (at_ < text_.size() && peek() != '\n') {
      if (peek() == '\\' && peek(1) == '\n') {
        ++line_;
        ++at_;
      }
      ++at_;
    }
  }

  [[nodiscard]] std::size_t end_of(std::string_view mark, std::size_t from) const {
    const std::size_t found = text_.find(mark, from);
    return found == std::string_view::npos ? text_.size() : found + mark.size();
  }

  void skip_to(std::size_t end) {
    line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                 text_.begin() + static_cast<std::ptrdiff_t>(end),
                                                 '\n'));
    at_ = end;
  }

  void push(TokenKind kind, std::size_t begin, std::size_t length) {
    tokens_.push_back({kind, text_.substr(begin, length), line_});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  bool line_is_blank_ = true;
  Tokens tokens_;
};

bool contains(const Tokens& tokens, std::string_view text) {
  return std::any_of(
      tokens.begin(), tokens.end(), [text](const Token& token) { return token.text == text; });
}

// The head without `template <...>` and without [[attributes]].
Tokens without_template(Tokens head) {
  while (!head.empty() && (head[0].text == "template" || head[0].text == "[")) {
    const std::string_view open = head[0].text == "[" ? "[" : "<";
    const std::string_view close = open == "[" ? "]" : ">";
    int depth = 0;
    std::size_t i = open == "[" ? 0 : 1;
    do {
      depth += head[i].text == open ? 1 : 0;
      depth -= head[i].text == close ? 1 : 0;
      ++i;
    } while (i < head.size() && depth > 0);
    head.erase(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return head;
}

// Has an `=` outside of parentheses that is neither a comparison nor the name of an operator.
bool is_assigned(const Tokens& head) {
  int parentheses = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    parentheses += head[i].text == "(" ? 1 : 0;
    parentheses -= head[i].text == ")" ? 1 : 0;
    const std::string_view before = i > 0 ? head[i - 1].text : std::string_view();
    const bool other = before == "operator" || before == "=" || before == "!" || before == "<";
    if (head[i].text == "=" && parentheses == 0 && !other) {
      return true;
    }
  }
  return false;
}

enum class ScopeKind { name_space, record, function, initializer };

ScopeKind kind_of(const Tokens& raw_head) {
  const Tokens head = without_template(raw_head);
  if (head.empty()) {
    return ScopeKind::initializer;
  }
  const bool linkage = head[0].text == "extern" && head.size() == 2;
  if (contains(head, "namespace") || linkage) {
    return ScopeKind::name_space;
  }
  const bool parentheses = contains(head, "(") && !contains(head, "alignas");
  if (contains(head, "enum")) {
    return ScopeKind::initializer;
  }
  static constexpr std::array<std::string_view, 3> kRecords = {"class", "struct", "union"};
  const bool record = std::any_of(kRecords.begin(), kRecords.end(), [&head](std::string_view word) {
    return contains(head, word);
  });
  if (record && !parentheses) {
    return ScopeKind::record;
  }
  const bool function = parentheses && (!is_assigned(head) || head.back().text == ")");
  return function ? ScopeKind::function : ScopeKind::initializer;
}

std::string name_of(const Tokens& raw_head) {
  const Tokens head = without_template(raw_head);
  if (contains(head, "operator")) {
    return "operator";
  }
  for (std::size_t i = 1; i < head.size(); ++i) {
    if (head[i].text == "(" && head[i - 1].kind == TokenKind::word) {
      return std::string(head[i - 1].text);
    }
  }
  return "(unnamed)";
}

// Of a head that declares or defines a function.
Declaration declaration_of(const Tokens& head, bool in_record) {
  Declaration declaration{name_of(head), head.front().line, true, !in_record};
  const Tokens plain = without_template(head);
  const bool constructor = plain.size() > 1 && plain[1].text == "(";
  static constexpr std::array<std::string_view, 5> kCalledOtherwise = {
      "override", "operator", "extern", "explicit", "~"};
  declaration.by_name =
      !constructor && declaration.name != "main" &&
      std::none_of(kCalledOtherwise.begin(),
                   kCalledOtherwise.end(),
                   [&head](std::string_view word) { return contains(head, word); });
  for (std::size_t i = 2; i < head.size(); ++i) {
    if (head[i].text == declaration.name) {
      declaration.line = head[i].line;
      declaration.free = declaration.free && head[i - 1].text != ":";
    }
  }
  return declaration;
}

// Walks the tokens; descends into namespaces and records, jumps over bodies and initialisers.
class Outliner {
 public:
  explicit Outliner(const Tokens& tokens) : tokens_(tokens) {}

  Outline run() {
    for (; at_ < tokens_.size(); ++at_) {
      const Token& token = tokens_[at_];
      parentheses_ += token.text == "(" ? 1 : 0;
      parentheses_ -= token.text == ")" ? 1 : 0;
      const bool structural = parentheses_ == 0 && token.kind == TokenKind::symbol;
      if (structural && token.text == "{") {
        open();
      } else if (structural && token.text == "}") {
        close();
      } else if (structural && token.text == ";") {
        end_statement();
      } else {
        head_.push_back(token);
      }
    }
    return std::move(outline_);
  }

 private:
  void close() {
    head_.clear();
    if (!scopes_.empty()) {
      scopes_.pop_back();
    }
  }

  void open() {
    const ScopeKind kind = kind_of(head_);
    if (kind == ScopeKind::name_space || kind == ScopeKind::record) {
      scopes_.push_back(kind);
      head_.clear();
      return;
    }
    const std::size_t begin = at_;
    const std::size_t end = closing_brace(begin);
    at_ = end;
    const bool more =
        end + 1 < tokens_.size() && (tokens_[end + 1].text == "," || tokens_[end + 1].text == "{");
    if (kind == ScopeKind::function && !more) {
      const std::size_t lines = tokens_[end].line - tokens_[begin].line + 1;
      outline_.declarations.push_back(declaration_of(head_, in_record()));
      outline_.functions.push_back({name_of(head_),
                                    tokens_[begin].line,
                                    lines,
                                    Tokens(tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
                                           tokens_.begin() + static_cast<std::ptrdiff_t>(end))});
      // A lambda bound to a name goes on to its semicolon.
      if (end + 1 >= tokens_.size() || tokens_[end + 1].text != ";") {
        head_.clear();
      }
    }
  }

  [[nodiscard]] std::size_t closing_brace(std::size_t i) const {
    int depth = 0;
    for (; i < tokens_.size(); ++i) {
      depth += tokens_[i].text == "{" ? 1 : 0;
      depth -= tokens_[i].text == "}" ? 1 : 0;
      if (depth == 0) {
        return i;
      }
    }
    return tokens_.size() - 1;
  }

  [[nodiscard]] bool in_record() const {
    return !scopes_.empty() && scopes_.back() == ScopeKind::record;
  }

  void end_statement() {
    if (!head_.empty() && kind_of(head_) == ScopeKind::function && !is_assigned(head_)) {
      outline_.declarations.push_back(declaration_of(head_, in_record()));
    }
    if (!head_.empty()) {
      (in_record() ? outline_.class_statements : outline_.namespace_statements)
          .push_back(std::move(head_));
    }
    head_.clear();
  }

  const Tokens& tokens_;
  std::size_t at_ = 0;
  int parentheses_ = 0;
  Tokens head_;
  std::vector<ScopeKind> scopes_;
  Outline outline_;
};

}  // namespace

Tokens tokens_of(std::string_view text) {
  return Lexer(text).run();
}

std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> includes;
  std::size_t number = 0;
  for (std::string_view line : lines_of(text)) {
    ++number;
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string_view::npos || line.substr(hash, 8) != "#include") {
      continue;
    }
    const std::size_t open = line.find_first_of("\"<", hash);
    const std::size_t close =
        open == std::string_view::npos ? open : line.find_first_of("\">", open + 1);
    if (close != std::string_view::npos) {
      includes.push_back(
          {std::string(line.substr(open + 1, close - open - 1)), line[open] == '"', number});
    }
  }
  return includes;
}

Outline outline_of(std::string_view text) {
  const Tokens tokens = tokens_of(text);
  return Outliner(tokens).run();
}

}  // namespace orrery::repo
