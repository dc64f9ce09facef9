#include "sim/cli/help/program_table.hpp"

#include <CLI/App.hpp>
#include <algorithm>
#include <iterator>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/sweep/answer.hpp"
#include "sim/cli/frame/child_process.hpp"
#include "sim/cli/frame/external_command.hpp"
#include "sim/scenario/table/fields.hpp"

namespace orrery::cli {

namespace {

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
    std::replace(option.names.begin(), option.names.end(), std::string(kInCalibrate),
                 std::string(kHardware));
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

}  // namespace

CommandInfo program_table(const CLI::App& app, std::string_view command) {
  CommandInfo table = describe(app);
  const auto wanted = [command](std::string_view name) {
    return command.empty() || command == name;
  };
  for (CommandInfo& child : table.commands) {
    const auto externals = external_commands();
    const auto external =
        std::find_if(externals.begin(), externals.end(),
                     [&child](const ExternalCommand& one) { return one.name == child.name; });
    if (external != externals.end() && wanted(child.name)) {
      replace_by_program(child, *external);
    }
    if (child.name == "validate" && wanted(child.name)) {
      add_hardware_options(child);
    }
  }
  return table;
}

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

}  // namespace orrery::cli
