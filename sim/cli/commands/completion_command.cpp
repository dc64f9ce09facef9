// `orrery completion` and `orrery man`: what shells and manual readers want to know of the
// commands.

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/sweep/answer.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/child_process.hpp"
#include "sim/cli/frame/command_table.hpp"
#include "sim/cli/frame/external_command.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/cli/help/complete.hpp"
#include "sim/cli/help/man_page.hpp"
#include "sim/scenario/table/fields.hpp"

namespace CLI {
class App;
}

namespace orrery::cli {

namespace {

// The whole command line of an installation: the commands of this program and, asked from the
// programs beside it, those that are programs of their own.

// `command`: ask only the program of this one; empty: all. A command whose program is not there has
// a name and a summary only. `orrery validate` gets the options of --hardware in a group.
[[nodiscard]] CommandInfo program_table(const CLI::App& app, std::string_view command = {});

constexpr std::string_view kHardware = "--hardware";

std::optional<CommandInfo> ask(const std::string& program, std::vector<std::string> arguments) {
  const auto path = program_beside(program);
  if (!path) {
    return std::nullopt;
  }
  arguments.emplace_back(kDescribeFlag);
  const auto text = output_of(*path, arguments);
  return text ? read_command(*text) : std::nullopt;
}

void replace_by_program(CommandInfo& command, const ExternalCommand& external) {
  const bool shared = !external.program.empty();
  auto table = ask(program_name(external),
                   shared ? std::vector<std::string>{"--" + std::string(external.name)}
                          : std::vector<std::string>{});
  if (!table) {
    return;
  }
  table->name = command.name;
  for (ArgumentInfo& option : command.options) {  // what this program does of it
    if (!option.names.empty() && find_option(*table, option.names.back()) == nullptr) {
      option.required = false;
      table->options.push_back(std::move(option));
    }
  }
  command = *std::move(table);
}

// `orrery validate --hardware PROFILE` has options of its own.
void add_hardware_options(CommandInfo& validate) {
  constexpr std::string_view kInCalibrate = "--validate";
  auto table = ask("orrery-calibrate", {std::string(kInCalibrate)});
  if (!table) {
    return;
  }
  for (ArgumentInfo& option : table->options) {
    if (option.names.empty() || find_option(validate, option.names.back()) != nullptr) {
      continue;
    }
    std::ranges::replace(option.names, std::string(kInCalibrate), std::string(kHardware));
    option.required = false;
    option.group = "With " + std::string(kHardware);
    validate.options.push_back(std::move(option));
  }
}

std::vector<Candidate> catalog_words(evaluate::CatalogKind kind) {
  Diagnostics ignored;
  std::vector<Candidate> words;
  for (evaluate::CatalogEntry& entry :
       evaluate::catalog(kind, hardware::default_search({}), ignored)) {
    words.push_back({std::move(entry.name), std::move(entry.summary)});
  }
  return words;
}

std::vector<Candidate> kind_words() {
  std::vector<Candidate> words;
  for (const evaluate::CatalogKindInfo& kind : evaluate::catalog_kinds()) {
    words.push_back({std::string(kind.name), std::string(kind.meaning)});
  }
  return words;
}

std::vector<scenario::Field> scenario_fields() { return scenario::fields_of("format: orrery/1\n"); }

std::vector<Candidate> key_words() {
  std::vector<Candidate> words;
  for (scenario::Field& field : scenario_fields()) {
    words.push_back({std::move(field.path), std::move(field.meaning)});
  }
  return words;
}

std::vector<Candidate> key_values(std::string_view key) {
  for (const evaluate::CatalogKindInfo& kind : evaluate::catalog_kinds()) {
    if (!kind.key.empty() && kind.key == key) {
      return catalog_words(kind.kind);
    }
  }
  std::vector<Candidate> words;
  for (const scenario::Field& field : scenario_fields()) {
    if (field.path == key) {
      for (const std::string& choice : field.choices) {
        words.push_back({choice, ""});
      }
    }
  }
  return words;
}

std::vector<Candidate> answer_words() {
  std::vector<Candidate> words;
  for (const sweep::AnswerName& answer : sweep::answer_names()) {
    words.push_back({std::string(answer.name), std::string(answer.question)});
  }
  return words;
}

CommandInfo program_table(const CLI::App& app, std::string_view command) {
  CommandInfo table = describe(app);
  const auto wanted = [command](std::string_view name) {
    return command.empty() || command == name;
  };
  for (CommandInfo& child : table.commands) {
    const auto externals = external_commands();
    const auto external = std::ranges::find(externals, child.name, &ExternalCommand::name);
    if (external != externals.end() && wanted(child.name)) {
      replace_by_program(child, *external);
    }
    if (child.name == "validate" && wanted(child.name)) {
      add_hardware_options(child);
    }
  }
  return table;
}

// The lists of the catalogue, "keys" of a scenario, "values:KEY" that one takes, "answers" of
// `orrery sweep` and the kinds of lists ("what").
std::vector<Candidate> word_list(std::string_view list) {
  constexpr std::string_view kValues = "values:";
  if (list.starts_with(kValues)) {
    return key_values(list.substr(kValues.size()));
  }
  if (list == "what") {
    return kind_words();
  }
  if (list == "keys") {
    return key_words();
  }
  if (list == "answers") {
    return answer_words();
  }
  for (const evaluate::CatalogKindInfo& kind : evaluate::catalog_kinds()) {
    if (kind.name == list) {
      return catalog_words(kind.kind);
    }
  }
  return {};
}

namespace fs = std::filesystem;

struct CompletionOptions {
  std::string shell;
  std::vector<std::string> words;
  std::optional<std::string> output;
  bool candidates = false;
};

// For arguments that name a command.
std::vector<Candidate> command_words(const CommandInfo& table) {
  std::vector<Candidate> words;
  for (const CommandInfo& command : table.commands) {
    words.push_back({command.name, command.summary});
  }
  return words;
}

ExitCode print_completion(const CLI::App& app, const CompletionOptions& options) {
  if (!options.candidates) {
    if (!options.words.empty()) {
      throw UsageError("completion: words of a line come with --candidates");
    }
    deliver(completion_script(options.shell), options.output);
    return ExitCode::ok;
  }
  const std::string command = options.words.size() > 1 ? options.words.front() : "none";
  const CommandInfo table = program_table(app, command);
  const Completion completion = complete(table, options.words, [&table](std::string_view list) {
    return list == "commands" ? command_words(table) : word_list(list);
  });
  deliver(to_lines(completion, options.shell != "bash"), options.output);
  return ExitCode::ok;
}

struct ManOptions {
  std::string command;
  std::optional<std::string> output;
  std::optional<std::string> all;
  bool json = false;
};

const CommandInfo& command_of(const CommandInfo& table, const std::string& name) {
  if (name.empty()) {
    return table;
  }
  const CommandInfo* command = find_command(table, name);
  if (command == nullptr) {
    std::vector<std::string_view> names;
    for (const CommandInfo& known : table.commands) {
      names.push_back(known.name);
    }
    const std::string_view near = nearest_name(name, names);
    throw UsageError(fmt::format("man: there is no command `{}`{}", name,
                                 near.empty() ? "" : fmt::format(", did you mean `{}`?", near)));
  }
  return *command;
}

// A page a command, and that of the program.
void write_pages(const CommandInfo& table, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(ErrorKind::io,
                fmt::format("{}: cannot be created: {}", folder.string(), error.message()));
  }
  std::vector<const CommandInfo*> commands = {&table};
  for (const CommandInfo& command : table.commands) {
    commands.push_back(&command);
  }
  for (const CommandInfo* command : commands) {
    const ManualPage page = manual_page(table, *command, ORRERY_VERSION);
    write_file_atomically(folder / (page.name + ".1"), page.text);
  }
}

ExitCode print_manual(const CLI::App& app, const ManOptions& options) {
  if (options.all) {
    write_pages(program_table(app), *options.all);
    return ExitCode::ok;
  }
  const std::string ask = options.command.empty() && !options.json ? "none" : options.command;
  const CommandInfo table = program_table(app, ask);
  const CommandInfo& command = command_of(table, options.command);
  deliver(options.json ? to_json(command) : manual_page(table, command, ORRERY_VERSION).text,
          options.output);
  return ExitCode::ok;
}

}  // namespace

void add_completion_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "completion", "Completion of commands, options and names for bash, zsh or fish");
  const auto options = std::make_shared<CompletionOptions>();
  command->add_option("SHELL", options->shell, "Whose script, or how to write the candidates")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  command->add_option("WORD", options->words, "With --candidates, behind --: the line so far");
  command->add_flag("--candidates", options->candidates,
                    "What could stand at the end of a line, for the scripts");
  add_output_option(*command, options->output);
  command->footer(
      "Packages install the scripts. By hand, for this session or in a start-up file:\n\n"
      "Examples:\n"
      "  source <(orrery completion bash)\n"
      "  source <(orrery completion zsh)\n"
      "  orrery completion fish | source\n"
      "  orrery completion --candidates bash -- sweep --vary layout.");
  command->callback([options, &action, &app] {
    action = [options, &app](InterruptWatch&) { return print_completion(app, *options); };
  });
}

void add_man_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("man", "Manual pages of the program and its commands, for man -l");
  const auto options = std::make_shared<ManOptions>();
  command->add_option("COMMAND", options->command, "Its page; without it, that of the program");
  command->add_flag("--json", options->json, "The table of commands instead: orrery-command/1");
  command->add_option("--all", options->all, "Write every page into this folder")->type_name("DIR");
  add_output_option(*command, options->output);
  command->footer(
      "Examples:\n"
      "  orrery man sweep | man -l -\n"
      "  orrery man --all share/man/man1");
  command->callback([options, &action, &app] {
    action = [options, &app](InterruptWatch&) { return print_manual(app, *options); };
  });
}

}  // namespace orrery::cli
