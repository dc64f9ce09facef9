#include "sim/import_config/shell/shell_commands.hpp"

#include <algorithm>
#include <cctype>

#include "sim/import_config/shell/shell_variables.hpp"
#include "sim/yaml/text_check.hpp"

namespace orrery::import_config {

namespace {

constexpr std::size_t kMostWords = 200'000;

struct Token {
  std::string_view text;  // raw; an operator when `is_operator`
  std::size_t offset = 0;
  bool is_operator = false;
};

// The command that stands between two operators.
using Command = std::vector<Token>;

enum class Truth { no, yes, unknown };

// One level of if, loop, case or function.
struct Frame {
  bool conditional = false;  // an if: branches are chosen
  bool active = true;
  bool parent_active = true;
  bool decided = false;  // a branch was taken, or may have been
  bool unread = false;   // it is not known whether it runs
  Truth condition = Truth::yes;
  bool in_condition = false;
};

bool ends_assignment_name(std::string_view token, std::size_t& name, bool& appends) {
  std::size_t i = 0;
  while (i < token.size() &&
         (std::isalnum(static_cast<unsigned char>(token[i])) != 0 || token[i] == '_')) {
    ++i;
  }
  const bool starts = i > 0 && std::isdigit(static_cast<unsigned char>(token[0])) == 0;
  appends = starts && token.substr(i).starts_with("+=");
  name = i;
  return starts && (appends || token.substr(i).starts_with("="));
}

class Script {
 public:
  Script(std::string_view text,
         const std::string& file,
         const ShellValues& passed,
         std::vector<PassedOver>& passed_over)
      : text_(text), file_(file), lines_(text), variables_(text), passed_over_(passed_over) {
    variables_.pass(passed);
  }

  void run() {
    while (at_ < text_.size() && !overflowed()) {
      read_token();
    }
    end_command("\n");
  }

  [[nodiscard]] bool overflowed() const {
    return variables_.overflowed() || words_ > kMostWords;
  }

  [[nodiscard]] ShellCommands take() {
    return {std::move(commands_), std::move(batch_), variables_.texts(), overflowed()};
  }

 private:
  [[nodiscard]] SourceLocation place(std::size_t offset) const {
    return lines_.location_of(file_, std::min(offset, text_.size()));
  }

  void read_token() {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '\\' && text_.substr(at_ + 1).starts_with("\n")) {
      at_ += 2;
    } else if (c == '\\' && text_.substr(at_ + 1).starts_with("\r\n")) {
      at_ += 3;
    } else if (c == '#') {
      read_comment();
    } else if (c == '\n') {
      ++at_;
      if (!array_) {
        end_command("\n");
      }
    } else if (c == '(' && !command_.empty() && command_.back().text.ends_with("=") &&
               command_.back().offset + command_.back().text.size() == at_) {
      array_ = true;
      ++at_;
    } else if (c == ')' && array_) {
      array_ = false;
      ++at_;
    } else if (text_.substr(at_).starts_with("<<") && !text_.substr(at_).starts_with("<<<")) {
      skip_here_document();
    } else if (std::string_view(";&|()<>").find(c) != std::string_view::npos) {
      read_operator(c);
    } else {
      const std::size_t length = std::max<std::size_t>(token_length(text_, at_), 1);
      push({text_.substr(at_, length), at_, false});
      at_ += length;
    }
  }

  void push(Token token) {
    ++words_;
    command_.push_back(token);
  }

  void read_comment() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    constexpr std::string_view kBatch = "#SBATCH";
    const std::string_view line = text_.substr(at_, end - at_);
    if (line.starts_with(kBatch)) {
      std::size_t i = at_ + kBatch.size();
      while (i < end) {
        i = std::min(text_.find_first_not_of(" \t\r", i), end);
        const std::size_t stop = std::min(text_.find_first_of(" \t\r\n", i), end);
        if (stop > i) {
          batch_.push_back({std::string(text_.substr(i, stop - i)), i});
        }
        i = stop + (stop < end ? 1U : 0U);
      }
    }
    at_ = end;
  }

  // The text up to the line with the delimiter is data; only lines for the batch system count.
  void skip_here_document() {
    at_ += 2;
    at_ += at_ < text_.size() && text_[at_] == '-' ? 1U : 0U;
    at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
    const std::size_t length = token_length(text_, at_);
    std::string word(text_.substr(at_, length));
    std::erase_if(word, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    at_ = std::min(text_.find('\n', at_ + length), text_.size());
    while (at_ < text_.size() && !word.empty()) {
      const std::size_t begin = at_ + 1;
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      std::string_view line = text_.substr(std::min(begin, end), end - std::min(begin, end));
      line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line.starts_with("#SBATCH")) {
        at_ = begin;
        read_comment();
      }
      at_ = end;
      if (line == word) {
        break;
      }
    }
    end_command("\n");
  }

  void read_operator(char c) {
    const std::string_view two = text_.substr(at_, 2);
    const bool pair = two == "&&" || two == "||" || two == ";;" || two == ">>" || two == ">&" ||
                      two == "&>" || two == "<(";
    if (array_) {
      ++at_;
      return;
    }
    if (c == '<' || c == '>' || two == "&>") {
      // 2>&1: the number belongs to the redirection.
      const bool numbered =
          !command_.empty() && command_.back().text == "2" && command_.back().offset + 1 == at_;
      if (numbered) {
        command_.pop_back();
      }
      push({text_.substr(at_, pair ? 2 : 1), at_, true});
      at_ += pair ? 2 : 1;
      return;
    }
    if (c == '(' && text_.substr(at_).starts_with("()")) {
      at_ += 2;
      is_function_ = true;
      return;
    }
    at_ += pair ? 2 : 1;
    end_command(pair ? two : std::string_view(text_).substr(at_ - 1, 1));
  }

  [[nodiscard]] bool active() const {
    return frames_.empty() || (frames_.back().active && !frames_.back().in_condition);
  }

  void end_command(std::string_view separator) {
    Command command = std::move(command_);
    command_.clear();
    array_ = false;
    while (!command.empty() && take_keyword(command)) {
    }
    if (!command.empty()) {
      follow(command);
    } else if (is_function_) {
      is_function_ = false;
      function_next_ = true;
    }
    chain_ = separator == "&&" ? Chain::if_true : separator == "||" ? Chain::if_false : Chain::none;
  }

  // Shell words that open, split and close blocks; true when one was taken off the command.
  bool take_keyword(Command& command) {
    const std::string_view word = command.front().text;
    if (word == "if") {
      Frame frame;
      frame.conditional = true;
      frame.parent_active = active();
      frame.in_condition = true;
      frames_.push_back(frame);
    } else if ((word == "then" || word == "else" || word == "elif") && !frames_.empty()) {
      take_branch(word);
    } else if (word == "for" || word == "while" || word == "until" || word == "case" ||
               word == "select" || word == "function") {
      open_unread();
      command.clear();
      return false;
    } else if (word == "{") {
      if (is_function_ || function_next_) {
        open_unread();
      } else {
        Frame frame;
        frame.active = frame.parent_active = active();
        frames_.push_back(frame);
      }
    } else if (word == "fi" || word == "done" || word == "esac" || word == "}") {
      if (!frames_.empty()) {
        frames_.pop_back();
      }
    } else if (word == "do" || word == "!" || word == "time") {
      negated_ = negated_ != (word == "!");
    } else {
      if (is_function_ && command.size() > 1 && command[1].text == "{") {
        open_unread();
        command.clear();
      }
      is_function_ = function_next_ = false;
      return false;
    }
    is_function_ = function_next_ = false;
    command.erase(command.begin());
    return true;
  }

  void open_unread() {
    Frame frame;
    frame.parent_active = active();
    frame.active = false;
    frame.unread = true;
    frames_.push_back(frame);
    is_function_ = function_next_ = false;
  }

  void take_branch(std::string_view word) {
    Frame& frame = frames_.back();
    if (!frame.conditional) {
      return;
    }
    if (word == "then") {
      frame.in_condition = false;
      frame.unread = frame.unread || frame.condition == Truth::unknown;
      frame.active = frame.parent_active && !frame.decided && frame.condition == Truth::yes;
      frame.decided = frame.decided || frame.condition != Truth::no;
    } else if (word == "elif") {
      frame.in_condition = true;
      frame.condition = Truth::yes;
    } else {
      frame.active = frame.parent_active && !frame.decided;
    }
    frame.condition = word == "then" ? frame.condition : Truth::yes;
  }

  [[nodiscard]] bool stands_unread() const {
    return std::any_of(
        frames_.begin(), frames_.end(), [](const Frame& frame) { return frame.unread; });
  }

  // What a command does to the variables, or to the list of commands.
  void follow(const Command& command) {
    const bool test = command.front().text == "[" || command.front().text == "[[";
    const Truth truth = test ? evaluate(command) : Truth::yes;
    if (!frames_.empty() && frames_.back().in_condition) {
      Truth& condition = frames_.back().condition;
      const bool readable = test && chain_ == Chain::none;
      condition = readable ? (negated_ ? opposite(truth) : truth) : Truth::unknown;
      negated_ = false;
      last_ = truth;
      return;
    }
    negated_ = false;
    const bool skipped = (chain_ == Chain::if_true && last_ != Truth::yes) ||
                         (chain_ == Chain::if_false && last_ != Truth::no);
    const bool unread = chain_ != Chain::none && last_ == Truth::unknown;
    if (!active() || skipped) {
      if (stands_unread() || unread) {
        pass_over(command);
      }
      return;
    }
    last_ = truth;
    if (!test && !assign(command)) {
      collect(command);
    }
  }

  static Truth opposite(Truth truth) {
    return truth == Truth::unknown ? truth : truth == Truth::yes ? Truth::no : Truth::yes;
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
          passed_over_.push_back({place(token.offset + at),
                                  std::string(word.substr(0, word.find_first_of(" =\"'\n\t"))),
                                  "stands under a condition, in a loop or in a function that is "
                                  "not followed"});
        }
      }
    }
  }

  Truth evaluate(const Command& command) {
    std::vector<std::string> words;
    for (const Token& token : command) {
      words.push_back(variables_.expand_whole(token.text));
    }
    words.erase(words.begin());
    if (!words.empty() && (words.back() == "]" || words.back() == "]]")) {
      words.pop_back();
    }
    const bool inverted = !words.empty() && words.front() == "!";
    if (inverted) {
      words.erase(words.begin());
    }
    const Truth truth = compare(words);
    return inverted ? opposite(truth) : truth;
  }

  static Truth compare(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      if (is_unread(word)) {
        return Truth::unknown;
      }
    }
    const auto say = [](bool value) { return value ? Truth::yes : Truth::no; };
    if (words.size() == 1) {
      return say(!words[0].empty());
    }
    if (words.size() == 2 && (words[0] == "-n" || words[0] == "-z")) {
      return say(words[1].empty() == (words[0] == "-z"));
    }
    if (words.size() != 3) {
      return Truth::unknown;
    }
    const std::string& relation = words[1];
    if (relation == "=" || relation == "==" || relation == "-eq") {
      return say(words[0] == words[2]);
    }
    if (relation == "!=" || relation == "-ne") {
      return say(words[0] != words[2]);
    }
    const auto digits = [](const std::string& text) {
      return !text.empty() && text.size() < 10 &&
             std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    if (!digits(words[0]) || !digits(words[2])) {
      return Truth::unknown;
    }
    const int left = std::stoi(words[0]);
    const int right = std::stoi(words[2]);
    if (relation == "-gt" || relation == ">") {
      return say(left > right);
    }
    if (relation == "-ge") {
      return say(left >= right);
    }
    if (relation == "-lt" || relation == "<") {
      return say(left < right);
    }
    return relation == "-le" ? say(left <= right) : Truth::unknown;
  }

  // True when the command consists of assignments only.
  bool assign(const Command& command) {
    std::size_t i = 0;
    const std::string_view first = command.front().text;
    if (first == "unset" && command.size() > 1) {
      variables_.forget(std::string(command[1].text));
      return true;
    }
    if (first == "export" || first == "local" || first == "readonly" || first == "declare") {
      ++i;
    }
    bool any = false;
    while (i < command.size()) {
      std::size_t name_end = 0;
      bool appends = false;
      if (!ends_assignment_name(command[i].text, name_end, appends)) {
        break;
      }
      i = take_assignment(command, i, name_end, appends);
      any = true;
    }
    return any && i >= command.size();
  }

  std::size_t take_assignment(const Command& command,
                              std::size_t i,
                              std::size_t name_end,
                              bool appends) {
    const Token& token = command[i];
    const std::string name(token.text.substr(0, name_end));
    const std::size_t value_at = name_end + (appends ? 2 : 1);
    const std::string_view value = token.text.substr(value_at);
    const std::size_t behind = token.offset + token.text.size();
    if (value.empty() && behind < text_.size() && text_[behind] == '(') {
      std::vector<ShellWord> words;
      for (++i; i < command.size(); ++i) {
        for (ShellWord& word : variables_.expand(command[i].text, command[i].offset)) {
          words.push_back(std::move(word));
        }
      }
      words_ += words.size();
      if (appends) {
        variables_.append_array(name, std::move(words));
      } else {
        variables_.assign_array(name, std::move(words));
      }
      return i;
    }
    std::string text = variables_.expand_whole(value);
    if (appends) {
      variables_.append(name, text);
    } else {
      variables_.assign(name, std::move(text), token.offset + value_at, value.size());
    }
    return i + 1;
  }

  void collect(const Command& command) {
    std::vector<ShellWord> words;
    for (const Token& token : command) {
      if (token.is_operator) {
        break;  // a redirection ends the arguments
      }
      for (ShellWord& word : variables_.expand(token.text, token.offset)) {
        words.push_back(std::move(word));
      }
    }
    words_ += words.size();
    commands_.push_back(std::move(words));
  }

  enum class Chain { none, if_true, if_false };

  std::string_view text_;
  const std::string& file_;
  yaml::LineIndex lines_;
  ShellVariables variables_;
  std::vector<PassedOver>& passed_over_;
  std::vector<Frame> frames_;
  Command command_;
  std::vector<std::vector<ShellWord>> commands_;
  std::vector<ShellWord> batch_;
  std::size_t at_ = 0;
  std::size_t words_ = 0;
  bool array_ = false;
  bool is_function_ = false;    // `()` was read
  bool function_next_ = false;  // and its brace stands in the next line
  bool negated_ = false;
  Chain chain_ = Chain::none;
  Truth last_ = Truth::yes;
};

}  // namespace

ShellCommands follow_script(std::string_view text,
                            const std::string& file,
                            const ShellValues& passed,
                            std::vector<PassedOver>& passed_over) {
  Script script(text, file, passed, passed_over);
  script.run();
  return script.take();
}

}  // namespace orrery::import_config
