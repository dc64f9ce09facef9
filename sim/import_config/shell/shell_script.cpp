#include "sim/import_config/shell/shell_script.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/import_config/shell/shell_commands.hpp"
#include "sim/import_config/trees/source_tree.hpp"
#include "sim/yaml/text_check.hpp"

namespace orrery::import_config {

namespace {

using yaml::Value;

// What follows is no argument: 2>&1, &> file, | tee file.
bool is_redirection(std::string_view word) {
  const std::size_t sign = word.find_first_not_of("12&");
  return word == "|" || (sign != std::string_view::npos && sign < 2 && word[sign] == '>');
}

// The words of a text that holds a command; its options stand where the script first writes them.
std::vector<ShellWord> words_of(std::string_view text,
                                std::string_view script,
                                std::size_t offset) {
  std::vector<ShellWord> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\n", at), text.size());
    const std::size_t end = piece_end(text, begin);
    if (end > begin) {
      const std::string_view word = text.substr(begin, end - begin);
      if (is_redirection(word)) {
        break;
      }
      const std::size_t found = is_option(word) ? script.find(word) : std::string_view::npos;
      offset = found == std::string_view::npos ? offset : found;
      words.push_back({std::string(word), offset});
    }
    at = end;
  }
  return words;
}

// A word such as "--fp8-format hybrid", quoted as one, is two arguments, and that behind bash -c is
// a command of its own; what is only printed stays as it is.
std::vector<ShellWord> split_options(const std::vector<ShellWord>& words, std::string_view script) {
  std::vector<ShellWord> result;
  const bool printed = !words.empty() && (words[0].text == "echo" || words[0].text == "printf");
  for (const ShellWord& word : words) {
    const bool blank = word.text.find_first_of(" \t\n") != std::string::npos;
    const bool command = word.text.find(" --") != std::string::npos;
    if (!blank || printed || (!word.text.starts_with("--") && !command)) {
      result.push_back(word);
      continue;
    }
    for (ShellWord& part : words_of(word.text, script, word.offset)) {
      result.push_back(std::move(part));
    }
  }
  return result;
}

class Arguments {
 public:
  Arguments(std::string_view text, const std::string& file) : file_(file), lines_(text) {
    result_.kind = Value::Kind::mapping;
    result_.where = place(0);
  }

  void add(const std::vector<ShellWord>& words, std::string_view prefix) {
    for (std::size_t i = 0; i < words.size();) {
      const std::string& word = words[i].text;
      const bool nodes = word == "-N" && i + 1 < words.size();
      if (is_redirection(word)) {
        break;
      }
      if (!is_option(word) && !nodes) {
        ++i;
        continue;
      }
      const std::size_t equals = nodes ? std::string::npos : word.find('=');
      std::string name = nodes ? "--nodes" : word.substr(0, equals);
      name.erase(0, prefix.empty() ? 0 : name.find_first_not_of('-'));
      std::vector<ShellWord> values;
      if (equals != std::string::npos) {
        values.push_back({word.substr(equals + 1), words[i].offset});
      }
      std::size_t next = i + 1;
      while (equals == std::string::npos && next < words.size() && !is_option(words[next].text) &&
             !is_redirection(words[next].text) && !words[next].text.ends_with(".py") &&
             !is_program_switch(words[next].text)) {
        // A variable without a value behind one: options of its own, or nothing.
        if (!values.empty() && is_unread(words[next].text) && words[next].text.starts_with("$")) {
          put(words[next].text, words[next].offset, {words[next]});
        } else {
          values.push_back(words[next]);
        }
        ++next;
      }
      put(std::string(prefix) + name, words[i].offset, values);
      i = next;
    }
  }

  [[nodiscard]] Value take() {
    return std::move(result_);
  }

 private:
  // `-m module`, `-u`: of the launcher, not the value of an argument.
  static bool is_program_switch(std::string_view word) {
    return word.size() == 2 && word[0] == '-' &&
           std::isalpha(static_cast<unsigned char>(word[1])) != 0;
  }

  [[nodiscard]] Value scalar(std::string text, std::size_t offset) const {
    return {Value::Kind::scalar, false, std::move(text), place(offset), {}, {}};
  }

  void put(std::string name, std::size_t offset, const std::vector<ShellWord>& values) {
    Value value;
    if (values.empty()) {
      value = scalar("true", offset);
    } else if (values.size() == 1) {
      value = scalar(values.front().text, values.front().offset);
    } else {
      value.kind = Value::Kind::sequence;
      value.where = place(values.front().offset);
      for (const ShellWord& word : values) {
        value.items.push_back(scalar(word.text, word.offset));
      }
    }
    result_.entries.push_back({std::move(name), place(offset), std::move(value)});
  }

  [[nodiscard]] SourceLocation place(std::size_t offset) const {
    return lines_.location_of(file_, offset);
  }

  const std::string& file_;
  yaml::LineIndex lines_;
  Value result_;
};

bool names_program(const std::vector<ShellWord>& words) {
  return std::any_of(words.begin(), words.end(), [](const ShellWord& word) {
    constexpr std::array<std::string_view, 6> kLaunchers = {
        "torchrun", "deepspeed", "srun", "mpirun", "accelerate", "sbatch"};
    const std::string_view name = std::string_view(word.text).substr(word.text.rfind('/') + 1);
    return name.ends_with(".py") || name.starts_with("python") ||
           std::find(kLaunchers.begin(), kLaunchers.end(), name) != kLaunchers.end();
  });
}

bool has_options(const std::vector<ShellWord>& words) {
  return std::any_of(
      words.begin(), words.end(), [](const ShellWord& word) { return is_option(word.text); });
}

// Where no command carries arguments, a text may be one that another program runs later: the
// longest that names a Python program, else the longest of all.
std::vector<ShellWord> built_command(const std::vector<std::string>& texts,
                                     std::string_view script) {
  std::string_view best;
  bool best_runs = false;
  for (const std::string_view text : texts) {
    const bool runs = text.find(".py ") != std::string_view::npos;
    if ((runs && !best_runs) || (runs == best_runs && text.size() > best.size())) {
      best = text;
      best_runs = runs;
    }
  }
  return words_of(best, script, 0);
}

}  // namespace

bool is_option(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") &&
         std::isalpha(static_cast<unsigned char>(word[2])) != 0;
}

std::optional<Value> parse_arguments(std::string_view text,
                                     const std::string& file,
                                     const ShellValues& passed,
                                     std::vector<PassedOver>& passed_over,
                                     Diagnostics& diagnostics) {
  if (!yaml::check_text(text, file, yaml::LineIndex(text), diagnostics)) {
    return std::nullopt;
  }
  const ShellCommands script = follow_script(text, file, passed, passed_over);
  if (script.overflowed) {
    diagnostics.error({file}, "", "expands to more text than the arguments of a program are");
    return std::nullopt;
  }
  Arguments arguments(text, file);
  arguments.add(script.batch, "sbatch.");
  std::vector<std::vector<ShellWord>> commands;
  for (const std::vector<ShellWord>& words : script.commands) {
    commands.push_back(split_options(words, text));
  }
  const bool launched = std::any_of(commands.begin(), commands.end(), [](const auto& words) {
    return names_program(words) && has_options(words);
  });
  bool any = false;
  for (const std::vector<ShellWord>& words : commands) {
    if (has_options(words) && (!launched || names_program(words))) {
      arguments.add(words, "");
      any = true;
    }
  }
  if (!any) {
    arguments.add(built_command(script.texts, text), "");
  }
  return arguments.take();
}

}  // namespace orrery::import_config
