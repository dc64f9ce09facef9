#pragma once

// The arguments that a launch script passes to the training program. Internal to import_config/.
//
// Assignments, arrays, appending (+=), `export`, subshells, if and case with tests of known values,
// && and || are followed; commands are collected, never run. Loops, functions and conditions that
// cannot be read are passed over, and what stands in them is reported.
//
// The result is a mapping: `--num-layers` to its value, `true` for a switch, a list for several
// values; of an argument that stands twice the last counts. `#SBATCH --nodes=8` becomes the key
// `sbatch.nodes`. A value that could not be read keeps its `$`.

#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"

namespace orrery::import_config {

// What a word of a shell script stands for: quotes, variables, arrays and arithmetic, without ever
// running anything.
//
// written                                | becomes
// ---------------------------------------|------------------------------------------------------
// 'a', "a", \a                           | its text
// $A, ${A}, ${A:-b}, ${A-b}, ${A:=b}     | the value that the script gave it, or the default
// ${A[@]}, ${A[*]}                       | the words of the array
// ${1:-x}                                | the default
// ${A:+b}, ${A+b}                        | b where $A has a value, else nothing
// $((A * 8))                             | the number: + - * / % > < ? : and parentheses
// $(command), `command`, $1, unknown $A  | itself: a text with a `$` or a backquote in it
//
// The text of all expansions together is bounded, so that A=$A$A ends.

// A word after expansion, and where in the script it was written.
struct ShellWord {
  std::string text;
  std::size_t offset = 0;  // bytes into the script
};

// Whether a part of it could not be read: a variable or a command without a known value.
[[nodiscard]] bool is_unread(std::string_view text);

// Whether the word is an argument with a name: --num-layers.
[[nodiscard]] bool is_option(std::string_view word);

// Of a command that stands between two operators; unexpanded.
struct ShellToken {
  std::string_view text;
  std::size_t offset = 0;

  [[nodiscard]] std::size_t end() const { return offset + text.size(); }
};

// What a test of the shell says.
enum class Truth { no, yes, unknown };

class ShellVariables {
 public:
  explicit ShellVariables(std::string_view script) : script_(script) {}

  // The words that a token of the script stands for; `offset` is where it begins.
  [[nodiscard]] std::vector<ShellWord> expand(std::string_view token, std::size_t offset);

  // The same as one text, as in an assignment or a test: nothing is split.
  [[nodiscard]] std::string expand_whole(std::string_view token);

  // Where an option, or what cannot be read, is written from `from` on; else `otherwise`.
  [[nodiscard]] std::size_t place_of(std::string_view option, std::size_t from,
                                     std::size_t otherwise) const;

  // `more`: behind what it has, as += says.
  void assign(const std::string& name, std::vector<ShellWord> words, bool array, bool more);

  void forget(const std::string& name) { variables_.erase(name); }

  // What ((A = B * 2)), ((A++)) or `let A=4` do, and whether the value is other than 0. What cannot
  // be worked out is forgotten.
  Truth calculate(std::string_view expression);

  // What a command sets in a way that is not followed: read A B, printf -v A, eval "A=4".
  void forget_set_by(std::span<const ShellToken> command);

  // The values of `before`, as behind a subshell.
  void restore(ShellVariables before) { variables_ = std::move(before.variables_); }

  [[nodiscard]] std::size_t size() const { return variables_.size(); }

  // The values that hold arguments: texts with blanks, and arrays as one text.
  [[nodiscard]] std::vector<std::string> texts() const;

  // True when the expansions grew beyond what a script needs; their results are then cut.
  [[nodiscard]] bool overflowed() const { return spent_ > kMostText; }

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

  void forget_named(std::string_view text);  // every NAME in it
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

[[nodiscard]] bool is_among(std::string_view word, std::initializer_list<std::string_view> words);

// Whether the shell's pattern fits: `*` is any text, `?` one character. [ ] are not read.
[[nodiscard]] bool fits(std::string_view pattern, std::string_view text);

[[nodiscard]] Truth opposite(Truth truth);
// `decides` on either side settles both: no of &&, yes of ||.
[[nodiscard]] Truth joined(Truth left, Truth right, Truth decides);

// What the shell compares with as a pattern is one where a star or a question mark is not quoted;
// nothing where it cannot be told.
[[nodiscard]] std::optional<bool> is_pattern(std::string_view token, std::string_view expanded);

// Where the sign of an assignment stands: NAME=, NAME+=; npos where the token is none.
[[nodiscard]] std::size_t assignment_at(std::string_view token);

// Variables by which programs are set: machines, attention, fusion.
[[nodiscard]] bool is_read_by_programs(std::string_view name);

// Whether the word is what the caller of the script passes: $1, "${2:-x}", $@.
[[nodiscard]] bool is_of_caller(std::string_view word);

// The options in a text as it is written, quoted ones too, and where in it.
[[nodiscard]] std::vector<ShellWord> options_in(std::string_view text);

// The first variable in it, `TP` of `$(( ($TP > 1) ? 1 : 0 ))`.
[[nodiscard]] std::string_view name_in(std::string_view text);

// How a program that is no training ends, where that is not its success.
[[nodiscard]] Truth ending_of(std::string_view program);

// Between brackets: [ -n A ], [[ A == B* && C -gt 1 ]]. `unread` becomes the first word that has
// no value.
[[nodiscard]] Truth tested(std::span<const ShellToken> command, ShellVariables& variables,
                           std::string& unread);

// An argument that stands where it may or may not be passed.
struct PassedOver {
  SourceLocation where;
  std::string key;
  std::string why;
};

// What the caller of a script passes: {"1", "8B"}, {"TP", "2"}.
using ShellValues = std::vector<std::pair<std::string, std::string>>;

struct ShellCommands {
  std::vector<std::vector<ShellWord>> commands;  // their words, in the order of the script
  std::vector<ShellWord> batch;                  // of the lines #SBATCH
  std::vector<ShellWord> environment;            // --NAME=VALUE of variables that programs read
  std::vector<std::string> texts;  // of variables that hold several words: commands put together
  bool overflowed = false;         // it expands to more than a script needs
};

// What stands under conditions that cannot be read, in loops and functions goes to `passed_over`.
[[nodiscard]] ShellCommands follow_script(std::string_view text, const std::string& file,
                                          const ShellValues& passed,
                                          std::vector<PassedOver>& passed_over);

[[nodiscard]] std::optional<yaml::Value> parse_arguments(std::string_view text,
                                                         const std::string& file,
                                                         const ShellValues& passed,
                                                         std::vector<PassedOver>& passed_over,
                                                         Diagnostics& diagnostics);

}  // namespace orrery::import_config
