#pragma once

// Handling of Ctrl-C and SIGTERM: they become a stop request that ends a long simulation cleanly.
//
// While an object lives, both signals are blocked in its thread (and in those started later) and
// read by a watcher thread: the first one requests the stop, a second one ends the process at once
// with exit code 130. SIGTERM says so in a line of its own. A signal that was ignored when the
// program started stays ignored. Objects do not nest.
//
// Work ends at its next stop point (base/stop_point.hpp). Where that takes longer than a second the
// watcher ends the process: files are written in one piece or not at all, so there is nothing to
// lose, unless an answer is being delivered. Work that winds up has five seconds.
//
// Every command runs under one (cli.hpp).

#include <atomic>
#include <chrono>
#include <csignal>
#include <stop_token>
#include <thread>

namespace orrery::cli {

class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

  // After a signal there is something left to do: what was found so far is shown, or other
  // processes are told.
  void wind_up() { grace_ = kLonger; }

  // From now on the process is given the time that it takes to deliver a result.
  void delivering() const { delivering_ = true; }

  // The same, and throws Error(interrupted) after a signal.
  void check() const;

 private:
  static constexpr std::chrono::milliseconds kShort{900};
  static constexpr std::chrono::milliseconds kLonger{4900};

  void watch();
  void take_signal();

  std::stop_source source_;
  std::atomic<std::chrono::milliseconds> grace_{kShort};
  mutable std::atomic<bool> delivering_{false};
  bool active_ = false;
  sigset_t previous_mask_{};
  int signals_ = -1;  // signalfd
  int wake_ = -1;     // eventfd that ends the watcher
  std::thread watcher_;
};

}  // namespace orrery::cli
