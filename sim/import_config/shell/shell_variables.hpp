#pragma once

// What does a word of a shell script stand for? Quotes, variables, arrays and arithmetic, without
// ever running anything. Internal to import_config/.
//
// written                                | becomes
// ---------------------------------------|------------------------------------------------------
// 'a', "a", \a                           | its text
// $A, ${A}, ${A:-b}, ${A-b}, ${A:=b}     | the value that the script gave it, or the default
// ${A[@]}, ${A[*]}                       | the words of the array
// ${1:-x}                                | the default
// $((A * 8))                             | the number, for + - * / % and parentheses
// $(command), `command`, $1, unknown $A  | itself: a text with a `$` or a backquote in it
//
// The text of all expansions together is bounded, so that A=$A$A ends.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::import_config {

// A word after expansion, and where in the script it was written.
struct ShellWord {
  std::string text;
  std::size_t offset = 0;  // bytes into the script
};

// Whether a part of it could not be read: a variable or a command without a known value.
[[nodiscard]] bool is_unread(std::string_view text);

class ShellVariables {
 public:
  explicit ShellVariables(std::string_view script) : script_(script) {}

  // What the caller of the script sets.
  void pass(const std::vector<std::pair<std::string, std::string>>& values) {
    for (const auto& [name, value] : values) {
      assign(name, value, 0, 0);
    }
  }

  // The words that a token of the script stands for; `offset` is where it begins.
  [[nodiscard]] std::vector<ShellWord> expand(std::string_view token, std::size_t offset);

  // The same as one text, as in an assignment or a test: nothing is split.
  [[nodiscard]] std::string expand_whole(std::string_view token);

  void assign(const std::string& name, std::string value, std::size_t offset, std::size_t length);
  void assign_array(const std::string& name, std::vector<ShellWord> words);
  void append(const std::string& name, const std::string& value);
  void append_array(const std::string& name, std::vector<ShellWord> words);
  void forget(const std::string& name);

  // The values that hold arguments: texts with blanks, and arrays as one text.
  [[nodiscard]] std::vector<std::string> texts() const;

  // True when the expansions grew beyond what a script needs; their results are then cut.
  [[nodiscard]] bool overflowed() const {
    return spent_ > kMostText;
  }

  static constexpr std::size_t kMostText = std::size_t{4} << 20U;

 private:
  struct Variable {
    std::vector<ShellWord> words;
    bool array = false;
    std::size_t begin = 0;  // of the definition in the script
    std::size_t length = 0;
  };

  struct Output {
    std::vector<ShellWord> words;
    std::string text;
    bool open = false;  // a word is being put together
    std::size_t offset = 0;
    bool split = true;  // unquoted values fall apart at blanks
  };

  struct Reference {
    std::string name;
    std::string fallback;
    bool has_fallback = false;
    bool assigns = false;
    bool all = false;       // [@] or [*]
    bool readable = false;  // a form that is understood
    std::size_t length = 0;
  };

  void expand_into(std::string_view token, Output& output);
  std::size_t expand_dollar(std::string_view token, std::size_t at, bool quoted, Output& output);
  void put(std::string_view text, Output& output);
  void put_value(const Variable& variable, bool quoted, bool whole_token, Output& output);
  void put_split(const Variable& variable, const std::string& text, Output& output);
  void end_word(Output& output);
  [[nodiscard]] static Reference reference_at(std::string_view token, std::size_t at);
  [[nodiscard]] const Variable* find(const std::string& name) const;
  [[nodiscard]] std::optional<std::string> arithmetic(std::string_view expression);

  std::string_view script_;
  std::map<std::string, Variable, std::less<>> variables_;
  std::size_t spent_ = 0;
  int depth_ = 0;
};

// Where the blanks begin behind the piece of a value that begins at `at`; a command that was not
// run stays whole.
[[nodiscard]] std::size_t piece_end(std::string_view text, std::size_t at);

// Length of the token that begins at `at`: up to a blank or an operator outside quotes.
[[nodiscard]] std::size_t token_length(std::string_view script, std::size_t at);

}  // namespace orrery::import_config
