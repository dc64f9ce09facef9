#pragma once

// What does the command `orrery` do with its arguments? Everything but `main`, for tests to call.
//
// Arguments -> command -> exit code (exit_code.hpp). Data goes to stdout, messages to stderr.
// Nothing leaves as an exception.

#include <functional>
#include <stdexcept>
#include <string_view>

#include "sim/cli/exit_code.hpp"

namespace orrery::sweep {
class Team;
}

namespace CLI {
class App;
}

namespace orrery::cli {

class InterruptWatch;

// Arguments that make no sense: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What a command does with the words that were parsed. All run under one watch: Ctrl-C and SIGTERM
// end them within a second, whether they look at it or not.
using Action = std::function<ExitCode(InterruptWatch&)>;

// Runs the body of a program: what leaves it as an exception becomes a message and an exit code.
[[nodiscard]] int run_guarded(const std::function<ExitCode()>& body);

// For programs of their own: parses, looks at the outputs (output_files.hpp), acts. --help and
// --describe-command (command_table.hpp) are delivered instead. Throws UsageError, led by the name
// of the command: "fit: ...".
[[nodiscard]] ExitCode run_program(CLI::App& app,
                                   int argc,
                                   const char* const* argv,
                                   std::string_view command,
                                   const Action& action);

[[nodiscard]] int run_cli(int argc, const char* const* argv);

// The same with somebody else to evaluate the points of a sweep: the processes of mpirun.
[[nodiscard]] int run_cli(int argc, const char* const* argv, sweep::Team& team);

}  // namespace orrery::cli
