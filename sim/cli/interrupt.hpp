#pragma once

// How do Ctrl-C and SIGTERM end a long simulation cleanly? They become a stop request.
//
// While an object lives, both signals are blocked in its thread (and in those started later) and
// read by a watcher thread: the first one requests the stop, a second one ends the process at once
// with exit code 130. SIGTERM says so in a line of its own. A signal that was ignored when the
// program started stays ignored. Objects do not nest.
//
// Work ends at its next stop point (base/stop_point.hpp). Where that takes longer than a second the
// watcher ends the process: files are written in one piece or not at all, so there is nothing to
// lose, unless an answer is being delivered.

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace orrery::cli {

class InterruptWatch {
 public:
  enum class Grace {
    one_second,
    until_done,  // what was found so far is shown, or other processes wait to be told
  };

  explicit InterruptWatch(Grace grace = Grace::one_second);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  [[nodiscard]] std::stop_token token() const {
    return source_.get_token();
  }

  // Throws Error(interrupted) after a signal: to be called when a result is delivered. From then on
  // the process is given the time that this takes.
  void check() const;

 private:
  void watch();
  void take_signal();

  std::stop_source source_;
  Grace grace_;
  mutable std::atomic<bool> delivering_{false};
  bool active_ = false;
  sigset_t previous_mask_{};
  int signals_ = -1;  // signalfd
  int wake_ = -1;     // eventfd that ends the watcher
  std::thread watcher_;
};

}  // namespace orrery::cli
