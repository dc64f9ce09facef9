#include "sim/cli/frame/child_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sstream>
#include <system_error>

#include "sim/base/error.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// The words of a command line as exec takes them: they point into `words`.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> words_of(const fs::path& program,
                                  const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

// An InterruptWatch blocks signals: other programs must not inherit that.
sigset_t no_signals() {
  sigset_t none;
  sigemptyset(&none);
  return none;
}

// Starts the program with its output into the pipe; -1 when it cannot be started.
pid_t start(const fs::path& program, const std::vector<std::string>& arguments, int output) {
  std::vector<std::string> words = words_of(program, arguments);
  const std::vector<char*> pointers = pointers_to(words);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const sigset_t none = no_signals();
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = -1;
  const int status =
      posix_spawn(&child, program.c_str(), &actions, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return status == 0 ? child : -1;
}

// Until the other end closes; false when the time is over before.
bool read_all(int input, Clock::time_point end, std::string& text) {
  std::array<char, 4096> buffer = {};
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waiting = {.fd = input, .events = POLLIN, .revents = 0};
    if (left <= 0 || poll(&waiting, 1, static_cast<int>(left)) <= 0) {
      return false;
    }
    const ssize_t count = read(input, buffer.data(), buffer.size());
    if (count <= 0) {
      return count == 0;
    }
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

std::optional<fs::path> program_beside(std::string_view name) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return std::nullopt;
  }
  fs::path program = self.parent_path() / name;
  return fs::exists(program, error) ? std::optional(std::move(program)) : std::nullopt;
}

void become_program(const fs::path& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = words_of(program, arguments);
  const std::vector<char*> pointers = pointers_to(words);
  const sigset_t none = no_signals();
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  execv(program.c_str(), pointers.data());
  throw Error(ErrorKind::io,
              fmt::format("{} cannot be started: {}", program.string(), std::strerror(errno)));
}

std::optional<std::string> output_of(const fs::path& program,
                                     const std::vector<std::string>& arguments, int most_seconds) {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return std::nullopt;
  }
  const pid_t child = start(program, arguments, ends[1]);
  close(ends[1]);
  std::string text;
  const bool complete =
      child > 0 && read_all(ends[0], Clock::now() + std::chrono::seconds(most_seconds), text);
  close(ends[0]);
  if (child <= 0) {
    return std::nullopt;
  }
  if (!complete) {
    kill(child, SIGKILL);
  }
  int status = 0;
  const bool ended = waitpid(child, &status, 0) == child;
  const bool success = ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return complete && success ? std::optional(std::move(text)) : std::nullopt;
}

std::vector<std::string> missing_libraries(const fs::path& program) {
  // The loader lists what it finds and does not start the program.
  const auto listing =
      output_of("/usr/bin/env", {"LD_TRACE_LOADED_OBJECTS=1", program.string(), "--help"});
  std::vector<std::string> missing;
  std::istringstream lines(listing.value_or(std::string()));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::string arrow;
    std::string found;
    if (words >> name >> arrow >> found && arrow == "=>" && found == "not") {
      missing.push_back(std::move(name));
    }
  }
  return missing;
}

}  // namespace orrery::cli
