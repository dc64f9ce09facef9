#pragma once

// Which commands does a shell script run, as far as that can be read? Internal to import_config/.

#include <string>
#include <string_view>
#include <vector>

#include "sim/import_config/shell/shell_script.hpp"
#include "sim/import_config/shell/shell_variables.hpp"

namespace orrery::import_config {

struct ShellCommands {
  std::vector<std::vector<ShellWord>> commands;  // their words, in the order of the script
  std::vector<ShellWord> batch;                  // of the lines #SBATCH
  std::vector<std::string> texts;  // of variables that hold several words: commands put together
  bool overflowed = false;         // it expands to more than a script needs
};

// What stands under conditions that cannot be read, in loops and functions goes to `passed_over`.
[[nodiscard]] ShellCommands follow_script(std::string_view text,
                                          const std::string& file,
                                          const ShellValues& passed,
                                          std::vector<PassedOver>& passed_over);

// Whether the word is an argument with a name: --num-layers.
[[nodiscard]] bool is_option(std::string_view word);

}  // namespace orrery::import_config
