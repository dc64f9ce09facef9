#include "sim/cli/frame/interrupt.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>

#include "sim/base/error.hpp"
#include "sim/cli/frame/exit_code.hpp"
#include "sim/cli/frame/output.hpp"

namespace orrery::cli {

namespace {

bool is_ignored(int signal) {
  struct sigaction action {};

  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  sigset_t set;
  sigemptyset(&set);
  bool any = false;
  for (const int signal : {SIGINT, SIGTERM}) {
    if (!is_ignored(signal)) {
      sigaddset(&set, signal);
      any = true;
    }
  }
  if (!any) {
    return;
  }
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
  delivering();
  if (source_.stop_requested()) {
    throw Error(ErrorKind::interrupted, "interrupted");
  }
}

void InterruptWatch::take_signal() {
  signalfd_siginfo info{};
  if (read(signals_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
    return;
  }
  if (info.ssi_signo == SIGTERM) {
    message("told to end (SIGTERM)");
  }
  if (!source_.request_stop()) {
    _exit(static_cast<int>(ExitCode::interrupted));
  }
}

void InterruptWatch::watch() {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> end;
  pollfd wait[] = {{signals_, POLLIN, 0}, {wake_, POLLIN, 0}};
  while (true) {
    const int patience =
        end ? static_cast<int>(std::max<std::int64_t>(
                  0, std::chrono::ceil<std::chrono::milliseconds>(*end - Clock::now()).count()))
            : -1;
    const int ready = poll(wait, std::size(wait), patience);
    if (ready < 0) {
      continue;
    }
    if (ready == 0) {
      if (!delivering_) {
        message("interrupted");
        _exit(static_cast<int>(ExitCode::interrupted));
      }
      end.reset();
      continue;
    }
    if (wait[1].revents != 0) {
      return;
    }
    take_signal();
    end = Clock::now() + grace_.load();
  }
}

}  // namespace orrery::cli
