#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string>

#include "tests/repo/code.hpp"
#include "tests/repo/rules.hpp"

namespace orrery::repo {

namespace {

bool is_sim_code(const SourceFile& file) {
  return file.path.starts_with("sim/") &&
         (file.path.ends_with(".cpp") || file.path.ends_with(".hpp"));
}

// Powers of 1000 and 1024 that are a unit scale wherever they stand.
constexpr std::array<double, 7> kAlwaysScale = {
    1e9, 1e12, 1e15, 1e18, 0x1.0p20, 0x1.0p30, 0x1.0p40};
// These may also be a count (1,000 trials, 1,024 nodes, a limit of 1,000,000): a scale beside * or
// /, or when written as a real number.
constexpr std::array<double, 5> kSometimesScale = {1e3, 1e6, 0x1.0p10, 3600.0, 86400.0};

template <std::size_t N>
bool is_one_of(const std::array<double, N>& values, double x) {
  return std::find(values.begin(), values.end(), x) != values.end();
}

bool is_product(const Tokens& tokens, std::size_t i) {
  const auto is = [&tokens](std::size_t at, std::string_view text) {
    return at < tokens.size() && tokens[at].text == text;
  };
  const bool before = i > 0 && (is(i - 1, "*") || is(i - 1, "/"));
  const bool compound = i > 1 && is(i - 1, "=") && (is(i - 2, "*") || is(i - 2, "/"));
  return before || compound || is(i + 1, "*") || is(i + 1, "/");
}

bool is_scale(const Tokens& tokens, std::size_t i) {
  std::string digits(tokens[i].text);
  std::erase(digits, '\'');
  if (digits.size() > 1 && digits[0] == '0' &&
      std::isdigit(static_cast<unsigned char>(digits[1])) == 0 && digits[1] != '.') {
    return false;  // hexadecimal and binary literals are bit patterns
  }
  constexpr int kSmallestExponent = 3;
  const std::size_t exponent = digits.find_first_of("eE");
  if (exponent != std::string::npos) {
    return std::atoi(digits.c_str() + exponent + 1) >= kSmallestExponent;
  }
  const double value = std::strtod(digits.c_str(), nullptr);
  const bool written_as_real = digits.find('.') != std::string::npos;
  return is_one_of(kAlwaysScale, value) ||
         (is_one_of(kSometimesScale, value) && (written_as_real || is_product(tokens, i)));
}

const std::set<std::string_view>& random_words() {
  static const std::set<std::string_view> words = {"default_random_engine",
                                                   "drand48",
                                                   "knuth_b",
                                                   "minstd_rand",
                                                   "minstd_rand0",
                                                   "mt19937",
                                                   "mt19937_64",
                                                   "random_device",
                                                   "random_shuffle",
                                                   "ranlux24",
                                                   "ranlux48",
                                                   "seed_seq"};
  return words;
}

bool is_call_of(const Tokens& tokens, std::size_t i, std::string_view name) {
  return tokens[i].text == name && i + 1 < tokens.size() && tokens[i + 1].text == "(" &&
         (i == 0 || (tokens[i - 1].text != "." && tokens[i - 1].text != ">"));
}

bool has(const Tokens& tokens, std::string_view text) {
  return std::any_of(
      tokens.begin(), tokens.end(), [text](const Token& token) { return token.text == text; });
}

std::size_t index_of(const Tokens& tokens, std::string_view text) {
  const auto it = std::find_if(
      tokens.begin(), tokens.end(), [text](const Token& token) { return token.text == text; });
  return static_cast<std::size_t>(it - tokens.begin());
}

// `const T` and `T* const`, but not `const char*`; what stands in <> does not count.
bool is_constant(const Tokens& statement) {
  if (has(statement, "constexpr")) {
    return true;
  }
  const std::size_t end = index_of(statement, "=");
  bool constant = false;
  int depth = 0;
  for (std::size_t i = 0; i < end; ++i) {
    const std::string_view text = statement[i].text;
    depth += text == "<" ? 1 : 0;
    depth -= text == ">" ? 1 : 0;
    if (depth == 0) {
      constant = text == "const" || (constant && text != "*");
    }
  }
  return constant;
}

bool declares_variable(const Tokens& statement) {
  static const std::set<std::string_view> other = {"__extension__",
                                                   "using",
                                                   "typedef",
                                                   "template",
                                                   "static_assert",
                                                   "friend",
                                                   "namespace",
                                                   "class",
                                                   "struct",
                                                   "enum",
                                                   "union",
                                                   "["};
  if (statement.size() < 2 || other.contains(statement[0].text) || has(statement, "operator") ||
      has(statement, "template")) {
    return false;
  }
  return index_of(statement, "(") >= index_of(statement, "=");
}

void check_statics(const SourceFile& file, const Tokens& body, Offences& offences) {
  for (std::size_t i = 0; i + 1 < body.size(); ++i) {
    if (body[i].text != "static" && body[i].text != "thread_local") {
      continue;
    }
    std::size_t end = i;
    while (end < body.size() && body[end].text != ";" && body[end].text != "{" &&
           body[end].text != "(") {
      ++end;
    }
    const Tokens statement(body.begin() + static_cast<std::ptrdiff_t>(i),
                           body.begin() + static_cast<std::ptrdiff_t>(end));
    if (!is_constant(statement)) {
      offences.push_back(offence(file, body[i].line, "a function keeps mutable static state"));
    }
  }
}

}  // namespace

Offences scale_literals(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!is_sim_code(file) || file.path == "sim/base/units.hpp") {
      continue;
    }
    const Tokens tokens = tokens_of(file.text);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].kind == TokenKind::number && is_scale(tokens, i)) {
        offences.push_back(
            offence(file,
                    tokens[i].line,
                    fmt::format("{} is a unit scale: use sim/base/units.hpp", tokens[i].text)));
      }
    }
  }
  return offences;
}

Offences foreign_randomness(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!is_sim_code(file)) {
      continue;
    }
    for (const Include& include : includes_of(file.text)) {
      if (include.path == "random") {
        offences.push_back(offence(file, include.line, "use RandomStream, not <random>"));
      }
    }
    const Tokens tokens = tokens_of(file.text);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::string_view word = tokens[i].text;
      const bool distribution = word.ends_with("_distribution") && i > 2 &&
                                tokens[i - 3].text == "std" && tokens[i - 1].text == ":";
      if (distribution || random_words().contains(word) || is_call_of(tokens, i, "rand") ||
          is_call_of(tokens, i, "srand")) {
        offences.push_back(
            offence(file, tokens[i].line, fmt::format("use RandomStream, not {}", word)));
      }
    }
  }
  return offences;
}

Offences clocks(const Tree& tree) {
  static const std::set<std::string_view> words = {"clock_gettime",
                                                   "gettimeofday",
                                                   "high_resolution_clock",
                                                   "steady_clock",
                                                   "system_clock",
                                                   "timespec_get"};
  Offences offences;
  for (const SourceFile& file : tree.files) {
    // The command line shows progress in real time; results never depend on it.
    if (!is_sim_code(file) || file.path.starts_with("sim/cli/")) {
      continue;
    }
    for (const Token& token : tokens_of(file.text)) {
      if (token.kind == TokenKind::word && words.contains(token.text)) {
        offences.push_back(
            offence(file, token.line, fmt::format("results may not depend on {}", token.text)));
      }
    }
  }
  return offences;
}

Offences names_that_decide(const Tree& tree) {
  constexpr std::array<std::string_view, 3> kShown = {
      "sim/model/op.", "sim/step/operations/", "sim/evaluate/explain/"};
  Offences offences;
  for (const SourceFile& file : tree.files) {
    const bool shows = std::any_of(kShown.begin(), kShown.end(), [&file](std::string_view start) {
      return file.path.starts_with(start);
    });
    if (!is_sim_code(file) || shows) {
      continue;
    }
    for (const Token& token : tokens_of(file.text)) {
      if (token.text == "part_name") {
        offences.push_back(
            offence(file, token.line, "what an operation is called decides nothing: use its part"));
      }
    }
  }
  return offences;
}

Offences mutable_globals(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!is_sim_code(file)) {
      continue;
    }
    const Outline outline = outline_of(file.text);
    for (const Tokens& statement : outline.namespace_statements) {
      if (declares_variable(statement) && !is_constant(statement)) {
        offences.push_back(
            offence(file, statement[0].line, "a namespace holds a mutable variable"));
      }
    }
    for (const Tokens& statement : outline.class_statements) {
      if (has(statement, "static") && declares_variable(statement) && !is_constant(statement)) {
        offences.push_back(offence(file, statement[0].line, "a class shares a mutable variable"));
      }
    }
    for (const Function& function : outline.functions) {
      check_statics(file, function.body, offences);
    }
  }
  return offences;
}

Offences using_namespace_in_headers(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!file.path.ends_with(".hpp")) {
      continue;
    }
    const Tokens tokens = tokens_of(file.text);
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i].text == "using" && tokens[i + 1].text == "namespace") {
        offences.push_back(offence(file, tokens[i].line, "a header opens a namespace for others"));
      }
    }
  }
  return offences;
}

}  // namespace orrery::repo
