#include "sim/cli/frame/program.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Error.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <exception>
#include <new>
#include <string_view>
#include <thread>

#include "sim/base/error.hpp"
#include "sim/cli/frame/command_table.hpp"
#include "sim/cli/frame/interrupt.hpp"
#include "sim/cli/frame/output.hpp"

namespace orrery::cli {

namespace {

// The message of a failed check stands on stderr already; what is left is the exit code.
extern "C" void exit_as_internal(int /*signal*/) { _exit(static_cast<int>(ExitCode::internal)); }

// Where memory runs out while something is destroyed, no exception can be caught. Without one more
// allocation.
[[noreturn]] void end_at_once() {
  constexpr std::string_view kWords = "orrery: internal error: out of memory, or a second error\n";
  static_cast<void>(::write(STDERR_FILENO, kWords.data(), kWords.size()) < 0);
  _exit(static_cast<int>(ExitCode::internal));
}

ExitCode code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::io:
      return ExitCode::io;
    case ErrorKind::device:
      return ExitCode::device;
    case ErrorKind::interrupted:
      return ExitCode::interrupted;
  }
  return ExitCode::internal;
}

ExitCode ending_of(const std::function<ExitCode()>& body) {
  try {
    return body();
  } catch (const ClosedPipe&) {
    return ExitCode::io;
  } catch (const UsageError& error) {
    message(error.what());
    return ExitCode::usage;
  } catch (const Error& error) {
    message(error.what());
    return code_of(error.kind());
  } catch (const std::bad_alloc&) {
    message("internal error: out of memory");
  } catch (const std::exception& error) {
    message(fmt::format("internal error: {}", error.what()));
  }
  return ExitCode::internal;
}

}  // namespace

ExitCode act(const CLI::App& command, std::string_view name, const Action& action) {
  check_outputs(command, name);
  InterruptWatch watch;
  return action(watch);
}

ExitCode run_program(CLI::App& app, int argc, const char* const* argv, std::string_view command,
                     const Action& action) {
  if (argc > 1 && argv[argc - 1] == kDescribeFlag) {
    deliver(to_json(describe(app)), std::nullopt);
    return ExitCode::ok;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success&) {
    deliver(app.help(), std::nullopt);
    return ExitCode::ok;
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}: {}", command, error.what()));
  }
  return act(app, command, action);
}

int run_guarded(const std::function<ExitCode()>& body) {
  prepare_streams();
  prepare_threads();
  static_cast<void>(std::signal(SIGABRT, exit_as_internal));
  std::set_terminate(end_at_once);
  // The main thread has the stack that the shell gave it.
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < kStackBytes) {
    int code = 0;
    std::thread([&] { code = static_cast<int>(ending_of(body)); }).join();
    return code;
  }
  return static_cast<int>(ending_of(body));
}

}  // namespace orrery::cli
