// The commands that a shell script runs, as far as they can be read.

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "sim/base/yaml/text_check.hpp"
#include "sim/import_config/shell/shell_script.hpp"

namespace orrery::import_config {

namespace {

constexpr std::size_t kMostWords = 200'000;

// Machines by ms-swift and the driver, attention by Transformer Engine.
bool is_read_by_programs(std::string_view name) {
  return is_among(name, {"NPROC_PER_NODE", "NNODES", "CUDA_VISIBLE_DEVICES", "NVTE_FLASH_ATTN",
                         "NVTE_FUSED_ATTN", "NVTE_UNFUSED_ATTN", "HOROVOD_FUSION_THRESHOLD",
                         "HOROVOD_CYCLE_TIME"});
}

// Of the command that stands between two operators; unexpanded.
struct Token {
  std::string_view text;
  std::size_t offset = 0;

  [[nodiscard]] std::size_t end() const { return offset + text.size(); }
};

// One level of if, loop, case or function.
struct Block {
  bool conditional = false;  // an if: branches are chosen
  bool outer = true;         // what stands around it runs
  bool runs = true;
  bool decided = false;  // a branch was taken, or may have been
  bool unread = false;   // it is not known whether it runs
  bool usual = false;    // a loop over arguments, a case or a function: without it values stand
  bool testing = false;  // between if and then
  Truth test = Truth::yes;
  std::string on = {};  // what has no value in its tests
};

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
  using Command = std::vector<Token>;

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
      }
    } else if (c == '(' && !command_.empty() && command_.back().text.ends_with("=") &&
               command_.back().end() == at_) {
      array_ = true;
      ++at_;
    } else if (c == ')' && array_) {
      array_ = false;
      ++at_;
    } else if (rest.starts_with("<<") && !rest.starts_with("<<<")) {
      skip_here_document();
    } else if (std::string_view(";&|()<>").find(c) != std::string_view::npos) {
      read_operator(rest.substr(0, 2));
    } else {
      const std::size_t length = std::max<std::size_t>(token_length(text_, at_), 1);
      push(length);
    }
  }

  // What follows a redirection is no argument.
  void push(std::size_t length) {
    if (!redirected_) {
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

  // The text up to the line with the delimiter is data; only lines for the batch system count.
  void skip_here_document() {
    at_ += text_.substr(at_).starts_with("<<-") ? 3U : 2U;
    at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
    std::string word(text_.substr(at_, token_length(text_, at_)));
    std::erase_if(word, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    std::string_view line;
    at_ += line_at(at_).size();
    while (at_ < text_.size() && !word.empty() && line != word) {
      ++at_;
      line = line_at(at_);
      const std::size_t indent = std::min(line.find_first_not_of('\t'), line.size());
      read_batch_line(at_ + indent);
      at_ += line.size();
      line.remove_prefix(indent);
    }
    end_command("\n");
  }

  void read_operator(std::string_view two) {
    const bool pair = is_among(two, {"&&", "||", ";;", ">>", ">&", "&>", "<("});
    const std::size_t length = pair ? 2 : 1;
    if (array_) {
      ++at_;
    } else if (two[0] == '<' || two[0] == '>' || two == "&>") {
      const bool test = !command_.empty() && command_.front().text.starts_with("[");
      // 2>&1: the number belongs to the redirection.
      if (!command_.empty() && command_.back().text == "2" && command_.back().end() == at_) {
        command_.pop_back();
      }
      redirected_ = !test;
      push(length);
    } else if (two == "()") {
      at_ += 2;
      function_ = Function::named;
    } else {
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
    while (!command.empty() && take_keyword(command)) {
    }
    if (!command.empty()) {
      follow(command);
    } else if (function_ == Function::named) {
      function_ = Function::next;
    }
    chain_ = separator == "&&" ? Truth::yes : separator == "||" ? Truth::no : Truth::unknown;
  }

  void open(Block block) {
    block.outer = runs();
    block.runs = block.runs && block.outer;
    blocks_.push_back(block);
  }

  // Shell words that open, split and close blocks; true when one was taken off the command.
  bool take_keyword(Command& command) {
    const std::string_view word = command.front().text;
    const Function function = std::exchange(function_, Function::none);
    if (word == "if") {
      open({.conditional = true, .testing = true});
    } else if (is_among(word, {"then", "else", "elif"}) && !blocks_.empty()) {
      take_branch(word);
    } else if (is_among(word, {"for", "while", "until", "case", "select", "function"}) ||
               (function == Function::named && command.size() > 1 && command[1].text == "{")) {
      if (word == "for" && command.size() > 1) {
        variables_.forget(std::string(command[1].text));
      }
      open({.runs = false, .unread = true, .usual = word != "for"});
      command.clear();
      return false;
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
    const bool test = command.front().text == "[" || command.front().text == "[[";
    const Truth truth = test ? tested(command) : Truth::yes;
    const bool negated = std::exchange(negated_, false);
    if (!blocks_.empty() && blocks_.back().testing) {
      Block& block = blocks_.back();
      const Truth value = !test ? Truth::unknown : negated ? opposite(truth) : truth;
      block.test = chain_ == Truth::unknown
                       ? value
                       : joined(block.test, value, chain_ == Truth::yes ? Truth::no : Truth::yes);
      block.on = test && value == Truth::unknown ? unread_ : block.on;
      last_ = truth;
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
    if (!test && !is_source(command) && !assign(command)) {
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
    for (const Token& token : command) {
      const std::size_t sign = assignment_at(token.text);
      if (sign == std::string_view::npos) {
        if (is_among(token.text, {"export", "local", "readonly", "declare"})) {
          continue;
        }
        return;
      }
      const std::string name(token.text.substr(0, sign));
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
    // The first name in it, `TP` of `$(( ($TP > 1) ? 1 : 0 ))`.
    const std::string& on = block->on;
    std::size_t begin = on.find('$');
    while (begin != std::string::npos &&
           (on[begin] == '$' || on[begin] == '(' || on[begin] == '{' || on[begin] == ' ')) {
      ++begin;
    }
    begin = std::min(begin, on.size());
    std::size_t end = begin;
    while (end < on.size() &&
           (on[end] == '_' || std::isalnum(static_cast<unsigned char>(on[end])) != 0)) {
      ++end;
    }
    return fmt::format(
        "stands under a condition on `{}`{}", on,
        end > begin ? fmt::format(": say --define {}=VALUE", on.substr(begin, end - begin)) : "");
  }

  // All arguments with a name in the words as they are written, quoted ones too.
  void pass_over(const Command& command) {
    constexpr std::size_t kMost = 1000;
    for (const Token& token : command) {
      for (std::size_t at = token.text.find("--"); at != std::string_view::npos;
           at = token.text.find("--", at + 2)) {
        const std::string_view word = token.text.substr(at);
        const bool begins = at == 0 || std::string_view(" \"'\n\t").find(token.text[at - 1]) !=
                                           std::string_view::npos;
        if (begins && is_option(word) && passed_over_.size() < kMost) {
          passed_over_.push_back({lines_.location_of(file_, token.offset + at),
                                  std::string(word.substr(0, word.find_first_of(" =\"'\n\t"))),
                                  why_unread()});
        }
      }
    }
  }

  Truth tested(const Command& command) {
    std::vector<std::string> words;
    for (const Token& token : command) {
      words.push_back(variables_.expand_whole(token.text));
    }
    const auto unread =
        std::find_if(words.begin(), words.end(), [](const auto& word) { return is_unread(word); });
    unread_ = unread == words.end() ? "" : *unread;
    words.erase(words.begin());
    if (!words.empty() && is_among(words.back(), {"]", "]]"})) {
      words.pop_back();
    }
    const bool inverted = !words.empty() && words.front() == "!";
    if (inverted) {
      words.erase(words.begin());
    }
    return inverted ? opposite(compared(words)) : compared(words);
  }

  // True when the command consists of assignments only.
  bool assign(const Command& command) {
    const std::string_view first = command.front().text;
    if (first == "unset" && command.size() > 1) {
      variables_.forget(std::string(command[1].text));
      return true;
    }
    const std::size_t from = is_among(first, {"export", "local", "readonly", "declare"}) ? 1 : 0;
    std::size_t i = from;
    while (i < command.size()) {
      const Token& token = command[i];
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

  std::vector<ShellWord> expanded(const Command& tokens) {
    std::vector<ShellWord> words;
    for (const Token& token : tokens) {
      const std::vector<ShellWord> more = variables_.expand(token.text, token.offset);
      words.insert(words.end(), more.begin(), more.end());
    }
    words_ += words.size();
    return words;
  }

  // The shell that `bash -c '...'` starts sees what this one has exported.
  void collect(const Command& command) {
    std::vector<ShellWord> words = expanded(command);
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (words[i - 1].text == "-c" && words[i - 2].text.ends_with("sh")) {
        words[i].text = variables_.expand_whole(words[i].text);
      }
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
  Command command_;
  std::size_t at_ = 0;
  std::size_t words_ = 0;
  bool array_ = false;
  bool redirected_ = false;
  bool negated_ = false;
  Function function_ = Function::none;
  Truth chain_ = Truth::unknown;  // && wants yes before it, || no
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
