#pragma once

// The frame of every program: arguments -> action -> exit code (exit_code.hpp), for `orrery` and
// for the commands that are programs of their own.
//
// Data goes to stdout, messages to stderr. Nothing leaves as an exception.

#include <functional>
#include <stdexcept>
#include <string_view>

#include "sim/cli/frame/exit_code.hpp"

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

// Looks at the outputs that `command` was told of (output.hpp), then acts under the watch.
[[nodiscard]] ExitCode act(const CLI::App& command, std::string_view name, const Action& action);

// For programs of their own: parses, then acts. --help and --describe-command (command_table.hpp)
// are delivered instead. Throws UsageError, led by the name of the command: "fit: ...".
[[nodiscard]] ExitCode run_program(CLI::App& app, int argc, const char* const* argv,
                                   std::string_view command, const Action& action);

}  // namespace orrery::cli
