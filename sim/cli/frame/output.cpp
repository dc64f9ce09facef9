#include "sim/cli/frame/output.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/text.hpp"

namespace orrery::cli {

namespace {

// False with errno set when not all of it arrived.
bool write_all(int descriptor, std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(descriptor, data.data(), data.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return false;
    }
    data.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (is_set(name)) {
      std::string value(std::getenv(name));
      for (char& c : value) {
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      }
      return value.find("UTF-8") != std::string::npos || value.find("UTF8") != std::string::npos;
    }
  }
  return false;
}

bool wants_colour(ColourChoice choice, bool to_file) {
  if (choice != ColourChoice::automatic) {
    return choice == ColourChoice::always;
  }
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  return !to_file && !dumb && !is_set("NO_COLOR") && is_terminal(STDOUT_FILENO);
}

}  // namespace

void deliver(std::string_view data, const std::optional<std::filesystem::path>& file) {
  if (file && *file != "-") {
    write_file_atomically(*file, data);
    return;
  }
  if (write_all(STDOUT_FILENO, data)) {
    return;
  }
  if (errno == EPIPE) {
    throw ClosedPipe();
  }
  throw Error(ErrorKind::io, fmt::format("standard output: cannot write: {}", strerror(errno)));
}

void message(std::string_view text) {
  message_block(fmt::format("orrery: {}\n", printable_lines(text)));
}

void message_block(std::string_view text) {
  // There is nobody left to tell when stderr fails.
  static_cast<void>(write_all(STDERR_FILENO, text));
}

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

report::TextStyle text_style(ColourChoice choice, bool to_file) {
  return {.colour = wants_colour(choice, to_file), .unicode = is_utf8_locale()};
}

void prepare_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
      // Opened against its direction, so that using it still fails. The lowest free number is this
      // one.
      static_cast<void>(::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));  // a file above the limit is an error to report
}

// A thread's stack is as large as the shell's limit says, which may be too little for any work.
void prepare_threads() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) == 0) {
    if (pthread_attr_setstacksize(&attributes, kStackBytes) == 0) {
      static_cast<void>(pthread_setattr_default_np(&attributes));
    }
    static_cast<void>(pthread_attr_destroy(&attributes));
  }
}

}  // namespace orrery::cli
