#pragma once

// Diagnostics on the user's input, each with its position. All problems are reported at once.
//
// Printed form, one line each, clickable in editors:
//   file:line:column: error: key: what is wrong (allowed values)
// Lines and columns are 1-based; 0 means "no position" and is left out of the text.

#include <string>
#include <string_view>
#include <vector>

namespace orrery {

struct SourceLocation {
  std::string file;
  int line = 0;    // 1-based, 0: unknown
  int column = 0;  // 1-based, 0: unknown

  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

enum class Severity { error, warning, note };

struct Diagnostic {
  Severity severity = Severity::error;
  SourceLocation where;
  std::string key;      // dotted path, e.g. "layout.tensor"; empty for a whole-file problem
  std::string message;  // what is wrong
  std::string allowed;  // allowed or nearest valid values, without parentheses; may be empty
};

class Diagnostics {
 public:
  void error(SourceLocation where, std::string_view key, std::string_view message,
             std::string_view allowed = {});
  void warning(SourceLocation where, std::string_view key, std::string_view message,
               std::string_view allowed = {});
  void add(Diagnostic diagnostic);
  void add(const Diagnostics& others);

  [[nodiscard]] bool has_errors() const { return errors_ > 0; }

  [[nodiscard]] const std::vector<Diagnostic>& all() const { return all_; }

 private:
  std::vector<Diagnostic> all_;
  int errors_ = 0;
};

// One line in the printed form above, without a newline.
[[nodiscard]] std::string to_string(const Diagnostic& diagnostic);

// All of them, one per line, each line ending in '\n'.
[[nodiscard]] std::string to_string(const Diagnostics& diagnostics);

// The candidate closest to `word` by edit distance, or "" when none is near (distance above a third
// of the longer word, at least 2). For "unknown key" messages.
[[nodiscard]] std::string_view nearest_name(std::string_view word,
                                            const std::vector<std::string_view>& candidates);

}  // namespace orrery
