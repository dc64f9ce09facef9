#pragma once

// Lexical view of a C++ file without its comments: tokens, includes, functions and statements.
//
// A small lexer and a brace matcher, enough for the rules of the repository: comments, strings and
// preprocessor lines are recognised, templates and constructor initialisers are told apart from
// function bodies. It does not expand macros.

#include <string>
#include <string_view>
#include <vector>

namespace orrery::repo {

enum class TokenKind { word, number, text, symbol };

struct Token {
  TokenKind kind;
  std::string_view text;  // of a string or character literal: the quotes only
  std::size_t line;       // 1-based
};

// Tokens of the code, without comments and preprocessor lines. Views into `text`.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view text);

struct Include {
  std::string path;
  bool quoted;  // "path", else <path>
  std::size_t line;
};

[[nodiscard]] std::vector<Include> includes_of(std::string_view text);

using Tokens = std::vector<Token>;

struct Function {
  std::string name;
  std::size_t first_line;  // of the opening brace
  std::size_t lines;       // from the opening to the closing brace, both included
  Tokens body;
};

// A function that is declared or defined outside of bodies.
struct Declaration {
  std::string name;
  std::size_t line;
  bool by_name;  // nobody else calls it: not an override, operator, constructor or entry point
  bool free;     // stands in no class
};

struct Outline {
  std::vector<Declaration> declarations;
  std::vector<Function> functions;  // outermost bodies only
  std::vector<Tokens> namespace_statements;
  std::vector<Tokens> class_statements;
};

[[nodiscard]] Outline outline_of(std::string_view text);

}  // namespace orrery::repo
