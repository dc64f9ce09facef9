#pragma once

// What does the command `orrery` do with its arguments? Everything but `main`, for tests to call.
//
// Arguments -> command -> exit code (exit_code.hpp). Data goes to stdout, messages to stderr.
// Nothing leaves as an exception.

#include <stdexcept>

namespace orrery::cli {

// Arguments that make no sense: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[nodiscard]] int run_cli(int argc, const char* const* argv);

}  // namespace orrery::cli
