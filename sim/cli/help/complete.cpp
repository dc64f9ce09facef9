#include "sim/cli/help/complete.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "sim/base/text/text.hpp"

namespace orrery::cli {

namespace {

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
