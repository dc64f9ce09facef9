#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
#include <string>

#include "tests/repo/code.hpp"
#include "tests/repo/rules.hpp"

namespace orrery::repo {

namespace {

// Functions that stand although no product code names them, and why.
struct Exception {
  std::string_view name;
  std::string_view why;
};

constexpr std::array<Exception, 6> kExceptions = {{{"(unnamed)", "no name that could be called"},
                                                   {"check_failed", "called by ORRERY_CHECK"},
                                                   {"deallocate", "called by the standard library"},
                                                   {"group_rules", "tests read the whole table"},
                                                   {"kernel_rules", "tests read the whole table"},
                                                   {"parse_baseline", "read_baseline of a text"}}};

bool is_excepted(std::string_view name) {
  for (const Exception& exception : kExceptions) {
    if (exception.name == name) {
      return true;
    }
  }
  return false;
}

bool is_source(const SourceFile& file) {
  return file.path.ends_with(".cpp") || file.path.ends_with(".hpp") || file.path.ends_with(".cu") ||
         file.path.ends_with(".cuh");
}

bool is_held(const SourceFile& file) {
  return file.path.starts_with("sim/") || file.path.starts_with("calibrate/") ||
         file.path.starts_with("gui/");
}

// What the product says of one name.
struct Name {
  std::size_t mentions = 0;
  std::size_t declarations = 0;
  bool free = true;     // a function of no class: tests may watch an object through its members
  std::string offence;  // at its first declaration in a held folder
};

}  // namespace

Offences functions_without_caller(const Tree& tree) {
  std::map<std::string, Name, std::less<>> names;
  std::set<std::string, std::less<>> tested;
  for (const SourceFile& file : tree.files) {
    if (!is_source(file)) {
      continue;
    }
    const bool test = file.path.starts_with("tests/");
    for (const Token& token : tokens_of(file.text)) {
      if (token.kind == TokenKind::word && test) {
        tested.emplace(token.text);
      } else if (token.kind == TokenKind::word) {
        ++names[std::string(token.text)].mentions;
      }
    }
    if (test) {
      continue;
    }
    for (const Declaration& declaration : outline_of(file.text).declarations) {
      Name& name = names[declaration.name];
      name.declarations += declaration.by_name ? 1 : 0;
      name.free = name.free && declaration.free;
      if (declaration.by_name && is_held(file) && name.offence.empty()) {
        name.offence = offence(file, declaration.line, declaration.name);
      }
    }
  }
  Offences found;
  for (const auto& [word, name] : names) {
    const bool unused = name.mentions <= name.declarations && !name.offence.empty();
    if (unused && !is_excepted(word) && (name.free || !tested.contains(word))) {
      found.push_back(name.offence +
                      (tested.contains(word) ? " is named by tests only" : " is named by nobody"));
    }
  }
  return found;
}

}  // namespace orrery::repo
