#pragma once

// The manual of a command as a page for `man`, from the command table.
//
// page             | command
// -----------------|---------------------
// orrery(1)        | the program: commands, environment, files
// orrery-run(1)    | `orrery run`: arguments, options, the notes and examples of its --help

#include <string>
#include <string_view>

#include "sim/cli/frame/command_table.hpp"

namespace orrery::cli {

struct ManualPage {
  std::string name;  // "orrery-run"
  std::string text;  // troff with the macros of man(7)
};

// `command` is `program` itself or one of its commands.
[[nodiscard]] ManualPage manual_page(const CommandInfo& program, const CommandInfo& command,
                                     std::string_view version);

}  // namespace orrery::cli
