#pragma once

// How does Ctrl-C end a long simulation cleanly? SIGINT becomes a stop request.
//
// While an object lives, SIGINT is blocked in its thread (and in those started later) and read by a
// watcher thread: the first one requests the stop, a second one ends the process at once with exit
// code 130. A SIGINT that was ignored when the program started stays ignored. Objects do not nest.

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

  [[nodiscard]] std::stop_token token() const {
    return source_.get_token();
  }

  // Throws Error(interrupted) when Ctrl-C was pressed: to be called before a result is delivered.
  void check() const;

 private:
  void watch();

  std::stop_source source_;
  bool active_ = false;
  sigset_t previous_mask_{};
  int signals_ = -1;  // signalfd
  int wake_ = -1;     // eventfd that ends the watcher
  std::thread watcher_;
};

}  // namespace orrery::cli
