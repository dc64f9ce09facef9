#include "sim/cli/frame/command_table.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <algorithm>

#include "sim/base/text/json_text.hpp"
#include "sim/base/text/untrusted_json.hpp"

namespace orrery::cli {

namespace {

constexpr std::string_view kSchema = "orrery-command/1";
constexpr std::string_view kUsualGroup = "Options";

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// "WHEN:{auto,always,never}": what the option calls its value, then what its checks say of it.
void read_type(const std::string& type, ArgumentInfo& argument) {
  argument.value = type.substr(0, type.find(':'));
  const std::size_t open = type.find(":{");
  const std::size_t close = type.find('}', std::min(open, type.size()));
  if (open != std::string::npos && close != std::string::npos) {
    argument.choices = split(std::string_view(type).substr(open + 2, close - open - 2), ',');
  }
}

ArgumentInfo argument_of(const CLI::Option& option) {
  ArgumentInfo argument;
  argument.meaning = option.get_description();
  argument.required = option.get_required();
  argument.group = option.get_group() == kUsualGroup ? "" : option.get_group();
  const bool takes_value = option.get_items_expected_max() > 0;
  argument.repeatable = option.get_items_expected_max() > 1;
  if (takes_value) {
    read_type(option.get_type_name(), argument);
  }
  if (option.get_positional()) {
    argument.names = {option.get_name(true)};
    return argument;
  }
  for (const std::string& name : option.get_snames()) {
    argument.names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    argument.names.push_back("--" + name);
  }
  return argument;
}

Json argument_json(const ArgumentInfo& argument) {
  return {{"names", argument.names},          {"value", argument.value},
          {"choices", argument.choices},      {"meaning", argument.meaning},
          {"group", argument.group},          {"required", argument.required},
          {"repeatable", argument.repeatable}};
}

Json command_json(const CommandInfo& command) {
  return {{"name", command.name},
          {"summary", command.summary},
          {"footer", command.footer},
          {"positionals", json_list(command.positionals, argument_json)},
          {"options", json_list(command.options, argument_json)},
          {"commands", json_list(command.commands, command_json)}};
}

// These throw what nlohmann throws for a missing key or another type.
ArgumentInfo argument_from(const Json& json) {
  return {.names = json.at("names").get<std::vector<std::string>>(),
          .value = json.at("value").get<std::string>(),
          .choices = json.at("choices").get<std::vector<std::string>>(),
          .meaning = json.at("meaning").get<std::string>(),
          .group = json.at("group").get<std::string>(),
          .required = json.at("required").get<bool>(),
          .repeatable = json.at("repeatable").get<bool>()};
}

CommandInfo command_from(const Json& json) {
  CommandInfo command{.name = json.at("name").get<std::string>(),
                      .summary = json.at("summary").get<std::string>(),
                      .footer = json.at("footer").get<std::string>(),
                      .positionals = {},
                      .options = {},
                      .commands = {}};
  for (const Json& item : json.at("positionals")) {
    command.positionals.push_back(argument_from(item));
  }
  for (const Json& item : json.at("options")) {
    command.options.push_back(argument_from(item));
  }
  for (const Json& item : json.at("commands")) {
    command.commands.push_back(command_from(item));
  }
  return command;
}

}  // namespace

CommandInfo describe(const CLI::App& app) {
  CommandInfo command{.name = app.get_name(),
                      .summary = app.get_description(),
                      .footer = app.get_footer(),
                      .positionals = {},
                      .options = {},
                      .commands = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) {
      continue;  // hidden from --help, hence from here
    }
    auto& list = option->get_positional() ? command.positionals : command.options;
    list.push_back(argument_of(*option));
  }
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!child->get_group().empty()) {
      command.commands.push_back(describe(*child));
    }
  }
  return command;
}

std::string to_json(const CommandInfo& command) {
  Json json = {{"schema", kSchema}};
  json.update(command_json(command));
  constexpr int kIndent = 1;
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<CommandInfo> read_command(std::string_view json) {
  try {
    const Json parsed = read_json<Json>(json).value;
    if (parsed.at("schema").get<std::string>() != kSchema) {
      return std::nullopt;
    }
    return command_from(parsed);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

const CommandInfo* find_command(const CommandInfo& parent, std::string_view name) {
  const auto at = std::ranges::find(parent.commands, name, &CommandInfo::name);
  return at == parent.commands.end() ? nullptr : &*at;
}

const ArgumentInfo* find_option(const CommandInfo& command, std::string_view name) {
  for (const ArgumentInfo& option : command.options) {
    if (std::ranges::find(option.names, name) != option.names.end()) {
      return &option;
    }
  }
  return nullptr;
}

}  // namespace orrery::cli
