#pragma once

// The arguments that a launch script passes to the training program. Internal to import_config/.
//
// Assignments, arrays, appending (+=), `export`, if with tests of known values, && and || are
// followed; commands are collected, never run. Loops, functions, case and conditions that cannot be
// read are passed over, and what stands in them is reported.
//
// The result is a mapping: `--num-layers` to its value, `true` for a switch, a list for several
// values; of an argument that stands twice the last counts. `#SBATCH --nodes=8` becomes the key
// `sbatch.nodes`. A value that could not be read keeps its `$`.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/import_config/shell/shell_variables.hpp"
#include "sim/yaml/document.hpp"

namespace orrery::import_config {

// An argument that stands where it may or may not be passed.
struct PassedOver {
  SourceLocation where;
  std::string key;
  std::string why;
};

// What the caller of a script passes: {"1", "8B"}, {"TP", "2"}.
using ShellValues = std::vector<std::pair<std::string, std::string>>;

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

[[nodiscard]] std::optional<yaml::Value> parse_arguments(std::string_view text,
                                                         const std::string& file,
                                                         const ShellValues& passed,
                                                         std::vector<PassedOver>& passed_over,
                                                         Diagnostics& diagnostics);

}  // namespace orrery::import_config
