#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "tests/repo/code.hpp"
#include "tests/repo/rules.hpp"

namespace orrery::repo {

namespace {

constexpr std::size_t kMostFunctions = 40;
constexpr std::size_t kMostMembers = 30;

struct ClassSize {
  std::size_t functions = 0;
  std::size_t members = 0;
};

// Classes that are larger, with what they have: the list may only become shorter, the numbers
// smaller.
struct KnownClass {
  std::string_view name;
  ClassSize size;
};

constexpr std::array<KnownClass, 5> kKnown = {{{"ChartView", {46, 13}},
                                               {"MainWindow", {63, 29}},
                                               {"RunSimulator", {61, 30}},
                                               {"TimelineView", {58, 23}},
                                               {"View", {47, 10}}}};

bool is_product(std::string_view path) {
  return path.starts_with("sim/") || path.starts_with("calibrate/") || path.starts_with("gui/") ||
         path.starts_with("kernels/");
}

// One statement of a class body, counted by what it declares.
void count(const Tokens& statement, ClassSize& size) {
  constexpr std::array<std::string_view, 8> kNeither = {
      "using", "friend", "enum", "struct", "class", "constexpr", "static_assert", "typedef"};
  if (statement.empty() ||
      std::any_of(kNeither.begin(), kNeither.end(), [&](std::string_view word) {
        return statement.front().text == word ||
               (statement.front().text == "static" && statement.size() > 1 &&
                statement[1].text == word);
      })) {
    return;
  }
  int angle = 0;
  for (const Token& token : statement) {
    angle += token.text == "<" ? 1 : token.text == ">" ? -1 : 0;
    if (token.text == "=" && angle <= 0) {
      break;
    }
    if (token.text == "(" && angle <= 0) {
      ++size.functions;
      return;
    }
  }
  ++size.members;
}

// Sizes of the body that begins behind the brace at `begin`; `end` is set to its closing brace.
ClassSize size_of(const Tokens& tokens, std::size_t begin, std::size_t& end) {
  ClassSize size;
  Tokens statement;
  int depth = 0;
  for (end = begin + 1; end < tokens.size(); ++end) {
    const std::string_view text = tokens[end].text;
    if (depth == 0 && text == "}") {
      return size;
    }
    const bool label = depth == 0 && text == ":" && statement.size() == 1;
    if (label) {  // public, protected, private
      statement.clear();
      continue;
    }
    if (depth == 0) {
      statement.push_back(tokens[end]);
    }
    depth += text == "{" ? 1 : text == "}" ? -1 : 0;
    const bool body = text == "}" && depth == 0 &&
                      std::any_of(statement.begin(), statement.end(), [](const Token& token) {
                        return token.text == "(";
                      });
    if (depth == 0 && (text == ";" || body)) {
      if (statement.size() > 1) {
        count(statement, size);
      }
      statement.clear();
    }
  }
  return size;
}

bool is_within_limits(std::string_view name, const ClassSize& size) {
  for (const KnownClass& known : kKnown) {
    if (known.name == name) {
      return size.functions <= known.size.functions && size.members <= known.size.members;
    }
  }
  return size.functions <= kMostFunctions && size.members <= kMostMembers;
}

}  // namespace

Offences large_classes(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!is_product(file.path)) {
      continue;
    }
    const Tokens tokens = tokens_of(file.text);
    for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
      if (tokens[i].text != "class" || tokens[i + 1].kind != TokenKind::word ||
          (i > 0 && (tokens[i - 1].text == "enum" || tokens[i - 1].text == "<" ||
                     tokens[i - 1].text == ","))) {
        continue;
      }
      std::size_t brace = i + 2;
      while (brace < tokens.size() && tokens[brace].text != "{" && tokens[brace].text != ";") {
        ++brace;
      }
      if (brace == tokens.size() || tokens[brace].text != "{") {
        continue;
      }
      std::size_t end = brace;
      const ClassSize size = size_of(tokens, brace, end);
      if (!is_within_limits(tokens[i + 1].text, size)) {
        offences.push_back(offence(file,
                                   tokens[i].line,
                                   fmt::format("class {} has {} functions and {} members, at most "
                                               "{} and {}",
                                               tokens[i + 1].text,
                                               size.functions,
                                               size.members,
                                               kMostFunctions,
                                               kMostMembers)));
      }
    }
  }
  return offences;
}

}  // namespace orrery::repo
