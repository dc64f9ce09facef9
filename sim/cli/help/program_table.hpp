#pragma once

// The whole command line of an installation: the commands of this program and, asked from the
// programs beside it, those that are programs of their own.

#include <string_view>

#include "sim/cli/frame/command_table.hpp"
#include "sim/cli/help/complete.hpp"

namespace CLI {
class App;
}

namespace orrery::cli {

// `command`: ask only the program of this one; empty: all. A command whose program is not there has
// a name and a summary only. `orrery validate` gets the options of --hardware in a group.
[[nodiscard]] CommandInfo program_table(const CLI::App& app, std::string_view command = {});

// The lists of the catalogue, "keys" of a scenario, "values:KEY" that one takes, "answers" of
// `orrery sweep` and the kinds of lists ("what").
[[nodiscard]] std::vector<Candidate> word_list(std::string_view list);

}  // namespace orrery::cli
