// The commands that a shell script runs, as far as they can be read.

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sim/base/yaml/text_check.hpp"
#include "sim/import_config/shell/shell_script.hpp"

namespace orrery::import_config {

namespace {

constexpr std::size_t kMostWords = 200'000;

// One level of if, loop, case or function.
struct Block {
  bool conditional = false;  // an if: branches are chosen
  bool outer = true;         // what stands around it runs
  bool runs = true;
  bool decided = false;  // a branch was taken, or may have been
  bool unread = false;   // it is not known whether it runs
  bool usual = false;    // a loop over arguments or a function: without it values stand
  bool testing = false;  // between if and then
  Truth test = Truth::yes;
  std::string on = {};        // what has no value in its tests
  bool chooses = false;       // a case, by `on`
  bool pattern = false;       // its next pattern is being read
  std::string function = {};  // whose body this is
};

// How a program that is no training ends, where that is not its success.
Truth ending_of(std::string_view program) {
  return program == "false" ? Truth::no
         : is_among(program, {"which", "command", "type", "hash", "grep", "egrep", "nvidia-smi",
                              "test", "ping", "diff", "cmp", "pgrep", "lspci", "git"})
             ? Truth::unknown
             : Truth::yes;
}

class Script {
 public:
  Script(std::string_view text, const std::string& file, const ShellValues& passed,
         std::vector<PassedOver>& passed_over)
      : text_(text), file_(file), lines_(text), variables_(text), passed_over_(passed_over) {
    for (const auto& [name, value] : passed) {
      variables_.assign(name, {{value, 0}}, false, false);
    }
  }

  ShellCommands run() {
    while (at_ < text_.size() && !overflowed()) {
      read_token();
    }
    end_command("\n");
    found_.texts = variables_.texts();
    found_.overflowed = overflowed();
    return std::move(found_);
  }

 private:
  using Command = std::vector<ShellToken>;

  [[nodiscard]] bool overflowed() const { return variables_.overflowed() || words_ > kMostWords; }

  [[nodiscard]] std::string_view line_at(std::size_t at) const {
    return text_.substr(at, std::min(text_.find('\n', at), text_.size()) - at);
  }

  void read_token() {
    const std::string_view rest = text_.substr(at_);
    const char c = rest.front();
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (rest.starts_with("\\\n") || rest.starts_with("\\\r\n")) {
      at_ += rest[1] == '\n' ? 2U : 3U;
    } else if (c == '#') {
      read_batch_line(at_);
      at_ += line_at(at_).size();
    } else if (c == '\n') {
      ++at_;
      if (!array_) {
        end_command("\n");
        skip_here_documents();
      }
    } else if (c == '(' && !command_.empty() && command_.back().text.ends_with("=") &&
               command_.back().end() == at_) {
      array_ = true;
      ++at_;
    } else if (c == ')' && array_) {
      array_ = false;
      ++at_;
    } else if (rest.starts_with("((") && begins_command() &&
               rest.find("))") < line_at(at_).size()) {
      push(rest.find("))") + 2);
    } else if (rest.starts_with("<<") && !rest.starts_with("<<<")) {
      read_here_document();
    } else if (std::string_view(";&|()<>").find(c) != std::string_view::npos) {
      read_operator(rest.substr(0, 2));
    } else {
      const std::size_t length = std::max<std::size_t>(token_length(text_, at_), 1);
      push(length);
    }
  }

  // The word behind a redirection is no argument.
  void push(std::size_t length) {
    if (!std::exchange(redirected_, false)) {
      ++words_;
      command_.push_back({text_.substr(at_, length), at_});
    }
    at_ += length;
  }

  void read_batch_line(std::size_t at) {
    constexpr std::string_view kBatch = "#SBATCH";
    const std::string_view line = line_at(at);
    for (std::size_t i = line.starts_with(kBatch) ? kBatch.size() : line.size(); i < line.size();) {
      const std::size_t begin = std::min(line.find_first_not_of(" \t\r", i), line.size());
      i = std::min(line.find_first_of(" \t\r", begin), line.size());
      if (i > begin) {
        found_.batch.push_back({std::string(line.substr(begin, i - begin)), at + begin});
      }
    }
  }

  // The lines behind this one up to the delimiter are data; only those for the batch system count.
  void read_here_document() {
    at_ += text_.substr(at_).starts_with("<<-") ? 3U : 2U;
    at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
    const std::size_t length = token_length(text_, at_);
    here_.push_back(variables_.expand_whole(text_.substr(at_, length)));  // without its quotes
    at_ += length;
  }

  void skip_here_documents() {
    for (const std::string& word : std::exchange(here_, {})) {
      for (std::string_view line; at_ < text_.size() && line != word; ++at_) {
        line = line_at(at_);
        const std::size_t indent = std::min(line.find_first_not_of('\t'), line.size());
        read_batch_line(at_ + indent);
        at_ += line.size();
        line.remove_prefix(indent);
        line = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
      }
    }
  }

  [[nodiscard]] bool begins_command() const {
    return command_.empty() ||
           is_among(command_.back().text, {"if", "elif", "while", "then", "do", "else", "!"});
  }

  // Between [[ and ]] an operator is part of the test.
  [[nodiscard]] bool in_test() const {
    return std::any_of(command_.begin(), command_.end(), [](auto& t) { return t.text == "[["; }) &&
           command_.back().text != "]]";
  }

  [[nodiscard]] bool in_pattern() const { return !blocks_.empty() && blocks_.back().pattern; }

  // What a subshell sets is gone behind it.
  void read_bracket(char bracket) {
    if (bracket == '(' && command_.empty() && !in_pattern()) {
      subshells_.emplace_back(blocks_.size(), variables_);
      words_ += variables_.size();
    } else if (bracket == ')' && !subshells_.empty() && !in_pattern() &&
               subshells_.back().first == blocks_.size()) {
      end_command(";");
      variables_.restore(std::move(subshells_.back().second));
      subshells_.pop_back();
    }
  }

  void read_operator(std::string_view two) {
    const bool pair = is_among(two, {"&&", "||", ";;", ">>", ">&", "&>", "<("});
    const std::size_t length = pair ? 2 : 1;
    if (array_) {
      ++at_;
    } else if (in_test() && two[0] != ';') {
      push(length);
    } else if (two[0] == '<' || two[0] == '>' || two == "&>") {
      const bool test = !command_.empty() && command_.front().text.starts_with("[");
      // 2>&1: the number belongs to the redirection.
      if (!command_.empty() && command_.back().text == "2" && command_.back().end() == at_) {
        command_.pop_back();
      }
      if (test) {
        push(length);
      } else {
        redirected_ = true;
        at_ += length;
      }
    } else if (two == "()") {
      at_ += 2;
      function_ = Function::named;
    } else {
      read_bracket(two[0]);
      at_ += length;
      end_command(two.substr(0, length));
    }
  }

  [[nodiscard]] bool runs() const {
    return blocks_.empty() || (blocks_.back().runs && !blocks_.back().testing);
  }

  void end_command(std::string_view separator) {
    Command command = std::move(command_);
    command_.clear();
    array_ = redirected_ = false;
    if (function_ == Function::named && command.size() == 1 && separator == "\n") {
      name_ = command.front().text;  // its brace stands in the next line
      function_ = Function::next;
      return;
    }
    while (!command.empty() && !in_pattern() && take_keyword(command)) {
    }
    if (in_pattern() && !command.empty() && command.front().text != "esac") {
      read_pattern(command, separator == ")");
    } else if (in_pattern() && !command.empty()) {
      blocks_.pop_back();
    } else if (!command.empty()) {
      follow(command);
    } else if (function_ == Function::named) {
      function_ = Function::next;
    }
    if (separator == ";;" && !blocks_.empty() && blocks_.back().chooses) {
      blocks_.back().pattern = true;
      blocks_.back().runs = false;
      blocks_.back().test = Truth::no;
    }
    chain_ = separator == "&&" ? Truth::yes : separator == "||" ? Truth::no : Truth::unknown;
  }

  void open(Block block) {
    block.outer = runs();
    block.runs = block.runs && block.outer;
    block.function = std::exchange(name_, {});
    blocks_.push_back(block);
  }

  // case WORD in, of a word that is known or is none of the arguments of the script.
  [[nodiscard]] bool open_case(Command& command) {
    constexpr std::size_t kHead = 3;
    if (command.size() < kHead || command[2].text != "in" || !runs()) {
      return false;
    }
    const std::string_view word = command[1].text;
    const std::string on = variables_.expand_whole(word);
    const bool unread = is_unread(on);
    if (unread && is_of_caller(word)) {
      return false;
    }
    open({.runs = false,
          .unread = unread,
          .test = Truth::no,
          .on = on,
          .chooses = true,
          .pattern = true});
    command.erase(command.begin(), command.begin() + kHead);
    return true;
  }

  // One of the patterns of a branch; the last one decides about it.
  void read_pattern(const Command& command, bool last) {
    Block& block = blocks_.back();
    for (const ShellToken& token : command) {
      const std::string text = variables_.expand_whole(token.text);
      const auto pattern = is_pattern(token.text, text);
      const Truth fit = block.unread || !pattern || is_unread(text)            ? Truth::unknown
                        : (*pattern ? fits(text, block.on) : text == block.on) ? Truth::yes
                                                                               : Truth::no;
      block.test = joined(block.test, fit, Truth::yes);
    }
    if (last) {
      block.pattern = false;
      block.unread = block.unread || (block.test == Truth::unknown && !block.decided);
      block.runs = block.outer && !block.unread && !block.decided && block.test == Truth::yes;
      block.decided = block.decided || block.test == Truth::yes;
    }
  }

  // Shell words that open, split and close blocks; true when one was taken off the command.
  bool take_keyword(Command& command) {
    const std::string_view word = command.front().text;
    const Function function = std::exchange(function_, Function::none);
    if (word == "if") {
      open({.conditional = true, .testing = true});
    } else if (is_among(word, {"then", "else", "elif"}) && !blocks_.empty()) {
      take_branch(word);
    } else if (word == "case" && open_case(command)) {
      return false;
    } else if (is_among(word, {"for", "while", "until", "case", "select", "function"}) ||
               (function == Function::named && command.size() > 1 && command[1].text == "{")) {
      if (word == "for" && command.size() > 1) {
        variables_.forget(std::string(command[1].text));
      }
      const bool keyword = word == "function" && command.size() > 1;
      name_ = keyword ? command[1].text : function == Function::named ? word : std::string_view();
      open({.runs = false, .unread = true, .usual = word != "for"});
      const auto brace = std::find_if(command.begin(), command.end(),
                                      [](const ShellToken& token) { return token.text == "{"; });
      command.erase(command.begin(), brace == command.end() ? brace : brace + 1);
      return !command.empty();  // f() { A=1; }
    } else if (word == "{") {
      const bool body = function != Function::none;
      open({.runs = !body, .unread = body, .usual = body});
    } else if (is_among(word, {"fi", "done", "esac", "}"})) {
      if (!blocks_.empty()) {
        blocks_.pop_back();
      }
    } else if (is_among(word, {"do", "!", "time"})) {
      negated_ = negated_ != (word == "!");
    } else {
      return false;
    }
    command.erase(command.begin());
    return true;
  }

  void take_branch(std::string_view word) {
    Block& block = blocks_.back();
    if (!block.conditional) {
      return;
    }
    const bool tested = word == "then";
    block.testing = word == "elif";
    if (tested) {
      block.unread = block.unread || block.test == Truth::unknown;
    }
    if (!block.testing) {
      block.runs = block.outer && !block.decided && block.test == Truth::yes;
    }
    block.decided = block.decided || (tested && block.test != Truth::no);
    block.test = Truth::yes;
  }

  // What a command does to the variables, or to the list of commands.
  void follow(const Command& command) {
    const std::string_view first = command.front().text;
    const bool brackets = first == "[" || first == "[[";
    const bool sum = first.starts_with("((");
    const bool test = brackets || sum;
    const bool live =
        runs() || (!blocks_.empty() && blocks_.back().testing && blocks_.back().outer);
    const Truth truth = brackets      ? tested(command, variables_, unread_)
                        : sum && live ? variables_.calculate(first.substr(2, first.size() - 4))
                        : sum         ? Truth::unknown
                                      : ending_of(first);
    const bool negated = std::exchange(negated_, false);
    if (!blocks_.empty() && blocks_.back().testing) {
      Block& block = blocks_.back();
      const Truth value = !test ? Truth::unknown : negated ? opposite(truth) : truth;
      block.test = chain_ == Truth::unknown
                       ? value
                       : joined(block.test, value, chain_ == Truth::yes ? Truth::no : Truth::yes);
      block.on = test && value == Truth::unknown ? unread_ : block.on;
      last_ = truth;
      const auto is_program = [](const ShellToken& token) { return token.text.ends_with(".py"); };
      if (block.outer && std::any_of(command.begin(), command.end(), is_program)) {
        collect(command);  // if ! torchrun train.py ...; then
      }
      return;
    }
    const bool chained = chain_ != Truth::unknown;
    if (!runs() || (chained && last_ != chain_)) {
      const bool unread = std::any_of(blocks_.begin(), blocks_.end(),
                                      [](const Block& block) { return block.unread; });
      const bool maybe = unread || (chained && last_ == Truth::unknown);
      if (maybe) {
        pass_over(command);
      }
      assign_in_part(command, maybe);
      return;
    }
    last_ = truth;
    if (const auto called = functions_.find(std::string(first)); called != functions_.end()) {
      for (const std::string& name : called->second) {
        variables_.forget(name);
        uncertain_.insert(name);
      }
    }
    if (!test && !is_source(command) && !assign(command)) {
      variables_.forget_set_by(command);
      collect(command);
    }
  }

  // `source FILE`, which is listed.
  bool is_source(const Command& command) {
    const std::string_view first = command.front().text;
    const bool source = (first == "source" || first == ".") && command.size() > 1;
    if (source) {
      passed_over_.push_back({lines_.location_of(file_, command.front().offset),
                              fmt::format("{} {}", first, command[1].text),
                              "is not read: --define NAME=VALUE says what it sets"});
    }
    return source;
  }

  // What a branch that is not taken would set is empty where nothing else sets it; what one sets
  // that may be taken has no certain value, unless it adds arguments, which are told one by one.
  void assign_in_part(const Command& command, bool maybe) {
    const bool usual =
        std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.usual; });
    for (const ShellToken& token : command) {
      const std::size_t sign = assignment_at(token.text);
      if (sign == std::string_view::npos) {
        if (is_among(token.text, {"export", "local", "readonly", "declare"})) {
          continue;
        }
        return;
      }
      const std::string name(token.text.substr(0, sign));
      for (const Block& block : blocks_) {
        if (!block.function.empty()) {
          functions_[block.function].insert(name);
        }
      }
      const std::string now = variables_.expand_whole("$" + name);
      const bool known = now != "$" + name;
      const std::string_view value = token.text.substr(sign + 1);
      const bool plain = token.text[sign] == '=' && value.find("--") == std::string_view::npos &&
                         value.find("$" + name) == std::string_view::npos &&
                         value.find("${" + name) == std::string_view::npos && !value.empty();
      if (maybe) {
        uncertain_.insert(name);
        if (known && plain && !usual && variables_.expand_whole(value) != now) {
          variables_.forget(name);
        }
      } else if (!known && !uncertain_.contains(name)) {
        variables_.assign(name, {{"", token.offset}}, false, false);
      }
    }
  }

  // Why it is not known whether a command runs, and how the caller may say it.
  [[nodiscard]] std::string why_unread() const {
    const auto block = std::find_if(blocks_.rbegin(), blocks_.rend(),
                                    [](const Block& one) { return one.unread && !one.on.empty(); });
    if (block == blocks_.rend()) {
      return "stands under a condition, in a loop or in a function that is not followed";
    }
    const std::string_view name = name_in(block->on);
    return fmt::format("stands under a condition on `{}`{}", block->on,
                       name.empty() ? "" : fmt::format(": say --define {}=VALUE", name));
  }

  // All arguments with a name in the words as they are written, quoted ones too.
  void pass_over(const Command& command) {
    constexpr std::size_t kMost = 1000;
    for (const ShellToken& token : command) {
      for (const ShellWord& option : options_in(token.text)) {
        if (passed_over_.size() < kMost) {
          passed_over_.push_back(
              {lines_.location_of(file_, token.offset + option.offset), option.text, why_unread()});
        }
      }
    }
  }

  // True when the command consists of assignments only.
  bool assign(const Command& command) {
    const std::string_view first = command.front().text;
    const std::size_t from = is_among(first, {"export", "local", "readonly", "declare"}) ? 1 : 0;
    if (from == 0 && is_prefixed(command)) {
      return false;
    }
    std::size_t i = from;
    while (i < command.size()) {
      const ShellToken& token = command[i];
      const std::size_t sign = assignment_at(token.text);
      if (sign == std::string_view::npos) {
        return false;
      }
      const bool more = token.text[sign] == '+';
      const std::size_t value = sign + (more ? 2 : 1);
      const bool array = value == token.text.size() && text_.substr(token.end()).starts_with("(");
      std::vector<ShellWord> words;
      ++i;
      if (array) {
        words = expanded({command.begin() + static_cast<std::ptrdiff_t>(i), command.end()});
        i = command.size();
      } else {
        words.push_back({variables_.expand_whole(token.text.substr(value)), token.offset + value});
      }
      const std::string name(token.text.substr(0, sign));
      const bool passed = first == "export" || i < command.size();
      if (passed && !array && is_read_by_programs(name)) {
        found_.environment.push_back({fmt::format("--{}={}", name, words[0].text), token.offset});
      }
      variables_.assign(name, std::move(words), array, more);
    }
    return i > from;
  }

  // NAME=VALUE program: a value for that program alone.
  bool is_prefixed(const Command& command) {
    const bool prefixed = assignment_at(command.front().text) != std::string_view::npos &&
                          assignment_at(command.back().text) == std::string_view::npos &&
                          !text_.substr(command.front().end()).starts_with("(");
    for (std::size_t i = 0; prefixed && i < command.size(); ++i) {
      const ShellToken& token = command[i];
      const std::size_t sign = assignment_at(token.text);
      if (sign == std::string_view::npos) {
        break;
      }
      const std::string_view name = token.text.substr(0, sign);
      if (is_read_by_programs(name)) {
        found_.environment.push_back(
            {fmt::format("--{}={}", name, variables_.expand_whole(token.text.substr(sign + 1))),
             token.offset});
      }
    }
    return prefixed;
  }

  std::vector<ShellWord> expanded(const Command& tokens) {
    std::vector<ShellWord> words;
    for (const ShellToken& token : tokens) {
      const std::vector<ShellWord> more = variables_.expand(token.text, token.offset);
      words.insert(words.end(), more.begin(), more.end());
    }
    words_ += words.size();
    return words;
  }

  // The shell that `bash -c '...'` starts sees what this one has exported, and what stands before
  // it: TP=2 bash -c, env TP=2 bash -c.
  void collect(const Command& command) {
    std::vector<ShellWord> words = expanded(command);
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (words[i - 1].text != "-c" || !words[i - 2].text.ends_with("sh")) {
        continue;
      }
      const ShellVariables outer = variables_;
      words_ += outer.size();
      for (std::size_t k = 0; k < i; ++k) {
        const std::size_t sign = assignment_at(words[k].text);
        if (sign != std::string_view::npos && words[k].text[sign] == '=') {
          variables_.assign(words[k].text.substr(0, sign),
                            {{words[k].text.substr(sign + 1), words[k].offset}}, false, false);
        }
      }
      words[i].text = variables_.expand_whole(words[i].text);
      variables_.restore(outer);
    }
    found_.commands.push_back(std::move(words));
  }

  enum class Function { none, named, next };  // `()` was read; its brace stands in the next line

  std::string_view text_;
  const std::string& file_;
  yaml::LineIndex lines_;
  ShellVariables variables_;
  std::vector<PassedOver>& passed_over_;
  ShellCommands found_;
  std::vector<Block> blocks_;
  std::vector<std::pair<std::size_t, ShellVariables>> subshells_;  // blocks and values around each
  Command command_;
  std::size_t at_ = 0;
  std::size_t words_ = 0;
  bool array_ = false;
  bool redirected_ = false;
  bool negated_ = false;
  Function function_ = Function::none;
  std::string_view name_;                                   // of the function that begins
  std::map<std::string, std::set<std::string>> functions_;  // what each sets
  std::vector<std::string> here_;                           // ends of the data behind this line
  Truth chain_ = Truth::unknown;                            // && wants yes before it, || no
  Truth last_ = Truth::yes;
  std::string unread_;               // of the last test
  std::set<std::string> uncertain_;  // variables that a branch may set
};

}  // namespace

ShellCommands follow_script(std::string_view text, const std::string& file,
                            const ShellValues& passed, std::vector<PassedOver>& passed_over) {
  return Script(text, file, passed, passed_over).run();
}

}  // namespace orrery::import_config
