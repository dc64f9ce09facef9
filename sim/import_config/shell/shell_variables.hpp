#pragma once

// What a word of a shell script stands for: quotes, variables, arrays and arithmetic, without ever
// running anything. Internal to import_config/.
//
// written                                | becomes
// ---------------------------------------|------------------------------------------------------
// 'a', "a", \a                           | its text
// $A, ${A}, ${A:-b}, ${A-b}, ${A:=b}     | the value that the script gave it, or the default
// ${A[@]}, ${A[*]}                       | the words of the array
// ${1:-x}                                | the default
// $((A * 8))                             | the number: + - * / % > < ? : and parentheses
// $(command), `command`, $1, unknown $A  | itself: a text with a `$` or a backquote in it
//
// The text of all expansions together is bounded, so that A=$A$A ends.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::import_config {

// A word after expansion, and where in the script it was written.
struct ShellWord {
  std::string text;
  std::size_t offset = 0;  // bytes into the script
};

// Whether a part of it could not be read: a variable or a command without a known value.
[[nodiscard]] bool is_unread(std::string_view text);

// Whether the word is an argument with a name: --num-layers.
[[nodiscard]] bool is_option(std::string_view word);

class ShellVariables {
 public:
  explicit ShellVariables(std::string_view script) : script_(script) {}

  // The words that a token of the script stands for; `offset` is where it begins.
  [[nodiscard]] std::vector<ShellWord> expand(std::string_view token, std::size_t offset);

  // The same as one text, as in an assignment or a test: nothing is split.
  [[nodiscard]] std::string expand_whole(std::string_view token);

  // Where an option, or what cannot be read, is written from `from` on; else `otherwise`.
  [[nodiscard]] std::size_t place_of(std::string_view option,
                                     std::size_t from,
                                     std::size_t otherwise) const;

  // `more`: behind what it has, as += says.
  void assign(const std::string& name, std::vector<ShellWord> words, bool array, bool more);

  void forget(const std::string& name) {
    variables_.erase(name);
  }

  // The values that hold arguments: texts with blanks, and arrays as one text.
  [[nodiscard]] std::vector<std::string> texts() const;

  // True when the expansions grew beyond what a script needs; their results are then cut.
  [[nodiscard]] bool overflowed() const {
    return spent_ > kMostText;
  }

 private:
  static constexpr std::size_t kMostText = std::size_t{4} << 20U;

  struct Variable {
    std::vector<ShellWord> words;
    bool array = false;
  };

  struct Output {
    std::vector<ShellWord> words;
    std::size_t offset = 0;
    bool split = true;  // unquoted values fall apart at blanks
    bool open = false;  // the last word is being put together
  };

  void write(std::string_view token, Output& output);
  std::size_t write_value(std::string_view token, bool quoted, Output& output);
  void put(std::string_view text, Output& output);
  void put_words(const Variable& variable, bool quoted, Output& output);
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
