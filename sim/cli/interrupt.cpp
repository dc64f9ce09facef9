#include "sim/cli/interrupt.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iterator>

#include "sim/base/error.hpp"
#include "sim/cli/exit_code.hpp"

namespace orrery::cli {

namespace {

bool is_ignored(int signal) {
  struct sigaction action {};

  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  if (is_ignored(SIGINT)) {
    return;
  }
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  if (pthread_sigmask(SIG_BLOCK, &set, &previous_mask_) != 0) {
    return;
  }
  signals_ = signalfd(-1, &set, SFD_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC);
  active_ = signals_ >= 0 && wake_ >= 0;
  if (active_) {
    watcher_ = std::thread([this] { watch(); });
  } else {
    pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
  }
}

InterruptWatch::~InterruptWatch() {
  if (active_) {
    const std::uint64_t one = 1;
    while (write(wake_, &one, sizeof one) < 0 && errno == EINTR) {
    }
    watcher_.join();
    pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
  }
  for (const int descriptor : {signals_, wake_}) {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
}

void InterruptWatch::check() const {
  if (source_.stop_requested()) {
    throw Error(ErrorKind::interrupted, "interrupted");
  }
}

void InterruptWatch::watch() {
  pollfd wait[] = {{signals_, POLLIN, 0}, {wake_, POLLIN, 0}};
  while (true) {
    if (poll(wait, std::size(wait), -1) < 0) {
      continue;
    }
    if (wait[1].revents != 0) {
      return;
    }
    signalfd_siginfo info{};
    if (read(signals_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
      continue;
    }
    if (!source_.request_stop()) {
      _exit(static_cast<int>(ExitCode::interrupted));
    }
  }
}

}  // namespace orrery::cli
