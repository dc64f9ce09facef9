#include "sim/cli/help/complete.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "sim/base/text/text.hpp"

namespace orrery::cli {

// The scripts that shells read: they hand the line to `orrery completion --candidates` and show
// what it answers (complete.hpp), so that they need no change when a command gets an option.

namespace {

// Bash splits words at = and : as well; what has no blank before it is put together again, and the
// part before the last of them is cut from the answers, since bash completes only what follows.
constexpr std::string_view kBash =
    R"bash(# Completion of orrery for bash, made by `orrery completion bash`.
_orrery() {
  local rest=${COMP_LINE:0:COMP_POINT} gap word typed cut i
  local -a line=() answer=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    gap=${rest%%[![:space:]]*}
    rest=${rest#"$gap"}
    word=${COMP_WORDS[i]}
    ((i == COMP_CWORD)) && word=$rest
    if ((i == 0)) || [[ -n $gap ]]; then
      line+=("$word")
    else
      line[${#line[@]} - 1]+=$word
    fi
    rest=${rest#"$word"}
  done
  typed=${line[${#line[@]} - 1]}
  mapfile -t answer < <("${line[0]/#\~/$HOME}" completion --candidates bash \
    -- "${line[@]:1}" 2>/dev/null)
  COMPREPLY=()
  case ${answer[0]-} in
    files)
      if ((${#answer[@]} > 1)); then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$typed")
        COMPREPLY+=("${answer[@]:1}")
      else
        compopt -o default
      fi
      ;;
    folders) compopt -o dirnames ;;
    words-open | words)
      [[ ${answer[0]} == words-open ]] && compopt -o nospace
      cut=${typed%"${typed##*[=:]}"}
      for word in "${answer[@]:1}"; do
        COMPREPLY+=("${word#"$cut"}")
      done
      ;;
  esac
}
complete -F _orrery orrery
)bash";

constexpr std::string_view kZsh = R"zsh(#compdef orrery
# Completion of orrery for zsh, made by `orrery completion zsh`.
_orrery() {
  local -a answer described
  local line text meaning
  local -i ending=1
  text=$("${(Q)words[1]/#\~/$HOME}" completion --candidates zsh \
    -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
  answer=("${(@f)text}")
  case ${answer[1]} in
    folders) compset -P '--*='; _files -/ ;;
    files | words*)
      for line in "${(@)answer[2,-1]}"; do
        text=${line%%$'\t'*}
        meaning=
        [[ $line == *$'\t'* ]] && meaning=:${line#*$'\t'}
        described+=("${text//:/\\:}$meaning")
      done
      if [[ ${answer[1]} == words-open ]]; then
        _describe -V orrery described -S ''
        ending=$?
      elif (( $#described )); then
        _describe -V orrery described
        ending=$?
      fi
      if [[ ${answer[1]} == files ]]; then
        compset -P '--*='
        _files && ending=0
      fi
      return ending
      ;;
  esac
}
if [[ ${funcstack[1]} == _orrery ]]; then
  _orrery "$@"
else
  compdef _orrery orrery
fi
)zsh";

constexpr std::string_view kFish =
    R"fish(# Completion of orrery for fish, made by `orrery completion fish`.
function __orrery_candidates
    set -l line (commandline -opc)
    set -l typed (commandline -ct)
    set -l program $line[1]
    set -e line[1]
    set -l answer ($program completion --candidates fish -- $line "$typed" 2>/dev/null)
    switch "$answer[1]"
        case files
            __fish_complete_path (string replace -r -- '^--[^=]*=' '' "$typed")
            set -e answer[1]
            printf '%s\n' $answer
        case folders
            __fish_complete_directories (string replace -r -- '^--[^=]*=' '' "$typed")
        case 'words*'
            set -e answer[1]
            printf '%s\n' $answer
    end
end
complete -c orrery -f -a '(__orrery_candidates)'
)fish";

bool has_value(const ArgumentInfo& option) { return !option.value.empty(); }

// What the words before the one being typed have settled.
struct Position {
  const CommandInfo* command = nullptr;
  const ArgumentInfo* awaited = nullptr;  // option whose value comes now
  std::set<std::string> given = {};       // names of options
  std::size_t arguments = 0;              // positional ones
  bool only_arguments = false;            // after --
};

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

void take_option(const std::string& word, Position& position) {
  const std::size_t equals = word.find('=');
  const ArgumentInfo* option = find_option(*position.command, word.substr(0, equals));
  if (option == nullptr) {
    return;
  }
  position.given.insert(option->names.begin(), option->names.end());
  position.awaited = equals == std::string::npos && has_value(*option) ? option : nullptr;
}

Position position_after(const CommandInfo& program, const std::vector<std::string>& line) {
  Position position{.command = &program};
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    const std::string& word = line[i];
    if (position.awaited != nullptr) {
      position.awaited = nullptr;
    } else if (position.only_arguments) {
      ++position.arguments;
    } else if (word == "--") {
      position.only_arguments = true;
    } else if (word.starts_with('-') && word.size() > 1) {
      take_option(word, position);
    } else if (const CommandInfo* child = find_command(*position.command, word);
               child != nullptr && position.arguments == 0) {
      position = {.command = child};
    } else {
      ++position.arguments;
    }
  }
  return position;
}

// "GPU" -> "gpus", "RECOVERY" -> "recovery": the lists of the catalogue are plurals, mostly.
std::vector<Candidate> words_of_value(const std::string& value, const WordLists& words) {
  const std::string list = lower_case(value);
  std::vector<Candidate> found = words(list + "s");
  return found.empty() ? words(list) : found;
}

void add_prefix(const std::string& prefix, std::vector<Candidate>& candidates) {
  for (Candidate& candidate : candidates) {
    candidate.text.insert(0, prefix);
  }
}

// What comes after the last of a list that is separated by commas.
Completion complete_list(const std::string& typed, std::vector<Candidate> items) {
  const std::size_t comma = typed.rfind(',');
  add_prefix(comma == std::string::npos ? "" : typed.substr(0, comma + 1), items);
  return {.ends_word = false, .candidates = std::move(items)};
}

Completion complete_key(const std::string& typed, const WordLists& words) {
  const std::size_t equals = typed.find('=');
  if (equals == std::string::npos) {
    std::vector<Candidate> keys = words("keys");
    for (Candidate& key : keys) {
      key.text += '=';
    }
    return {.ends_word = false, .candidates = std::move(keys)};
  }
  const std::string key = typed.substr(0, equals);
  Completion completion = complete_list(typed.substr(equals + 1), words("values:" + key));
  add_prefix(key + "=", completion.candidates);
  return completion;
}

Completion complete_value(const ArgumentInfo& argument, const std::string& typed,
                          const WordLists& words) {
  if (!argument.choices.empty()) {
    Completion completion;
    for (const std::string& choice : argument.choices) {
      completion.candidates.push_back({choice, ""});
    }
    return completion;
  }
  const bool positional = !argument.names.front().starts_with('-');
  const std::string& value = positional ? argument.names.front() : argument.value;
  if (value == "SCENARIO" || argument.value == "SCENARIO") {
    return {.kind = CompletionKind::files, .candidates = words("scenarios")};
  }
  if (value == "FILE") {
    return {.kind = CompletionKind::files};
  }
  if (value == "DIR") {
    return {.kind = CompletionKind::folders};
  }
  if (value.starts_with("KEY=")) {
    return complete_key(typed, words);
  }
  if (value == "METRICS") {
    return complete_list(typed, words("metrics"));
  }
  std::vector<Candidate> found = words_of_value(value, words);
  if (found.empty() && positional) {
    return {.kind = CompletionKind::files};
  }
  return {.candidates = std::move(found)};
}

Completion complete_option(const Position& position) {
  Completion completion;
  for (const ArgumentInfo& option : position.command->options) {
    if (option.names.empty() ||
        (position.given.contains(option.names.front()) && !option.repeatable)) {
      continue;
    }
    for (const std::string& name : option.names) {
      completion.candidates.push_back({name, first_line(option.meaning)});
    }
  }
  return completion;
}

// --output=FILE in one word.
std::optional<Completion> complete_joined(const Position& position, const std::string& typed,
                                          const WordLists& words) {
  const std::size_t equals = typed.find('=');
  if (!typed.starts_with("--") || equals == std::string::npos) {
    return std::nullopt;
  }
  const std::string name = typed.substr(0, equals);
  const ArgumentInfo* option = find_option(*position.command, name);
  if (option == nullptr || !has_value(*option)) {
    return Completion{};
  }
  Completion completion = complete_value(*option, typed.substr(equals + 1), words);
  add_prefix(name + "=", completion.candidates);
  return completion;
}

Completion complete_argument(const Position& position, const std::string& typed,
                             const WordLists& words) {
  const CommandInfo& command = *position.command;
  Completion completion;
  if (position.arguments == 0) {
    for (const CommandInfo& child : command.commands) {
      completion.candidates.push_back({child.name, first_line(child.summary)});
    }
  }
  if (!completion.candidates.empty() || command.positionals.empty()) {
    return completion;
  }
  const std::size_t last = command.positionals.size() - 1;
  if (position.arguments > last && !command.positionals[last].repeatable) {
    return completion;
  }
  return complete_value(command.positionals[std::min(position.arguments, last)], typed, words);
}

}  // namespace

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") {
    return kBash;
  }
  if (shell == "zsh") {
    return kZsh;
  }
  return shell == "fish" ? kFish : std::string_view();
}

Completion complete(const CommandInfo& program, const std::vector<std::string>& line,
                    const WordLists& words) {
  const std::string typed = line.empty() ? std::string() : line.back();
  const Position position = position_after(program, line);
  Completion completion;
  if (position.awaited != nullptr) {
    completion = complete_value(*position.awaited, typed, words);
  } else if (position.only_arguments || !typed.starts_with('-')) {
    completion = complete_argument(position, typed, words);
  } else if (auto joined = complete_joined(position, typed, words)) {
    completion = *std::move(joined);
  } else {
    completion = complete_option(position);
  }
  std::erase_if(completion.candidates, [&typed](const Candidate& candidate) {
    return !candidate.text.starts_with(typed);
  });
  return completion;
}

std::string to_lines(const Completion& completion, bool meanings) {
  std::string text;
  switch (completion.kind) {
    case CompletionKind::files:
      text = "files\n";
      break;
    case CompletionKind::folders:
      return "folders\n";
    case CompletionKind::words:
      text = completion.ends_word ? "words\n" : "words-open\n";
      break;
  }
  for (const Candidate& candidate : completion.candidates) {
    text += candidate.text;
    if (meanings && !candidate.meaning.empty()) {
      text += "\t" + first_line(candidate.meaning);
    }
    text += '\n';
  }
  return text;
}

}  // namespace orrery::cli
