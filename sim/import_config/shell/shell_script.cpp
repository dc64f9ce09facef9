#include "sim/import_config/shell/shell_script.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

#include "sim/base/text/text.hpp"
#include "sim/base/yaml/text_check.hpp"
#include "sim/import_config/trees/key_fates.hpp"
#include "sim/import_config/trees/source_keys.hpp"

namespace orrery::import_config {

namespace {

using yaml::Value;

// What follows is no argument: 2>&1, &> file, | tee file.
bool is_redirection(std::string_view word) {
  const std::size_t sign = word.find_first_not_of("12&");
  return word == "|" || (sign != std::string_view::npos && sign < 2 && word[sign] == '>');
}

// The words of a text that holds a command; its options stand where the script writes them.
std::vector<ShellWord> words_of(std::string_view text, const ShellVariables& script,
                                std::size_t offset) {
  std::vector<ShellWord> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\n", at), text.size());
    at = piece_end(text, begin);
    const std::string_view word = text.substr(begin, at - begin);
    if (is_redirection(word)) {
      break;
    }
    if (!word.empty()) {
      words.push_back({std::string(word), script.place_of(word, offset, offset)});
    }
  }
  return words;
}

bool is_printed(const std::vector<ShellWord>& words) {
  return !words.empty() && (words[0].text == "echo" || words[0].text == "printf");
}

// A word such as "--fp8-format hybrid", quoted as one, is two arguments, and that behind bash -c is
// a command of its own; what is only printed stays as it is.
std::vector<ShellWord> split_options(const std::vector<ShellWord>& words,
                                     const ShellVariables& script) {
  std::vector<ShellWord> result;
  const bool printed = is_printed(words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const ShellWord& word = words[i];
    // The text behind an option is its value, unless it is a command.
    const bool value = i > 0 && is_option(words[i - 1].text) &&
                       words[i - 1].text.find('=') == std::string::npos &&
                       word.text.find(".py") == std::string::npos;
    const bool command =
        word.text.starts_with("--") || (!value && word.text.find(" --") != std::string::npos);
    const bool whole = printed || !command || word.text.find_first_of(" \t\n") == std::string::npos;
    const std::vector<ShellWord> parts =
        whole ? std::vector{word} : words_of(word.text, script, word.offset);
    result.insert(result.end(), parts.begin(), parts.end());
  }
  return result;
}

// Tasks beside plain training are named by the command alone: `trl dpo`, `dpo.py`; of a command
// that states a batch also within the name of its script: `run_orpo.py`.
std::string_view task_of(std::string_view word, std::string_view before, bool trains) {
  constexpr std::array<std::string_view, 11> kTasks = {
      "dpo", "ipo", "orpo", "simpo", "cpo", "kto", "grpo", "rloo", "ppo", "gkd", "reward"};
  std::string_view name = word.substr(word.rfind('/') + 1);
  const bool script = name.ends_with(".py");
  name = name.substr(0, name.find('.'));
  const auto is_task = [&kTasks](std::string_view one) {
    return std::find(kTasks.begin(), kTasks.end(), one) != kTasks.end();
  };
  if (is_task(name) && (script || before == "trl")) {
    return name;
  }
  while (script && trains && !name.empty()) {
    const std::string_view part = name.substr(0, name.find_first_of("_-"));
    if (is_task(part)) {
      return part;
    }
    name.remove_prefix(std::min(part.size() + 1, name.size()));
  }
  return {};
}

// The program whose own command this is, and whose defaults hold: `trl sft`, `swift pt`.
std::string program_of(std::string_view word, const std::string& before) {
  if (word.find("trl/scripts/") != std::string_view::npos) {
    return "trl";
  }
  const bool own = (before == "trl" && !word.starts_with('-')) ||
                   (before == "swift" && is_among(word, {"sft", "pt", "rlhf"}));
  return own ? before : std::string();
}

std::string_view file_name(std::string_view word) { return word.substr(word.rfind('/') + 1); }

bool names_program(const ShellWord& word) {
  const std::string_view name = file_name(word.text);
  return name.ends_with(".py") || name.starts_with("python") ||
         is_among(name, {"torchrun", "deepspeed", "srun", "mpirun", "horovodrun", "accelerate",
                         "sbatch", "trl"});
}

bool is_mpi(std::string_view name) {
  return is_among(name, {"mpirun", "mpiexec", "orterun", "horovodrun"});
}

bool is_starter(std::string_view name) {
  return is_mpi(name) || is_among(name, {"srun", "docker", "podman", "nerdctl", "singularity",
                                         "apptainer", "enroot", "kubectl", "conda", "uv", "numactl",
                                         "nsys", "ncu", "timeout", "sudo", "ray"});
}

// From a starter of programs (srun, mpirun, a container) to what it starts: the options between are
// none of the program's. Twice the end where nothing is started so.
std::pair<std::size_t, std::size_t> starter_of(const std::vector<ShellWord>& words) {
  std::size_t starter = words.size();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view name = file_name(words[i].text);
    const bool argument = i > 0 && words[i - 1].text.starts_with("-");
    const bool here = words[i].text.starts_with("./") && !argument &&
                      words[i].text.find(':') == std::string::npos;
    if (starter == words.size() && !argument && is_starter(name)) {
      starter = i;
    } else if (here || is_among(name, {"bash", "sh"}) ||
               (names_program(words[i]) && !is_starter(name))) {
      return starter < i ? std::pair(starter, i) : std::pair(words.size(), words.size());
    }
  }
  return {words.size(), words.size()};
}

// mpirun's counts, with one dash as a rule: of processes, and of those on a host.
std::string_view mpi_count(std::string_view name) {
  return is_among(name, {"-np", "-n", "--np", "--n"})                ? "np"
         : is_among(name, {"-N", "-npernode", "--npernode", "-ppn"}) ? "npernode"
                                                                     : "";
}

// Of an option of a starter what tables know it by: those of launchers.keys keep their names.
std::string starter_option(std::string_view name) {
  const std::string key = normalised_key(name);
  for (const TableRow& row : table_rows(shipped_text("launchers.keys"))) {
    const bool sets = row.fate == "sets" || row.fate == "takes";
    if (sets && std::any_of(row.keys.begin(), row.keys.end(),
                            [&key](std::string_view known) { return cut(known, '=') == key; })) {
      return std::string(name);
    }
  }
  return "started." + key;
}

class Arguments {
 public:
  Arguments(std::string_view text, const std::string& file, std::vector<PassedOver>& passed_over)
      : file_(file), lines_(text), passed_over_(passed_over) {
    result_.kind = Value::Kind::mapping;
    result_.where = place(0);
  }

  void add(const std::vector<ShellWord>& words, std::string_view prefix) {
    const auto [starter, program] = starter_of(words);
    const bool mpi = starter < program && is_mpi(file_name(words[starter].text));
    const bool srun = starter < program && file_name(words[starter].text) == "srun";
    // One process a host, which starts the others.
    const bool per_host =
        starter < program &&
        std::any_of(words.begin() + static_cast<std::ptrdiff_t>(program), words.end(), [](auto& w) {
          return is_among(file_name(w.text), {"torchrun", "deepspeed", "accelerate",
                                              "torch.distributed.run", "torch.distributed.launch"});
        });
    const bool trains = std::any_of(words.begin(), words.end(), [](const ShellWord& word) {
      return is_option(word.text) && word.text.find("batch") != std::string::npos;
    });
    for (std::size_t i = 0; i < words.size() && !is_redirection(words[i].text);) {
      const auto& [word, offset] = words[i++];
      const std::string before = i > 1 ? words[i - 2].text : std::string();
      const std::string task(task_of(word, before, trains));
      if (const std::string own = program_of(word, before); !own.empty()) {
        put("command." + own, offset, {});
      }
      if (!task.empty()) {
        put("rl", offset, {{task, offset}});
      }
      const bool started = i > starter && i <= program;
      const bool nodes = word == "-N" && !(started && mpi) && i < words.size();
      const std::string_view count =
          !started ? std::string_view()
          : mpi    ? mpi_count(word)
          : srun && is_among(word.substr(0, word.find('=')), {"-n", "--ntasks"})
              ? "ntasks"
              : std::string_view();
      if (!is_option(word) && !nodes && count.empty()) {
        if (trains && !started && holds_options(word)) {
          put_unread(words[i - 1]);
        }
        continue;
      }
      const std::size_t equals = is_option(word) ? word.find('=') : std::string::npos;
      std::string name = nodes ? "--nodes" : word.substr(0, equals);
      name.erase(0, prefix.empty() ? 0 : name.find_first_not_of('-'));
      if (!count.empty()) {
        name = fmt::format("{}.{}", per_host ? "started" : mpi ? "mpirun" : "srun", count);
      } else if (started) {
        name = starter_option(name);
        // One task a host starts the processes of all its GPUs.
        const bool one = (equals != std::string::npos ? word.substr(equals + 1)
                          : i < words.size()          ? words[i].text
                                                      : std::string()) == "1";
        if (srun && !per_host && !one && name == "started.ntasks_per_node") {
          name = "srun.ntasks_per_node";
        }
      }
      std::vector<ShellWord> values;
      if (equals != std::string::npos) {
        values.push_back({word.substr(equals + 1), offset});
      }
      const std::size_t end = started ? program : words.size();  // no value of a starter's option
      for (; equals == std::string::npos && i < end && is_value(words[i].text); ++i) {
        // A variable without a value behind one, or by its name: options of its own, or nothing.
        if (is_unread(words[i].text) && words[i].text.starts_with("$") &&
            (!values.empty() || holds_options(words[i].text))) {
          put_unread(words[i]);
        } else {
          values.push_back(words[i]);
        }
      }
      put(std::string(prefix) + name, offset, values);
    }
  }

  [[nodiscard]] Value take() { return std::move(result_); }

 private:
  // ${MOE_ARGS}, $gpt_options, "${EXTRA[@]}": more than the value of one option.
  static bool names_options(std::string_view word) {
    std::string name = lower_case(word);
    std::erase_if(name, [](unsigned char c) { return std::isalnum(c) == 0; });
    constexpr std::array<std::string_view, 7> kEnds = {"args", "arg",   "arguments", "options",
                                                       "opts", "flags", "params"};
    return word.find("[@]") != std::string_view::npos ||
           word.find("[*]") != std::string_view::npos ||
           std::any_of(kEnds.begin(), kEnds.end(),
                       [&name](std::string_view end) { return name.ends_with(end); });
  }

  // Text without a value that may be any number of arguments: `$EXTRA_ARGS`, ${TP:+--tp $TP}.
  static bool holds_options(const std::string& word) {
    return is_unread(word) && (word.starts_with("$") || word.starts_with("`")) &&
           (names_options(word) || word.find("--") != std::string::npos);
  }

  // Options that a command would print are told one by one.
  void put_unread(const ShellWord& word) {
    const bool command = word.text.starts_with("$(") || word.text.starts_with("`");
    const auto options = command ? options_in(word.text) : std::vector<ShellWord>();
    if (options.empty()) {
      put(word.text, word.offset, {word});
    }
    for (const ShellWord& option : options) {
      passed_over_.push_back(
          {place(word.offset), option.text, "stands in a command that is not run"});
    }
  }

  // Of another argument, a program, or a switch of the launcher: `-m module`, `-u`.
  static bool is_value(std::string_view word) {
    const bool short_switch =
        word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0;
    return !is_option(word) && !is_redirection(word) && !word.ends_with(".py") && !short_switch;
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
  std::vector<PassedOver>& passed_over_;
  Value result_;
};

// The program that a command starts, and what it gives the options behind it, the last of each.
struct Start {
  const ShellWord* program = nullptr;
  std::map<std::string, std::string> options;
};

Start start_of(const std::vector<ShellWord>& words) {
  Start start;
  std::string* last = nullptr;
  for (const ShellWord& word : words) {
    if (start.program == nullptr) {
      start.program = std::string_view(word.text).ends_with(".py") ? &word : nullptr;
    } else if (is_option(word.text)) {
      const std::size_t end = word.text.find('=');
      last = &start.options[word.text.substr(0, end)];
      *last = end == std::string::npos ? "" : word.text.substr(end);
    } else if (last != nullptr) {
      *last += " " + word.text;
    }
  }
  return start;
}

// Two starts of one program that differ are two jobs, and neither is what both say together.
bool starts_one_job(const std::vector<std::vector<ShellWord>>& commands, const std::string& file,
                    const yaml::LineIndex& lines, Diagnostics& diagnostics) {
  std::map<std::string, Start> started;
  for (const std::vector<ShellWord>& words : commands) {
    const Start start = start_of(words);
    if (start.program == nullptr || is_printed(words)) {
      continue;
    }
    const auto entry = started.try_emplace(start.program->text, start);
    const Start& before = entry.first->second;
    if (!entry.second && before.options != start.options) {
      const auto other =
          std::find_if(start.options.begin(), start.options.end(), [&before](const auto& option) {
            const auto same = before.options.find(option.first);
            return same == before.options.end() || same->second != option.second;
          });
      diagnostics.error(
          lines.location_of(file, start.program->offset), start.program->text,
          fmt::format("is started at line {} too, with other options{}: these are two jobs",
                      lines.location_of(file, before.program->offset).line,
                      other == start.options.end() ? "" : fmt::format(" ({})", other->first)),
          "a script that starts one of them");
      return false;
    }
  }
  return true;
}

// Where no command carries arguments, a text may be one that another program runs later: the
// longest that names a Python program, else the longest of all.
std::string_view built_command(const std::vector<std::string>& texts) {
  const auto rank = [](const std::string& text) {
    return std::pair(text.find(".py ") != std::string::npos, text.size());
  };
  const auto best = std::max_element(
      texts.begin(), texts.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return best == texts.end() ? std::string_view() : *best;
}

}  // namespace

std::optional<Value> parse_arguments(std::string_view text, const std::string& file,
                                     const ShellValues& passed,
                                     std::vector<PassedOver>& passed_over,
                                     Diagnostics& diagnostics) {
  if (!yaml::check_text(text, file, yaml::LineIndex(text), diagnostics)) {
    return std::nullopt;
  }
  ShellCommands script = follow_script(text, file, passed, passed_over);
  if (script.overflowed) {
    diagnostics.error({file}, "", "expands to more text than the arguments of a program are");
    return std::nullopt;
  }
  const ShellVariables written(text);
  Arguments arguments(text, file, passed_over);
  arguments.add(script.batch, "sbatch.");
  arguments.add(script.environment, "env.");
  auto& commands = script.commands;
  for (std::vector<ShellWord>& words : commands) {
    words = split_options(words, written);
  }
  std::erase_if(commands, [](const auto& words) {
    return std::none_of(words.begin(), words.end(),
                        [](const auto& w) { return is_option(w.text); });
  });
  const auto launches = [](const std::vector<ShellWord>& words) {
    return std::any_of(words.begin(), words.end(), names_program);
  };
  const bool launched = std::any_of(commands.begin(), commands.end(), launches);
  if (!starts_one_job(commands, file, yaml::LineIndex(text), diagnostics)) {
    return std::nullopt;
  }
  for (const std::vector<ShellWord>& words : commands) {
    if (!launched || launches(words)) {
      arguments.add(words, "");
    }
  }
  if (commands.empty()) {
    arguments.add(words_of(built_command(script.texts), written, 0), "");
  }
  return arguments.take();
}

}  // namespace orrery::import_config
