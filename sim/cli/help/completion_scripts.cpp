// The scripts that shells read: they hand the line to `orrery completion --candidates` and show
// what it answers (complete.hpp), so that they need no change when a command gets an option.

#include "sim/cli/help/complete.hpp"

namespace orrery::cli {

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

}  // namespace orrery::cli
