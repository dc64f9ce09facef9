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
class Crew;
}

namespace CLI {
class App;
}

namespace orrery::cli {

// Arguments that make no sense: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs the body of a program: what leaves it as an exception becomes a message and an exit code.
[[nodiscard]] int run_guarded(const std::function<ExitCode()>& body);

// For programs of their own: false after --help and --describe-command (command_table.hpp), which
// are delivered. Throws UsageError, led by the
// name of the command: "fit: ...".
[[nodiscard]] bool parse_program(CLI::App& app,
                                 int argc,
                                 const char* const* argv,
                                 std::string_view command);

[[nodiscard]] int run_cli(int argc, const char* const* argv);

// The same with somebody else to evaluate the points of a sweep: the processes of mpirun.
[[nodiscard]] int run_cli(int argc, const char* const* argv, sweep::Crew& crew);

}  // namespace orrery::cli
