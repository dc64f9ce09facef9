#pragma once

// Completion of a command line. All candidates are decided here; the scripts for bash, zsh and fish
// only ask and show.
//
// what is typed             | what is offered
// --------------------------|----------------------------------------------------------------------
// a first word              | commands
// -..., --...               | options of the command that are not there yet, or may come again
// the value of an option    | its choices; else what its value is called: FILE, DIR, METRIC, GPU
// ... an argument               | by its name in the same way; files where nothing else is known
// SCENARIO                  | files, and the names of shipped scenarios
// KEY=VALUES, KEY=VALUE     | keys of a scenario; after the = the words that the key takes
// METRICS                   | metrics, separated by commas
//
// Names that the program knows come from `words`: the value "GPU" asks for the list "gpus".

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/frame/command_table.hpp"

namespace orrery::cli {

struct Candidate {
  std::string text;
  std::string meaning;  // may be empty
};

enum class CompletionKind { words, files, folders };  // files: and the candidates

struct Completion {
  CompletionKind kind = CompletionKind::words;
  bool ends_word = true;  // a blank follows; false where more belongs to the same word
  std::vector<Candidate> candidates = {};
};

// The words of a list: "gpus", "metrics", "keys", "values:layout.schedule"; empty for others.
using WordLists = std::function<std::vector<Candidate>(std::string_view list)>;

// `line`: the words after the program, the last of which is being typed and may be empty.
[[nodiscard]] Completion complete(const CommandInfo& program, const std::vector<std::string>& line,
                                  const WordLists& words);

// What the scripts read: a first line "words", "words-open" (no blank follows), "files" (which the
// shell finds, and what follows beside them) or "folders", then a candidate a line, with its
// meaning behind a tab when `meanings`.
[[nodiscard]] std::string to_lines(const Completion& completion, bool meanings);

// The script for "bash", "zsh" or "fish"; empty for others.
[[nodiscard]] std::string_view completion_script(std::string_view shell);

}  // namespace orrery::cli
