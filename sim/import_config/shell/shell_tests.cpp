// What a test of a shell script says: [ A = B ], [[ $MODEL == *70b* && $N -gt 1 ]].

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "sim/import_config/shell/shell_script.hpp"

namespace orrery::import_config {

namespace {

Truth truth_of(bool value) { return value ? Truth::yes : Truth::no; }

}  // namespace

// Machines by ms-swift and the driver, attention by Transformer Engine.
bool is_read_by_programs(std::string_view name) {
  return is_among(name, {"NPROC_PER_NODE", "NNODES", "CUDA_VISIBLE_DEVICES", "NVTE_FLASH_ATTN",
                         "NVTE_FUSED_ATTN", "NVTE_UNFUSED_ATTN", "HOROVOD_FUSION_THRESHOLD",
                         "HOROVOD_CYCLE_TIME"});
}

// Where the sign of an assignment stands: NAME=, NAME+=; npos where the token is none.
std::size_t assignment_at(std::string_view token) {
  const std::size_t end = token.find_first_of("+=");
  const std::string_view name = token.substr(0, end);
  const bool plain = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                     std::all_of(name.begin(), name.end(),
                                 [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  const bool sign =
      end != std::string_view::npos && (token[end] == '=' || token.substr(end).starts_with("+="));
  return plain && sign ? end : std::string_view::npos;
}

bool is_of_caller(std::string_view word) {
  const std::size_t sign = word.find('$');
  const std::size_t name = std::min(word.find_first_not_of("${", sign), word.size());
  return sign != std::string_view::npos && name < word.size() &&
         std::string_view("0123456789@#*").find(word[name]) != std::string_view::npos;
}

std::vector<ShellWord> options_in(std::string_view text) {
  std::vector<ShellWord> options;
  for (std::size_t at = text.find("--"); at != std::string_view::npos;
       at = text.find("--", at + 2)) {
    const std::string_view word = text.substr(at);
    const bool begins =
        at == 0 || std::string_view(" \"'\n\t").find(text[at - 1]) != std::string_view::npos;
    if (begins && is_option(word)) {
      options.push_back({std::string(word.substr(0, word.find_first_of(" =\"'\n\t)`"))), at});
    }
  }
  return options;
}

std::string_view name_in(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of("$({ ", text.find('$')), text.size());
  std::size_t end = begin;
  while (end < text.size() &&
         (text[end] == '_' || std::isalnum(static_cast<unsigned char>(text[end])) != 0)) {
    ++end;
  }
  return text.substr(begin, end - begin);
}

// What the shell compares with as a pattern is one where a star or a question mark is not quoted;
// nothing where it cannot be told which.
std::optional<bool> is_pattern(std::string_view token, std::string_view expanded) {
  constexpr std::string_view kSigns = "*?[";
  if (expanded.find_first_of(kSigns) == std::string_view::npos) {
    return false;
  }
  const std::size_t quote = token.find_first_of("\"'\\$");
  if (quote == std::string_view::npos) {
    return expanded.find('[') == std::string_view::npos ? std::optional(true) : std::nullopt;
  }
  const bool whole = (token.front() == '"' || token.front() == '\'') &&
                     token.find(token.front(), 1) == token.size() - 1;
  return whole ? std::optional(false) : std::nullopt;
}

bool fits(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t mark = 0;
  for (std::size_t t = 0; t < text.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Truth opposite(Truth truth) {
  return truth == Truth::unknown ? truth : truth_of(truth == Truth::no);
}

Truth joined(Truth left, Truth right, Truth decides) {
  return left == decides || right == decides                 ? decides
         : left == Truth::unknown || right == Truth::unknown ? Truth::unknown
                                                             : opposite(decides);
}

namespace {

// The words between the brackets: -n A, A = B, A -gt B. Between two brackets a sign compares texts;
// between single ones it is a redirection.
Truth compared(const std::vector<std::string>& words, bool two_brackets) {
  if (std::any_of(words.begin(), words.end(), [](const auto& word) { return is_unread(word); })) {
    return Truth::unknown;
  }
  if (words.size() == 1) {
    return truth_of(!words[0].empty());
  }
  if (words.size() == 2 && (words[0] == "-n" || words[0] == "-z")) {
    return truth_of(words[1].empty() == (words[0] == "-z"));
  }
  if (words.size() != 3) {
    return Truth::unknown;
  }
  const std::string& relation = words[1];
  if (is_among(relation, {"=", "==", "!="})) {
    return truth_of((words[0] == words[2]) == (relation != "!="));
  }
  if (is_among(relation, {"<", ">"})) {
    return !two_brackets     ? Truth::unknown
           : relation == "<" ? truth_of(words[0] < words[2])
                             : truth_of(words[0] > words[2]);
  }
  const auto number = [](const std::string& text) {
    int value = -1;
    const char* end = text.data() + text.size();
    return std::from_chars(text.data(), end, value).ptr == end ? value : -1;
  };
  const int left = number(words[0]);
  const int right = number(words[2]);
  const std::array<std::pair<std::string_view, bool>, 6> relations = {{{"-eq", left == right},
                                                                       {"-ne", left != right},
                                                                       {"-gt", left > right},
                                                                       {"-ge", left >= right},
                                                                       {"-lt", left < right},
                                                                       {"-le", left <= right}}};
  const auto* said = std::find_if(relations.begin(), relations.end(),
                                  [&relation](const auto& one) { return one.first == relation; });
  return said == relations.end() || left < 0 || right < 0 ? Truth::unknown : truth_of(said->second);
}

// Of one part; `unread` is the first word in it without a value.
Truth tested(std::span<const ShellToken> part, bool two_brackets, ShellVariables& variables,
             std::string& unread) {
  std::vector<std::string> words;
  for (const ShellToken& token : part) {
    words.push_back(variables.expand_whole(token.text));
    unread = unread.empty() && is_unread(words.back()) ? words.back() : unread;
  }
  const bool inverted = !words.empty() && words.front() == "!";
  if (inverted) {
    words.erase(words.begin());
  }
  Truth truth = compared(words, two_brackets);
  if (truth != Truth::unknown && words.size() == 3 && is_among(words[1], {"=", "==", "!="})) {
    const auto pattern = is_pattern(part.back().text, words[2]);
    if (!pattern || (*pattern && !two_brackets)) {
      truth = Truth::unknown;
    } else if (*pattern) {
      truth = fits(words[2], words[0]) == (words[1] != "!=") ? Truth::yes : Truth::no;
    }
  }
  return inverted ? opposite(truth) : truth;
}

}  // namespace

// The parts of [[ A && B ]]; of both && and || it is not told which come first.
Truth tested(std::span<const ShellToken> command, ShellVariables& variables, std::string& unread) {
  unread.clear();
  const bool closed = is_among(command.back().text, {"]", "]]"});
  const auto end = command.end() - (closed && command.size() > 1 ? 1 : 0);
  const auto is_joint = [](const ShellToken& token) { return is_among(token.text, {"&&", "||"}); };
  const bool both = std::any_of(command.begin(), end, [](auto& t) { return t.text == "&&"; }) &&
                    std::any_of(command.begin(), end, [](auto& t) { return t.text == "||"; });
  Truth truth = Truth::unknown;
  for (auto part = command.begin() + 1; part <= end;) {
    const auto next = std::find_if(part, end, is_joint);
    const Truth one = tested({part, next}, command.front().text == "[[", variables, unread);
    const bool first = part == command.begin() + 1;
    const bool every = !first && (part - 1)->text == "&&";
    truth = first ? one : joined(truth, one, every ? Truth::no : Truth::yes);
    part = next + 1;
  }
  return both ? Truth::unknown : truth;
}

}  // namespace orrery::import_config
