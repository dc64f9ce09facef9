#pragma once

// The commands, arguments and options of the parser as plain values, for completion and manual
// pages, which therefore cannot disagree with the program.
//
// field      | meaning
// -----------|------------------------------------------------------------------------------------
// names      | "-o", "--output"; the name of a positional argument: "FILE"
// value      | what an option takes: "FILE"; empty for a flag. Also says what completes it
// choices    | the words that it takes, where it takes nothing else
// repeatable | may be given several times, or takes several values
// group      | heading in the manual; empty for the usual one
//
// Commands that are programs of their own (external_command.hpp) print the same as JSON when their
// only argument is kDescribeFlag.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace orrery::cli {

inline constexpr std::string_view kDescribeFlag = "--describe-command";

struct ArgumentInfo {
  std::vector<std::string> names = {};
  std::string value = {};
  std::vector<std::string> choices = {};
  std::string meaning = {};
  std::string group = {};
  bool required = false;
  bool repeatable = false;
};

struct CommandInfo {
  std::string name = {};
  std::string summary = {};
  std::string footer = {};
  std::vector<ArgumentInfo> positionals = {};
  std::vector<ArgumentInfo> options = {};
  std::vector<CommandInfo> commands = {};
};

[[nodiscard]] CommandInfo describe(const CLI::App& app);

// "orrery-command/1"
[[nodiscard]] std::string to_json(const CommandInfo& command);

// Nothing when the text is not what to_json writes.
[[nodiscard]] std::optional<CommandInfo> read_command(std::string_view json);

[[nodiscard]] const CommandInfo* find_command(const CommandInfo& parent, std::string_view name);

[[nodiscard]] const ArgumentInfo* find_option(const CommandInfo& command, std::string_view name);

}  // namespace orrery::cli
